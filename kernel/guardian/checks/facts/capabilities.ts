import { createHash } from 'node:crypto'
import type { CapabilityKind } from '../../../wire/operator-checks.ts'
import { commandsIn } from './commands.ts'
import { type Constants, propertyName, quasis } from './constants.ts'
import { deadIn } from './dead.ts'
import type { FileFacts } from './file-facts.ts'
import { globalHits, type Hit, memberHits } from './globals.ts'
import { identityOf } from './identity.ts'
import { intrinsicHits } from './intrinsics.ts'
import { loopHits } from './loops.ts'
import { moduleOf } from './modules.ts'
import { bare, type Node, nameOf, type Syntax, some, walk } from './syntax.ts'

const persistent = new Set(['artifact.put', 'blob.put', 'history.append'])
/** Texts that are shorter, or are no sentences, are no prompts. */
const promptCharacters = 40
const promptWords = 6

/** What one program reaches for, and what in it cannot be read. */
export function capabilitiesOf(
  { program, comments, lineAt }: Syntax,
  constants: Constants,
  methods: ReadonlySet<string>,
  isTest: boolean,
): Pick<FileFacts, 'capabilities' | 'hiding' | 'imports'> {
  const capabilities: FileFacts['capabilities'] = []
  const hiding: FileFacts['hiding'] = []
  const imports: string[] = []
  const add = (kind: CapabilityKind, what: string, node: Node) =>
    capabilities.push({ kind, what: shortened(what), line: lineAt(node.start) })
  const hide = (what: string, node: Node) => hiding.push({ what: what.slice(0, 200), line: lineAt(node.start) })
  const take = (hits: Hit[], node: Node) => {
    for (const hit of hits) 'problem' in hit ? hide(hit.problem, node) : add(hit.kind, hit.what, node)
  }
  const imported = (source: unknown, node: Node, how: string): void => {
    const specifier = constants.of(source)
    const found = typeof specifier === 'string' ? moduleOf(specifier, isTest) : null
    if (typeof specifier === 'string' && specifier.startsWith('.')) imports.push(specifier)
    if (found !== null) take([found], node)
    else if (typeof specifier !== 'string') hide(`${how} of a name that is made while it runs`, node)
  }
  const identity = identityOf(program, constants)

  walk(program, (node, ancestors) => {
    const parent = ancestors.at(-1)
    switch (node.type) {
      case 'ImportDeclaration':
      case 'ExportNamedDeclaration':
      case 'ExportAllDeclaration':
        if (node.source && node.importKind !== 'type' && node.exportKind !== 'type')
          imported(node.source, node, 'import')
        break
      case 'TSExternalModuleReference':
        imported(node.expression, node, 'import')
        break
      case 'ImportExpression':
        imported(node.source, node, 'import()')
        add('code-loading', 'import()', node)
        break
      case 'CallExpression':
      case 'NewExpression':
        called(node)
        break
      case 'Identifier':
        take(globalHits(node, ancestors, constants), node)
        break
      case 'MemberExpression':
        take(memberHits(node, ancestors, constants), node)
        break
      case 'MetaProperty':
        if (nameOf(node.meta) === 'import') add('process', 'import.meta', node)
        break
      case 'ExpressionStatement':
        if (isLeftAlone(node.expression)) add('persistence', 'work that nobody waits for', node)
        break
      case 'VariableDeclarator':
        if (ancestors.length <= 3 && isStore(node, ancestors)) add('persistence', 'a store of the whole program', node)
        handedOut(node)
        break
      case 'Property':
        hosted(node)
        if (parent?.type === 'ObjectPattern' && propertyName(node, constants) === 'constructor')
          hide('takes a constructor out of an object, by which text becomes code', node)
        break
      case 'ObjectExpression':
        tool(node)
        break
    }
    take(loopHits(node, ancestors, constants), node)
    take(intrinsicHits(node, constants), node)
    for (const dead of deadIn(node, constants)) hide(dead.what, dead.node)
    for (const what of identity(node)) add('identity', what, node)
    text(node, ancestors)
  })

  function called(node: Node): void {
    const callee = bare(node.callee)
    const [argument] = node.arguments as Node[]
    if (nameOf(callee) === 'require') {
      imported(argument, node, 'require')
      add('code-loading', 'require', node)
    }
    if (callee?.type !== 'MemberExpression') return
    const method = constants.property(callee)
    if (method === 'getBuiltinModule') {
      imported(argument, node, 'getBuiltinModule')
      add('code-loading', 'process.getBuiltinModule', node)
    }
    if (method === 'call' && callee.object !== null && isName(callee.object) && !isPlainArgument(argument, constants))
      add('wire', 'a method whose name is made while it runs', node)
    if (!isKernel(callee.object)) return
    if (method === null) hide('asks the kernel by a member whose name is made while it runs', node)
    if (method === 'exec') add('exec', 'kernel.exec', node)
    if (method === 'call' && constants.of(argument) === null)
      hide('asks the kernel for a method whose name is made while it runs', node)
  }

  /** A member of the kernel's client under a name of its own. */
  function handedOut({ id, init }: Node): void {
    const pattern = bare(id)
    if (pattern?.type !== 'ObjectPattern' || !isKernel(init)) return
    for (const one of pattern.properties as Node[]) {
      const name = one.type === 'Property' ? propertyName(one, constants) : null
      if (name === 'exec') add('exec', 'kernel.exec', one)
      else if (name !== 'task' && name !== 'completed')
        hide(`hands on ${name ?? 'a member'} of the kernel’s client`, one)
    }
  }

  /** A tool that the provider runs, outside of every box. */
  function hosted({ value, key }: Node): void {
    const what = nameOf(key) === 'type' ? constants.of(value) : null
    if (typeof what === 'string' && hostedTools.test(what)) add('network', `${what} of the provider`, value as Node)
  }

  function tool(node: Node): void {
    const of = (name: string) =>
      (node.properties as Node[]).find((one) => one.type === 'Property' && propertyName(one, constants) === name)
    const name = constants.of(of('name')?.value)
    if (typeof name !== 'string' || of('description') === undefined || (of('run') ?? of('properties')) === undefined)
      return
    add('tool', name, node)
  }

  /** Texts that are written out, each once: a part of a sum is told with the sum. */
  function text(node: Node, ancestors: readonly Node[]): void {
    const parent = ancestors.at(-1)
    const isPart = parent?.type === 'BinaryExpression' && parent.operator === '+'
    const isText =
      node.type === 'Literal' ||
      node.type === 'TemplateLiteral' ||
      node.type === 'BinaryExpression' ||
      node.type === 'CallExpression'
    if (!isText || isPart) return
    const told = constants.of(node)
    const value = told ?? textWithHoles(node, constants)
    if (typeof value !== 'string') return
    if (methods.has(value)) method(value, node)
    if (node.type !== 'Literal' && told !== null && spelt.test(value))
      hide(`spells out ${JSON.stringify(value)} in pieces`, node)
    if (told !== null && isPieced(node, told))
      for (const piece of windows(String(told))) add('decoding', `comes to ${piece}`, node)
    if (!/^(?:Import|Export)/.test(parent?.type ?? '')) for (const what of commandsIn(value)) add('command', what, node)
    if (isPrompt(value, ancestors, constants)) add('prompt', value.replaceAll(/\s+/g, ' ').trim(), node)
  }

  function method(name: string, node: Node): void {
    add(name === 'sandbox.exec' ? 'exec' : 'wire', name, node)
    if (persistent.has(name)) add('persistence', name, node)
    if (node.type !== 'Literal' && node.type !== 'TemplateLiteral') hide(`spells out ${name} in pieces`, node)
  }

  for (const comment of comments) {
    const word = /@ts-(?:nocheck|ignore|expect-error)\b/.exec(comment.value)?.[0]
    if (word !== undefined)
      hiding.push({ what: `switches the type checker off (${word})`, line: lineAt(comment.start) })
  }
  return { capabilities, hiding, imports }
}

const hostedTools =
  /^(?:web_search\w*|file_search|code_interpreter|computer\w*|image_generation|mcp|local_shell|shell|container\w*)$/

const isName = (node: unknown): boolean => bare(node)?.type === 'Identifier'

/** What `Function.prototype.call` is given, or a name that is written down. */
function isPlainArgument(node: unknown, constants: Constants): boolean {
  const inner = bare(node)
  return (
    inner === null || constants.of(inner) !== null || /^(?:This|Object|Array)Expression$|^Literal$/.test(inner.type)
  )
}

/** The kernel is asked, and nothing waits for its answer. */
function isLeftAlone(node: unknown): boolean {
  const inner = bare(node)
  if (inner?.type === 'UnaryExpression' && inner.operator === 'void') return isLeftAlone(inner.argument)
  if (inner?.type !== 'CallExpression') return false
  const callee = bare(inner.callee)
  if (callee?.type !== 'MemberExpression') return false
  if (isKernel(callee.object) && /^(?:call|exec)$/.test(nameOf(callee.property) ?? '')) return true
  return isLeftAlone(callee.object)
}

/** What is filled while the program runs, and outlives a turn. */
function isStore({ init }: Node, ancestors: readonly Node[]): boolean {
  if (ancestors.some(({ type }) => !/^(?:Program|ExportNamedDeclaration|VariableDeclaration)$/.test(type))) return false
  const inner = bare(init)
  if (ancestors.at(-1)?.kind !== 'const') return true
  if (inner?.type === 'NewExpression')
    return (
      /^(?:Map|Set|WeakMap|WeakSet|Array)$/.test(nameOf(inner.callee) ?? '') && (inner.arguments as Node[]).length === 0
    )
  if (inner?.type === 'ArrayExpression') return (inner.elements as Node[]).length === 0
  return inner?.type === 'ObjectExpression' && (inner.properties as Node[]).length === 0
}

/** A long text in parts that overlap, each short enough to be told whole. */
function windows(text: string): string[] {
  const [size, step] = [170, 110]
  const count = Math.min(20, Math.max(1, Math.ceil((text.length - size) / step) + 1))
  return Array.from({ length: count }, (_, n) => text.slice(n * step, n * step + size))
}

/** A long text is told by its beginning, and by all of it. */
function shortened(text: string): string {
  if (text.length <= 200) return text
  return `${text.slice(0, 180)}… (${createHash('sha256').update(text).digest('hex').slice(0, 8)})`
}

/** A text of some length that stands nowhere as it is: decoded, turned round, or put together of names. */
function isPieced(node: Node, told: string | number): boolean {
  if (typeof told !== 'string' || told.length < 12 || node.type === 'Literal') return false
  if (node.type === 'CallExpression') return true
  const parts = node.type === 'TemplateLiteral' ? (node.expressions as Node[]) : [node]
  return parts.some((part) => some(part, (one) => one.type === 'Identifier' || one.type === 'CallExpression'))
}

/** Names that nobody pieces together but to hide them. */
const spelt = /^(?:eval|Function|constructor|require|process|globalThis|import|__proto__|fetch|child_process|node:\w+)$/

function isKernel(node: unknown): boolean {
  const inner = bare(node)
  const name = inner?.type === 'MemberExpression' ? nameOf(inner.property) : nameOf(inner)
  return name !== null && /kernel|wire/i.test(name)
}

function textWithHoles(node: Node, constants: Constants): string | null {
  if (node.type === 'TemplateLiteral') {
    const holes = (node.expressions as Node[]).map((hole) => constants.of(hole) ?? ' … ')
    return quasis(node).reduce((text, quasi, index) => text + quasi + String(holes[index] ?? ''), '')
  }
  if (node.type !== 'BinaryExpression' || node.operator !== '+') return null
  const parts = [node.left, node.right].map((side) => {
    const inner = bare(side)
    return inner === null ? null : (constants.of(inner) ?? textWithHoles(inner, constants))
  })
  if (!parts.some((part) => typeof part === 'string')) return null
  return parts.map((part) => part ?? ' … ').join('')
}

/** A description, or sentences that are not the text of an error. */
function isPrompt(text: string, ancestors: readonly Node[], constants: Constants): boolean {
  const parent = ancestors.at(-1)
  if (
    parent?.type === 'Property' &&
    /^(?:description|instructions|content)$/.test(propertyName(parent, constants) ?? '')
  )
    return text.length > 0
  if (text.length < promptCharacters || text.trim().split(/\s+/).length < promptWords) return false
  return !ancestors.some(
    ({ type, callee }) =>
      type === 'ThrowStatement' ||
      nameOf((bare(callee) as Node | null)?.object) === 'console' ||
      (type === 'NewExpression' && /Error$/.test(nameOf(callee) ?? '')) ||
      type === 'ImportDeclaration',
  )
}
