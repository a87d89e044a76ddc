import { ApiError } from './errors.ts'
import { faults } from './faults.ts'

/** Under what conditions a request is served: what a base URL or the command line asks for. */
export interface Conditions {
  seed: number
  /** Names of `faults`. A request that is to fail gets one of them. */
  faults: readonly string[]
  /** Share of requests that fail: each, and each try of the same again, is a draw of its own. */
  faultRate: number
  /** Share of decisions in which a player errs. */
  noise: number
  /** Mean wait before an answer begins, and for each of its tokens; each request draws from half to one and a half of it. */
  thinkMs: number
  perTokenMs: number
  /** Whether draws depend on the seed alone, so that two arms of a study meet the same, or on the prompt's cache key as well. */
  random: 'paired' | 'independent'
}

export const ordinary: Conditions = {
  seed: 0,
  faults: [],
  faultRate: 0,
  noise: 0,
  thinkMs: 0,
  perTokenMs: 0,
  random: 'paired',
}

/** How each condition is written, in a path as `/NAME/VALUE`, on the command line as `--NAME VALUE`. */
const readers: Record<string, (value: string, given: Conditions) => Partial<Conditions> | null> = {
  seed: (value) => (/^\d{1,15}$/.test(value) ? { seed: Number(value) } : null),
  fault: (value, given) => {
    const names = value.split('+')
    if (!names.every((name) => Object.hasOwn(faults, name))) return null
    return { faults: [...given.faults, ...names], faultRate: given.faultRate === 0 ? 1 : given.faultRate }
  },
  rate: (value) => within(value, 1, (faultRate) => ({ faultRate })),
  noise: (value) => within(value, 1, (noise) => ({ noise })),
  think: (value) => within(value, 600_000, (thinkMs) => ({ thinkMs })),
  pace: (value) => within(value, 10_000, (perTokenMs) => ({ perTokenMs })),
  random: (value) => (value === 'paired' || value === 'independent' ? { random: value } : null),
}

const meanings = `seed/N, fault/NAME+NAME…, rate/0…1, noise/0…1, think/MS, pace/MS, random/paired or independent; faults are ${Object.keys(faults).join(', ')}`

/** `given` as `name` with `value` changes it; a text says what is wrong. */
export function withCondition(given: Conditions, name: string, value: string): Conditions | string {
  const read = Object.hasOwn(readers, name) ? readers[name]?.(value, given) : null
  return read == null ? `'${name}/${value}' is no condition of the simulator's: ${meanings}` : { ...given, ...read }
}

/**
 * `/v1/…`, with conditions before it as pairs: `/seed/7/fault/500+cut/rate/0.1/v1/responses`.
 * @throws ApiError 404 that names what is wrong.
 */
export function readPath(pathname: string, defaults: Conditions): { conditions: Conditions; path: string } {
  const segments = pathname.split('/').slice(1)
  let conditions = defaults
  for (let at = 0; at < segments.length; at += 2) {
    const [name = '', value = ''] = segments.slice(at)
    if (name === 'v1') return { conditions, path: `/${segments.slice(at + 1).join('/')}` }
    const next = withCondition(conditions, name, value)
    if (typeof next === 'string') throw new ApiError(404, `Invalid URL (${pathname}): ${next}.`)
    conditions = next
  }
  throw new ApiError(404, `Invalid URL (${pathname}): it has no /v1/.`)
}

function within(value: string, most: number, of: (n: number) => Partial<Conditions>): Partial<Conditions> | null {
  return /^\d+(\.\d+)?$/.test(value) && Number(value) <= most ? of(Number(value)) : null
}
