import type { Constants } from './constants.ts'
import type { Hit } from './globals.ts'
import { bare, isNode, type Node, nameOf, some } from './syntax.ts'

const loops = new Set(['ForStatement', 'WhileStatement', 'DoWhileStatement', 'ForOfStatement', 'ForInStatement'])
const waits = /^(?:sleep|delay|wait|setTimeout|setImmediate|pause|backoff)$/i

/** Loops that nothing bounds, tries again, waiting and model calls in a loop. */
export function loopHits(node: Node, ancestors: readonly Node[], constants: Constants): Hit[] {
  if (node.type === 'CallExpression' && nameOf(node.callee) === 'setInterval')
    return [{ kind: 'loop', what: 'setInterval' }]
  if (node.type === 'CatchClause') {
    const self = nameOf(ancestors.findLast((one) => one.type === 'FunctionDeclaration')?.id)
    const callsItself = (one: Node) => one.type === 'CallExpression' && calledName(one) === self
    return self !== null && some(node, callsItself)
      ? [{ kind: 'retry', what: 'calls itself again after a failure' }]
      : []
  }
  if (!loops.has(node.type) || !isNode(node.body)) return []
  const hits: Hit[] = []
  if (isEndless(node, constants)) hits.push({ kind: 'loop', what: 'a loop without a bound' })
  const { body } = node
  if (some(body, (one) => one.type === 'TryStatement' && isRetry(one)))
    hits.push({ kind: 'retry', what: 'tries again after a failure' })
  const isWait = (one: Node) => one.type === 'CallExpression' && waits.test(calledName(one) ?? '')
  if (some(body, isWait)) hits.push({ kind: 'retry', what: 'waits in a loop' })
  if (some(body, (one) => constants.of(one) === 'model.call'))
    hits.push({ kind: 'loop', what: 'model calls in a loop' })
  return hits
}

function isEndless(node: Node, constants: Constants): boolean {
  if (node.type === 'ForOfStatement' || node.type === 'ForInStatement') return false
  const test = bare(node.test)
  if (test === null) return true
  const value = test.type === 'Literal' ? test.value : constants.of(test)
  return value !== null && value !== false && value !== 0 && value !== ''
}

/** Something is awaited, and a failure of it does not always leave the loop. */
function isRetry({ block, handler }: Node): boolean {
  if (!isNode(block) || !isNode(handler) || !isNode(handler.body)) return false
  if (!some(block, (one) => one.type === 'AwaitExpression')) return false
  const last = (handler.body.body as Node[]).at(-1)
  return last?.type !== 'ThrowStatement' && last?.type !== 'ReturnStatement' && last?.type !== 'BreakStatement'
}

function calledName(call: Node): string | null {
  const callee = bare(call.callee)
  return callee?.type === 'MemberExpression' ? nameOf(callee.property) : nameOf(callee)
}
