import type { CapabilityKind } from '../../../wire/operator-checks.ts'
import type { Constants } from './constants.ts'
import { propertyName } from './constants.ts'
import { bare, type Node, nameOf } from './syntax.ts'

export type Hit = { kind: CapabilityKind; what: string } | { problem: string }

const textAsCode = new Set(['eval', 'Function', 'WebAssembly', 'AsyncFunction', 'GeneratorFunction'])
const network = new Set(['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest', 'WebSocketStream', 'WebTransport'])
const threads = new Set(['Worker', 'SharedWorker', 'SharedArrayBuffer', 'Atomics'])
const stores = new Set(['localStorage', 'sessionStorage', 'indexedDB', 'caches'])
/** Other ends, and looks into the engine. */
const channels = new Set([
  'BroadcastChannel',
  'MessageChannel',
  'MessagePort',
  'navigator',
  'FinalizationRegistry',
  'WeakRef',
])
/** What they are given runs later, whether or not anybody waits for it. */
const later = new Set(['setTimeout', 'setImmediate', 'queueMicrotask', 'requestIdleCallback'])
const roots = new Set(['globalThis', 'global'])
/** Members of `process` that load code which nobody reads. */
const loaders = new Set(['binding', '_linkedBinding', 'dlopen', 'mainModule', '_rawDebug', 'moduleLoadList'])

/**
 * What the use of a name gives, if it is one of the engine's. Names of one's own that are called the same are taken for
 * the engine's: whoever reads would do so too.
 */
export function globalHits(node: Node, ancestors: readonly Node[], constants: Constants): Hit[] {
  const name = String(node.name)
  if (isMemberName(node, ancestors)) return []
  if (roots.has(name) || name === 'process') return rootHits(name, ancestors, constants)
  return namedHits(name)
}

function namedHits(name: string): Hit[] {
  if (textAsCode.has(name)) return [{ problem: `runs text as code (${name})` }]
  if (network.has(name)) return [{ kind: 'network', what: name }]
  if (threads.has(name)) return [{ kind: 'process-start', what: name }]
  if (stores.has(name)) return [{ kind: 'persistence', what: name }]
  if (channels.has(name)) return [{ kind: 'process', what: name }]
  if (later.has(name)) return [{ kind: 'persistence', what: `work for later (${name})` }]
  if (name === 'Reflect' || name === 'Proxy') return [{ kind: 'reflection', what: name }]
  return name === 'atob' ? [{ kind: 'decoding', what: name }] : []
}

/** A root may be used for a member whose name is written down, and for nothing else: handed on, it gives everything. */
function rootHits(root: string, ancestors: readonly Node[], constants: Constants): Hit[] {
  const parent = ancestors.at(-1)
  if (parent?.type === 'MemberExpression' && bare(parent.object) && nameOf(parent.object) === root) return []
  if (parent?.type === 'UnaryExpression' && parent.operator === 'typeof') return []
  if (/^(?:Import|Export)/.test(parent?.type ?? '')) return []
  const pattern = bare(parent?.type === 'VariableDeclarator' ? parent.id : null)
  if (pattern?.type === 'ObjectPattern') {
    const names = (pattern.properties as Node[]).map((one) =>
      one.type === 'Property' ? propertyName(one, constants) : null,
    )
    if (names.every((name) => name !== null)) return names.flatMap((name) => rootMember(root, name as string))
  }
  return [{ problem: `hands on ${root}, and with it all that it holds` }]
}

export function memberHits(node: Node, ancestors: readonly Node[], constants: Constants): Hit[] {
  const name = constants.property(node)
  const root = nameOf(node.object)
  const isWrittenDown = node.computed !== true || bare(node.property)?.type === 'Literal'
  if (root !== null && (roots.has(root) || root === 'process')) {
    if (name === null || !isWrittenDown)
      return [
        {
          problem: `reaches into ${root} by a name that is ${name === null ? 'made while it runs' : 'pieced together'}`,
        },
      ]
    return rootMember(root, name)
  }
  if (name === 'constructor') return constructorHits(ancestors)
  if (name === '__proto__' || /^__(?:define|lookup)[GS]etter__$/.test(name ?? ''))
    return [{ kind: 'reflection', what: name ?? '' }]
  const isKernelByName = name === null && /kernel|wire/i.test(root ?? '')
  if (isKernelByName) return [{ problem: `reaches into ${root} by a name that is made while it runs` }]
  const holder = bare(node.object)
  if (holder?.type === 'CallExpression' && name === 'toString') return decodingHits(holder, constants)
  return []
}

function rootMember(root: string, name: string): Hit[] {
  if (root !== 'process') {
    if (roots.has(name) || name === 'process') return [{ problem: `takes ${name} from ${root}: write it as it is` }]
    const named = namedHits(name)
    return named.length > 0 ? named : [{ kind: 'process', what: `${root}.${name}` }]
  }
  if (loaders.has(name)) return [{ problem: `loads code that nobody reads (process.${name})` }]
  return [{ kind: 'process', what: `process.${name}` }]
}

/** `x.constructor.name` tells a class; anything else may make a function of a text. */
function constructorHits(ancestors: readonly Node[]): Hit[] {
  const parent = ancestors.at(-1)
  if (parent?.type === 'MemberExpression' && nameOf(parent.property) === 'name' && parent.computed !== true) return []
  if (parent?.type === 'BinaryExpression' && /^[!=]==?$/.test(String(parent.operator))) return []
  return [{ problem: 'reaches for a constructor, by which text becomes code' }]
}

function decodingHits(call: Node, constants: Constants): Hit[] {
  const callee = bare(call.callee)
  if (
    callee?.type !== 'MemberExpression' ||
    nameOf(callee.object) !== 'Buffer' ||
    constants.property(callee) !== 'from'
  )
    return []
  const encoding = constants.of((call.arguments as Node[])[1])
  return encoding === 'base64' || encoding === 'hex' || encoding === 'base64url'
    ? [{ kind: 'decoding', what: `Buffer.from(…, ${encoding})` }]
    : []
}

/** The name of a member, of a property or of something declared elsewhere: no use of a variable. */
function isMemberName(node: Node, ancestors: readonly Node[]): boolean {
  const parent = ancestors.at(-1)
  if (parent === undefined) return false
  if (parent.type === 'MemberExpression') return parent.property === node && parent.computed !== true
  if (/^(?:Property|MethodDefinition|PropertyDefinition|AccessorProperty|TSEnumMember)$/.test(parent.type))
    return parent.key === node && parent.computed !== true && parent.shorthand !== true
  return /^(?:Import|Export)\w*Specifier$|^LabeledStatement$|^(?:Break|Continue)Statement$|^MetaProperty$/.test(
    parent.type,
  )
}
