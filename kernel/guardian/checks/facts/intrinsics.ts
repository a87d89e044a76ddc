import type { Constants } from './constants.ts'
import type { Hit } from './globals.ts'
import { bare, type Node, nameOf } from './syntax.ts'

const builtins = new Set(
  'JSON Object Array Promise Buffer Date Math Number String Boolean Symbol BigInt Error TypeError RangeError Map Set WeakMap WeakSet RegExp Reflect Proxy Function ArrayBuffer Uint8Array URL TextEncoder TextDecoder Intl console'.split(
    ' ',
  ),
)
const changers = new Set(['defineProperty', 'defineProperties', 'assign', 'setPrototypeOf'])
const lookers = new Set([...changers, 'getPrototypeOf', 'getOwnPropertyDescriptor', 'getOwnPropertyDescriptors'])

/**
 * What changes the meaning of code that it does not touch: members of the engine's own objects, of prototypes and of the root
 * replaced; and the ways about an object's members by which that, and more, is done.
 */
export function intrinsicHits(node: Node, constants: Constants): Hit[] {
  const replaced = (target: unknown): Hit[] => {
    const what = sharedBy(target, constants)
    return what === null ? [] : [{ problem: `replaces ${what}, for all of the program` }]
  }
  const member = (target: unknown): Hit[] => {
    const inner = bare(target)
    if (inner?.type !== 'MemberExpression' || constants.property(inner) === 'stackTraceLimit') return []
    const root = nameOf(inner.object)
    if (root === 'globalThis' || root === 'global')
      return [{ problem: `replaces ${root}.${constants.property(inner) ?? '…'}, for all of the program` }]
    return replaced(inner.object)
  }
  if (node.type === 'AssignmentExpression') return member(node.left)
  if (node.type === 'UpdateExpression') return member(node.argument)
  if (node.type === 'UnaryExpression' && node.operator === 'delete') return member(node.argument)
  if (node.type !== 'CallExpression') return []
  const callee = bare(node.callee)
  if (callee?.type !== 'MemberExpression') return []
  const method = constants.property(callee)
  const on = nameOf(callee.object)
  if ((on === 'Object' || on === 'Reflect') && method !== null && lookers.has(method)) {
    const [target] = node.arguments as Node[]
    const found = changers.has(method) ? replaced(target) : []
    return method === 'assign' ? found : [...found, { kind: 'reflection', what: `${on}.${method}` }]
  }
  return madeMember(callee, constants)
}

/** `f[name](…)`: what is called is for the engine to know. On a function it may be the way to text as code. */
function madeMember(callee: Node, constants: Constants): Hit[] {
  if (callee.computed !== true || constants.property(callee) !== null) return []
  const holder = constants.resolved(callee.object)
  if (/Function|^ClassExpression$/.test(holder?.type ?? ''))
    return [{ problem: 'calls a member of a function by a name that is made while it runs' }]
  return [{ kind: 'reflection', what: 'calls a member by a name that is made while it runs' }]
}

/** An object that all of the program shares; null: none. */
function sharedBy(node: unknown, constants: Constants): string | null {
  const inner = constants.resolved(node)
  const name = nameOf(inner)
  if (inner?.type === 'Identifier' && name !== null && builtins.has(name)) return name
  if (inner?.type === 'MemberExpression' && constants.property(inner) === 'prototype')
    return `${nameOf(inner.object) ?? '…'}.prototype`
  if (inner?.type === 'MemberExpression' && constants.property(inner) === '__proto__') return 'a prototype'
  const callee = bare(inner?.callee)
  const isPrototype = callee?.type === 'MemberExpression' && constants.property(callee) === 'getPrototypeOf'
  return inner?.type === 'CallExpression' && isPrototype ? 'a prototype' : null
}
