import type { Stretch } from './tokens.ts'

/** The rules that providers publish: prefixes count from 1,024 tokens on, in steps of 128. */
const smallest = 1024
const step = 128
const entriesPerKey = 64
const keysKept = 1024

interface Entry {
  stretches: Stretch[]
  usedAt: number
}

export interface PromptCache {
  /** Tokens of this prompt that an earlier one under the same key began with; the prompt is remembered for the next. */
  read(key: string, stretches: Stretch[]): number
}

/** @param now monotonic milliseconds. An entry is forgotten `lifetimeMs` after its last use. */
export function createPromptCache(now: () => number, lifetimeMs: number): PromptCache {
  const caches = new Map<string, Entry[]>()
  return {
    read(key, stretches) {
      const at = now()
      const entries = (caches.get(key) ?? []).filter((entry) => at - entry.usedAt <= lifetimeMs)
      let best = 0
      let covered: Entry | undefined
      for (const entry of entries) {
        const { tokens, whole } = commonPrefix(entry.stretches, stretches)
        if (tokens > best) best = tokens
        if (tokens >= smallest && tokens === best) entry.usedAt = at
        if (whole) covered = entry
      }
      // The longer prompt answers for the one it grew from: a task's whole course is one entry.
      const kept = entries.filter((entry) => entry !== covered).slice(-(entriesPerKey - 1))
      caches.delete(key)
      caches.set(key, [...kept, { stretches, usedAt: at }])
      for (const oldest of caches.keys()) {
        if (caches.size <= keysKept) break
        caches.delete(oldest)
      }
      return best < smallest ? 0 : Math.floor(best / step) * step
    },
  }
}

function commonPrefix(earlier: Stretch[], later: Stretch[]): { tokens: number; whole: boolean } {
  let tokens = 0
  for (const [index, before] of earlier.entries()) {
    const after = later[index]
    if (after === undefined) return { tokens, whole: false }
    if (before.key === after.key) {
      tokens += before.tokens.length
      continue
    }
    return {
      tokens: tokens + (before.kind === after.kind ? commonTokens(before.tokens, after.tokens) : 0),
      whole: false,
    }
  }
  return { tokens, whole: true }
}

function commonTokens(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const end = Math.min(a.length, b.length)
  let index = 0
  while (index < end && a[index] === b[index]) index += 1
  return index
}
