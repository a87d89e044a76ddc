import type { Comment } from 'oxc-parser'
import { parseSync, visitorKeys } from 'oxc-parser'

/** A node of the tree, ESTree with TypeScript's. */
export interface Node {
  type: string
  start: number
  end: number
  [key: string]: unknown
}

export interface Syntax {
  program: Node
  comments: Comment[]
  /** As it was parsed; offsets are into it. */
  source: string
  /** 1-based. */
  lineAt(offset: number): number
}

/** @throws SyntaxFault where the text is no program. */
export function syntaxOf(path: string, text: string): Syntax {
  const isData = path.endsWith('.json')
  // Data is a program of one expression: its numbers are read as any others.
  const source = isData ? `export default ${text}` : text
  const { program, comments, errors } = parseSync(isData ? `${path}.ts` : path, source, { preserveParens: false })
  const starts = [0]
  for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1)) starts.push(at + 1)
  const lineAt = (offset: number): number => {
    let low = 0
    for (let high = starts.length; high - low > 1; ) {
      const middle = (low + high) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle
    }
    return low + 1
  }
  const [first] = errors
  if (first !== undefined) throw new SyntaxFault(first.message, lineAt(first.labels[0]?.start ?? 0))
  return { program: program as unknown as Node, comments, source, lineAt }
}

export class SyntaxFault extends Error {
  readonly line: number
  constructor(message: string, line: number) {
    super(message)
    this.line = line
  }
}

/** Nodes of TypeScript that hold values, not types. */
const valueNodes = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSTypeAssertion',
  'TSNonNullExpression',
  'TSInstantiationExpression',
  'TSEnumDeclaration',
  'TSEnumBody',
  'TSEnumMember',
  'TSModuleDeclaration',
  'TSModuleBlock',
  'TSParameterProperty',
  'TSExportAssignment',
  'TSImportEqualsDeclaration',
  'TSExternalModuleReference',
])

function childrenOf(node: Node): Node[] {
  const children: Node[] = []
  for (const key of visitorKeys[node.type] ?? []) {
    const value = node[key]
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child) && (!child.type.startsWith('TS') || valueNodes.has(child.type))) children.push(child)
    }
  }
  return children
}

/** Every node that holds values, parents first; `ancestors` ends with the parent. Types are left out. */
export function walk(root: Node, visit: (node: Node, ancestors: readonly Node[]) => void): void {
  const ancestors: Node[] = []
  const into = (node: Node): void => {
    visit(node, ancestors)
    ancestors.push(node)
    for (const child of childrenOf(node)) into(child)
    ancestors.pop()
  }
  into(root)
}

/** Whether one of the nodes below, or this one, fits. Functions inside are part of it. */
export function some(root: Node, fits: (node: Node) => boolean): boolean {
  return fits(root) || childrenOf(root).some((child) => some(child, fits))
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'
}

/** Without what only tells types: `(x as T)!` is `x`. */
export function bare(node: unknown): Node | null {
  if (!isNode(node)) return null
  const isWrapper =
    /^(TS(As|Satisfies|NonNull|Instantiation)Expression|TSTypeAssertion|ParenthesizedExpression|ChainExpression)$/
  return isWrapper.test(node.type) ? bare(node.expression) : node
}

export function nameOf(node: unknown): string | null {
  const inner = bare(node)
  if (inner?.type === 'Identifier' || inner?.type === 'PrivateIdentifier') return String(inner.name)
  return inner?.type === 'ThisExpression' ? 'this' : null
}

/** Canonical text of a program: two are equal where only comments, layout and quotes differ. */
export function shapeText(program: Node): string {
  return JSON.stringify(program, (key, value: unknown) => {
    if (key === 'start' || key === 'end' || key === 'raw' || key === 'range' || key === 'loc') return undefined
    if (key === 'hashbang' || key === 'comments') return undefined
    if (key === 'value' && value instanceof RegExp) return null
    return typeof value === 'bigint' ? `${value}n` : value
  })
}
