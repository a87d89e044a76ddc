import { isBuiltin } from 'node:module'
import type { CapabilityKind } from '../../../wire/operator-checks.ts'

const kinds: [kind: CapabilityKind, modules: RegExp][] = [
  ['network', /^(?:net|tls|dgram|dns|http|https|http2|quic)$|^_(?:http|tls)_/],
  ['process-start', /^(?:child_process|worker_threads|cluster)$/],
  ['filesystem', /^(?:fs|sqlite|constants)$/],
  ['inspector', /^(?:inspector|trace_events|diagnostics_channel|async_hooks|perf_hooks)$/],
  ['process', /^(?:process|os|tty|readline|domain|_stream_wrap)$/],
  ['decoding', /^zlib$/],
  ['persistence', /^timers$/],
]

/** What they give reaches nothing: a module that is not known may be anything. */
const harmless =
  /^(?:assert|buffer|console|crypto|events|path|punycode|querystring|stream|string_decoder|timers\/promises|url|util|sys|_stream_\w+)$/

/** Modules by which text becomes code, or code is chosen while it runs. */
const opaque = /^(?:vm|module|repl|wasi|v8|test|sea)$/

/** A test cannot do without its runner, which starts processes. */
const runner = /^test(?:\/|$)/

/** What importing `specifier` gives; `problem`: nobody can tell what comes of it. Null: nothing to speak of. */
export function moduleOf(
  specifier: string,
  isTest = false,
): { kind: CapabilityKind; what: string } | { problem: string } | null {
  if (/^\.\.?\//.test(specifier) || specifier === '#wire') return null
  if (!specifier.startsWith('node:') && !isBuiltin(specifier)) {
    const shown = specifier.slice(0, 80)
    return {
      problem: `imports ${JSON.stringify(shown)}: a policy imports its own files and node: modules, nothing else`,
    }
  }
  const name = specifier.replace(/^node:/, '')
  const top = name.split('/')[0] ?? ''
  if (isTest && runner.test(name)) return { kind: 'process-start', what: `node:${name}` }
  if (opaque.test(top)) return { problem: `imports node:${name}, which runs or loads code that is made while it runs` }
  const kind = kinds.find(([, modules]) => modules.test(top === 'timers' ? name : top))?.[0]
  if (kind === undefined && harmless.test(name.startsWith('timers') ? name : top)) return null
  return { kind: kind ?? 'process', what: `node:${name}` }
}
