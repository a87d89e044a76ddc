import type { FileFacts } from './file-facts.ts'
import { bare, type Node, nameOf, type Syntax, walk } from './syntax.ts'

/** Members that the engine asks for by itself. */
const asked = /^(?:constructor|toString|valueOf|toJSON|then|next|return|throw|dispose|asyncDispose|handleEvent)$/

/** Functions that have a name, and the names that are asked for: one that nobody asks for never runs. `^` marks what came in from another file. */
export function functionsIn({ program, lineAt }: Syntax): Pick<FileFacts, 'functions' | 'uses'> {
  const functions: FileFacts['functions'] = []
  const uses = new Set<string>()
  const imported = new Set<string>()
  walk(program, (node) => {
    if (node.type === 'ImportSpecifier') imported.add(nameOf(node.local) ?? '')
  })
  walk(program, (node, ancestors) => {
    const name = declaredName(node, ancestors)
    if (name !== null) functions.push({ what: name, line: lineAt(node.start) })
    for (const used of namesAsked(node, ancestors))
      if (!isWithin(used, ancestors)) uses.add(imported.has(used) ? `^${used}` : used)
  })
  return { functions, uses: [...uses] }
}

function declaredName(node: Node, ancestors: readonly Node[]): string | null {
  if (node.type === 'FunctionDeclaration') return nameOf(node.id)
  if (node.type === 'VariableDeclarator') return isFunction(node.init) ? nameOf(node.id) : null
  if (node.type !== 'MethodDefinition' || node.computed === true || node.static === true) return null
  const owner = ancestors.findLast(({ type }) => /^Class/.test(type))
  const name = nameOf(node.key)
  return owner?.superClass || (owner?.implements as unknown[] | undefined)?.length || asked.test(name ?? '')
    ? null
    : memberName(node.key)
}

/** A private member is another than one of that name that is not. */
function memberName(node: unknown): string | null {
  const name = nameOf(node)
  return name === null ? null : `.${(node as Node).type === 'PrivateIdentifier' ? '#' : ''}${name}`
}

const isFunction = (node: unknown): boolean =>
  /^(?:ArrowFunction|Function)Expression$/.test((node as Node | null)?.type ?? '')

/** A name that only comes in, or goes out as it is, is not asked for yet. Members have a dot before their name. */
function namesAsked(node: Node, ancestors: readonly Node[]): string[] {
  const parent = ancestors.at(-1)
  if (node.type === 'ImportSpecifier') return renamed(node.imported, node.local)
  if (node.type === 'ExportSpecifier') return renamed(node.local, node.exported)
  if (node.type === 'MemberExpression') {
    const key = bare(node.property)
    const name = key?.type === 'Literal' ? `.${key.value}` : node.computed === true ? null : memberName(key)
    return name === null ? [] : [name]
  }
  if (node.type === 'Property' && parent?.type === 'ObjectPattern') return [`.${nameOf(node.key) ?? ''}`]
  if (node.type !== 'Identifier' || parent === undefined || /^(?:Import|Export)\w*Specifier$/.test(parent.type))
    return []
  const isName = parent.id === node && /^(?:Function|Class|VariableDeclarator)/.test(parent.type)
  const isKey = parent.key === node && parent.computed !== true && parent.shorthand !== true
  const isMember = parent.type === 'MemberExpression' && parent.property === node && parent.computed !== true
  return isName || isKey || isMember ? [] : [String(node.name)]
}

function renamed(from: unknown, to: unknown): string[] {
  const [name, other] = [nameOf(from), nameOf(to)]
  return name === null || name === other ? [] : [`^${name}`]
}

/** That a function calls itself starts nothing. */
function isWithin(name: string, ancestors: readonly Node[]): boolean {
  return ancestors.some((one, index) => declaredName(one, ancestors.slice(0, index)) === name)
}
