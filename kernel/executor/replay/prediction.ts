import type { TokenCounter } from '../../models/models.ts'
import { mean, median } from '../../wire/statistics.ts'
import type { CapturedRequest } from './answers.ts'

/** Where a request leaves the one before it. */
export interface Prefix {
  /** Tokens that both begin with. */
  tokens: number
  /** The first item that differs although the earlier request goes on there; null: it only grew at its end. */
  breaks: { kind: CapturedRequest['items'][number]['kind']; index: number } | null
}

/** Prompt caches that publish their rules hold prefixes of at least so many tokens, in steps of so many. */
const cacheFrom = 1024
const cacheStep = 128
/** Of the first item that differs, the common beginning is looked for in so many characters. */
const comparedChars = 256 * 1024

/** The longest common prefix of two requests. */
export function prefixOf(earlier: CapturedRequest, later: CapturedRequest, counter: TokenCounter): Prefix {
  const end = Math.min(earlier.items.length, later.items.length)
  let tokens = 0
  for (let index = 0; index < end; index += 1) {
    const [before, after] = [earlier.items[index], later.items[index]]
    if (before === undefined || after === undefined) break
    if (before.hash !== after.hash || before.kind !== after.kind) {
      const shared =
        before.kind === after.kind ? counter.count(commonHead(before.json, after.json).replace(/^"/, '')) : 0
      return { tokens: tokens + Math.min(shared, after.tokens), breaks: { kind: before.kind, index } }
    }
    tokens += after.tokens
  }
  const dropped = earlier.items[end]
  return { tokens, breaks: dropped === undefined ? null : { kind: dropped.kind, index: end } }
}

/** What a cache is predicted to hold of a prefix of so many tokens. */
export function cachedOf(prefixTokens: number): number {
  return prefixTokens < cacheFrom ? 0 : Math.floor(prefixTokens / cacheStep) * cacheStep
}

/**
 * Mean input tokens over the next `ahead` steps. A context that only grows goes on from its newest size as it usually grew:
 * by the median, since a long file that was read once says nothing of the steps to come. One that also shrinks stays around
 * its mean.
 *
 * @param window input tokens of the newest steps in a row, oldest first.
 * @param growths from step to step, in `window` and earlier.
 */
export function aheadOf(window: readonly number[], growths: readonly number[], ahead: number): number | null {
  const newest = window.at(-1)
  if (newest === undefined) return null
  if (growths.some((growth) => growth < 0)) return meanOf(window)
  return newest + ((median(growths) ?? 0) * (ahead + 1)) / 2
}

export function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return mean(known)
}

function commonHead(a: string, b: string): string {
  const end = Math.min(a.length, b.length, comparedChars)
  let index = 0
  while (index < end && a.charCodeAt(index) === b.charCodeAt(index)) index += 1
  return a.slice(0, index)
}
