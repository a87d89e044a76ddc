import type { Constants } from './constants.ts'
import { bare, isNode, type Node } from './syntax.ts'

/** Why a piece of the program never runs, with the node that does not; whatever the program is given. */
export function deadIn(node: Node, constants: Constants): { what: string; node: Node }[] {
  if (node.type === 'IfStatement' || node.type === 'ConditionalExpression') {
    const value = truth(node.test, constants)
    const [kept, dropped] = value === true ? ['true', node.alternate] : ['false', node.consequent]
    return value !== null && isNode(dropped) ? [never(`its condition is always ${kept}`, dropped)] : []
  }
  if (node.type === 'WhileStatement' || node.type === 'ForStatement')
    return isNode(node.test) && truth(node.test, constants) === false && isNode(node.body)
      ? [never('its condition is always false', node.body)]
      : []
  if (node.type === 'LogicalExpression' && isNode(node.right)) {
    const value = truth(node.left, constants)
    const isCut = (node.operator === '&&' && value === false) || (node.operator === '||' && value === true)
    return isCut ? [never(`what stands before it is always ${value}`, node.right)] : []
  }
  const body = node.type === 'SwitchCase' ? node.consequent : node.body
  if (!Array.isArray(body)) return []
  const end = (body as Node[]).findIndex(
    (one) =>
      leaves(one) || (one.type === 'IfStatement' && truth(one.test, constants) === true && leaves(one.consequent)),
  )
  const rest =
    end < 0 ? [] : (body as Node[]).slice(end + 1).filter(({ type }) => !/^TS|Declaration$|^Empty/.test(type))
  return rest[0] === undefined ? [] : [never('what stands before it leaves', rest[0])]
}

function leaves(node: unknown): boolean {
  const last = isNode(node) && node.type === 'BlockStatement' ? (node.body as Node[]).at(-1) : node
  return isNode(last) && /^(?:Return|Throw|Break|Continue)Statement$/.test(last.type)
}

const never = (why: string, node: Node) => ({ what: `never runs: ${why}`, node })

/** Null: it depends. */
function truth(node: unknown, constants: Constants): boolean | null {
  const inner = constants.resolved(node)
  if (inner === null) return null
  if (inner.type === 'Literal')
    return inner.regex === undefined && typeof inner.value !== 'bigint' ? Boolean(inner.value) : null
  if (inner.type === 'Identifier') return inner.name === 'undefined' ? false : null
  if (inner.type === 'UnaryExpression' && inner.operator === '!') {
    const value = truth(inner.argument, constants)
    return value === null ? null : !value
  }
  if (inner.type === 'LogicalExpression') {
    const [left, right] = [truth(inner.left, constants), truth(inner.right, constants)]
    if (inner.operator === '&&') return left === false || right === false ? false : left === true ? right : null
    if (inner.operator === '||') return left === true || right === true ? true : left === false ? right : null
    return null
  }
  if (inner.type !== 'BinaryExpression') {
    const value = constants.of(inner)
    return value === null ? null : Boolean(value)
  }
  if (isLength(inner.left, constants) && constants.of(inner.right) === 0)
    return inner.operator === '<' ? false : inner.operator === '>=' ? true : null
  const [left, right] = [constants.of(inner.left), constants.of(inner.right)]
  if (left === null || right === null) return null
  const held: Record<string, boolean> = {
    '<': left < right,
    '<=': left <= right,
    '>': left > right,
    '>=': left >= right,
    '===': left === right,
    '==': left === right,
    '!==': left !== right,
    '!=': left !== right,
  }
  return held[String(inner.operator)] ?? Boolean(constants.of(inner))
}

function isLength(node: unknown, constants: Constants): boolean {
  const inner = bare(node)
  return inner?.type === 'MemberExpression' && /^(?:length|size)$/.test(constants.property(inner) ?? '')
}
