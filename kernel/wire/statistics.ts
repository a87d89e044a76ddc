/** The statistics that kernel and desk show: each is computed here alone, so that two figures of one name are one figure. */

/** Of an even count the mean of the middle two; null: of nothing. */
export function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length >> 1
  const upper = sorted[half]
  if (upper === undefined) return null
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? upper) + upper) / 2
}

/** Of all input tokens, those that a cache read; null: nothing was sent. */
export function cachedShareOf(sent: { uncached: number; cacheRead: number; cacheWrite: number }): number | null {
  return ratio(sent.cacheRead, sent.uncached + sent.cacheRead + sent.cacheWrite)
}

/** Null: of nothing. */
export function mean(values: readonly number[]): number | null {
  return ratio(sum(values), values.length)
}

/** Of one sum to another, never a mean of ratios; null: there is nothing to divide by, or a sum is not known. */
export function ratio(above: number | null, below: number | null): number | null {
  return above === null || below === null || below === 0 ? null : above / below
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
