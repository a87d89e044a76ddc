import { median } from '../wire/statistics.ts'

/** A figure with what it may as well be, from `n` values. */
export interface Interval {
  value: number
  low: number
  high: number
  n: number
}

/**
 * The median with an interval that holds the true one in at least 95 % of cases whatever the distribution: the order
 * statistics that a binomial of one half names. Under six values there is none, and the interval is their whole range.
 */
export function medianInterval(values: readonly number[]): Interval | null {
  if (values.length === 0) return null
  const sorted = [...values].sort((a, b) => a - b)
  const n = sorted.length
  const k = Math.max(1, outerRank(n))
  return { value: median(sorted) ?? 0, low: sorted[k - 1] ?? 0, high: sorted[n - k] ?? 0, n }
}

/** The largest k with P(Binomial(n, 1/2) < k) of at most 2.5 %; 0: there is none. In logarithms, since 2^-n vanishes. */
function outerRank(n: number): number {
  let logTerm = -n * Math.LN2
  let below = 0
  for (let k = 0; k < n; k += 1) {
    below += Math.exp(logTerm)
    if (below > 0.025) return k
    logTerm += Math.log(n - k) - Math.log(k + 1)
  }
  return 0
}

const resamples = 1000

/** Sum of `gained` for a sum of `cost`, with a 95 % interval of a bootstrap over the pairs. Its seed is fixed: the same pairs give the same figures. */
export function ratioInterval(pairs: readonly { gained: number; cost: number }[]): Interval | null {
  const ratio = (of: readonly { gained: number; cost: number }[]) => {
    let [gained, cost] = [0, 0]
    for (const one of of) {
      gained += one.gained
      cost += one.cost
    }
    return cost > 0 ? gained / cost : 0
  }
  if (pairs.length === 0 || pairs.every(({ cost }) => cost === 0)) return null
  const next = random(1)
  const drawn = Array.from({ length: resamples }, () =>
    ratio(pairs.map(() => pairs[Math.floor(next() * pairs.length)] ?? { gained: 0, cost: 0 })),
  ).sort((a, b) => a - b)
  const at = (share: number) => drawn[Math.round(share * (resamples - 1))] ?? 0
  return { value: ratio(pairs), low: at(0.025), high: at(0.975), n: pairs.length }
}

/** Mulberry32. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
