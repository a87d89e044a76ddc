import { hash } from 'node:crypto'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import type { TokenCounter } from './models.ts'

/**
 * The tokenizer's time grows with the square of an unbroken run ('a' × 20,000 took 0.4 s): longer runs are counted in
 * pieces of this length, and of a very long text only the head is counted, so that no text holds up the kernel.
 */
const runLength = 128
const longRun = /\S{128}|\s{128}/
const runs = /\S{1,128}|\s{1,128}/g
const countedLength = 128 * 1024
const allowSpecial = { disallowedSpecial: new Set<string>() }

/** Texts below this length are cheaper to count again than to hash. */
const memoFrom = 512

/**
 * Counts by o200k. Exact for ordinary text; runs without a break of more than 128 characters are off by at most one token
 * per 128, and beyond 128 Ki characters the rest is taken at the head's rate, at least half a token a character.
 *
 * @param capacity distinct long texts whose count is remembered; the least recently used is forgotten first.
 */
export function createTokenCounter(capacity = 20_000): TokenCounter {
  const memo = new Map<string, number>()
  return {
    count(text) {
      if (text.length < memoFrom) return countOf(text)
      const key = hash('sha256', text, 'base64')
      const tokens = memo.get(key) ?? countOf(text)
      memo.delete(key)
      memo.set(key, tokens)
      for (const oldest of memo.keys()) {
        if (memo.size <= capacity) break
        memo.delete(oldest)
      }
      return tokens
    },
  }
}

function countOf(text: string): number {
  if (text.length <= countedLength) return countWhole(text)
  const head = countWhole(text.slice(0, countedLength))
  return head + Math.ceil(Math.max(head / countedLength, 0.5) * (text.length - countedLength))
}

function countWhole(text: string): number {
  if (!longRun.test(text)) return countTokens(text, allowSpecial)
  let tokens = 0
  let stretch = ''
  for (const [run] of text.matchAll(runs)) {
    stretch += run
    if (run.length < runLength) continue
    tokens += countTokens(stretch, allowSpecial)
    stretch = ''
  }
  return tokens + countTokens(stretch, allowSpecial)
}
