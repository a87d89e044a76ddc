import { createHash } from 'node:crypto'
import type { KnobFact } from './file-facts.ts'
import { bare, isNode, type Node, nameOf, type Syntax, some, walk } from './syntax.ts'

const loops = /^(?:For|While|DoWhile|ForOf|ForIn)Statement$/
/** What the kernel tells of is held by `heeded.ts`, however it is worded. */
const told = /\b(?:maxSteps|draining|maxMs)\b/

/**
 * What ends a loop that waits for something, and how it comes round again: each by the words of its condition, with its own
 * variables nameless and constants in place of their names. One that is gone leaves the loop to go on.
 */
export function waysOutIn({ program, source, lineAt }: Syntax): KnobFact[] {
  const own = new Map<string, Node | null>()
  const declare = (node: unknown, init: Node | null) => {
    const name = nameOf(node)
    if (name !== null) own.set(name, own.has(name) ? null : init)
  }
  walk(program, (node, ancestors) => {
    const isConst = ancestors.at(-1)?.kind === 'const'
    if (node.type === 'VariableDeclarator') declare(node.id, isConst && isNode(node.init) ? node.init : null)
    if (/Function/.test(node.type)) for (const one of node.params as unknown[]) declare(one, null)
    if (node.type === 'CatchClause') declare(node.param, null)
  })
  const wordsOf = (node: Node, depth = 0): string => {
    let text = ''
    let at = node.start
    const meant: string[] = []
    walk(node, (one, ancestors) => {
      const parent = ancestors.at(-1)
      const isMember = parent?.type === 'MemberExpression' && parent.property === one && parent.computed !== true
      if (one.type !== 'Identifier' || isMember || !own.has(String(one.name)) || one.start < at) return
      text += `${source.slice(at, one.start)}_`
      at = one.end
      const init = own.get(String(one.name))
      if (init && depth < 3 && isPlain(init)) meant.push(wordsOf(init, depth + 1))
    })
    text += source.slice(at, node.end)
    const where = meant.length === 0 ? '' : ` where ${[...new Set(meant)].join(', ')}`
    return `${text.replaceAll(/\s+/g, ' ')}${where}`
  }
  const ways: KnobFact[] = []
  const add = (how: string, node: Node) => {
    if (told.test(source.slice(node.start, node.end))) return
    const words = wordsOf(node)
    const digest = createHash('sha256').update(words).digest('hex').slice(0, 8)
    const name = `${how} ${words.length > 90 ? `${words.slice(0, 80)}… ${digest}` : words}`
    ways.push({ name, unit: 'turns', value: 'kept', line: lineAt(node.start), isBound: true })
  }
  walk(program, (node, ancestors) => {
    if (loops.test(node.type) && waits(node)) {
      for (const part of isNode(node.test) ? parts(node.test) : []) add('goes on while', part)
      if (node.type === 'ForStatement' && isNode(node.update)) add('comes round by', node.update)
    }
    if (
      node.type === 'ExpressionStatement' &&
      bare(node.expression)?.type === 'AwaitExpression' &&
      loopAround(ancestors)
    )
      add('does each time', node.expression as Node)
    if (node.type !== 'IfStatement' || !isNode(node.test) || !isNode(node.consequent) || !loopAround(ancestors)) return
    if (leaves(node.consequent)) add('ends where', node.test)
    else if (waits(node.consequent)) add('does more only where', node.test)
  })
  return ways
}

/** Of a chain of `&&`, each. */
function parts(test: Node): Node[] {
  return test.type === 'LogicalExpression' && test.operator === '&&'
    ? [...parts(test.left as Node), ...parts(test.right as Node)]
    : [test]
}

const waits = (node: Node): boolean =>
  some(node, ({ type, await: each }) => type === 'AwaitExpression' || each === true)

/** The nearest loop of the same function, where it waits for something. */
function loopAround(ancestors: readonly Node[]): boolean {
  const around = ancestors.findLast(({ type }) => loops.test(type) || /Function/.test(type))
  return around !== undefined && loops.test(around.type) && waits(around)
}

function leaves(node: unknown): boolean {
  const last = isNode(node) && node.type === 'BlockStatement' ? (node.body as Node[]).at(-1) : node
  return isNode(last) && /^(?:Return|Throw|Break)Statement$/.test(last.type)
}

/** Made of other names, without running anything; numbers are told of by themselves. */
function isPlain(node: Node): boolean {
  const runs = ({ type }: Node) => /Function|^(?:Await|Call|New|Object)Expression$/.test(type)
  return some(node, ({ type }) => type === 'Identifier') && !some(node, runs)
}
