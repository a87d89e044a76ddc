import type { EventData } from '../wire/events.ts'

type Call = EventData<'model.called'>

/** The call before it in the same task. */
export interface PreviousCall {
  turn: number
  step: number
  seq: number
  /** epoch ms of its end. */
  at: number
  revision: string
  /** Tokens of its prompt, and how many of them came from the cache. */
  input: number
  cacheRead: number
}

export interface CacheBreak {
  /** Position of the item that differed; null: none did. */
  item: number | null
  kind: 'instructions' | 'tools' | 'item' | 'model' | 'none'
  what: string | null
  before: string | null
  after: string | null
  /** Between the end of the call before and the start of this one; null: there was none before. */
  idleMs: number | null
  missed: number | null
  missedNanoUsd: number | null
}

/** Below it no provider keeps a prompt. */
const smallestKept = 1024

/**
 * Whether, and where, a call lost the cache that the call before had filled. Missed are the tokens that would have come
 * from it: of the shorter of both prompts, those that did not. Their cost is what they were charged over the price of
 * cached ones. Estimates: a provider may have kept less.
 */
export function breakOf(of: { at: number }, call: Call, previous: PreviousCall | null): CacheBreak | null {
  const idleMs = previous === null ? null : Math.max(0, Math.round(of.at - call.durationMs - previous.at))
  const missed = missedOf(call, previous)
  const found = { idleMs, missed, missedNanoUsd: missed === null ? null : missCost(call, missed) }
  const differs = call.firstDifference
  if (differs !== null) {
    // Where the request ends before its parent does, all of it was kept.
    if (differs.kind !== 'model' && differs.after === null) return null
    const { index, kind, what = null, before, after } = differs
    return { item: index, kind, what, before, after, ...found }
  }
  const isMiss =
    call.cacheReported === true &&
    previous !== null &&
    previous.cacheRead > 0 &&
    missed !== null &&
    missed >= smallestKept &&
    missed > (call.usage?.cacheRead ?? 0)
  return isMiss ? { item: null, kind: 'none', what: null, before: null, after: null, ...found } : null
}

/** null: nothing says what this call or the one before read. */
function missedOf({ usage, usageSource, cacheReported }: Call, previous: PreviousCall | null): number | null {
  if (previous === null || usage === null || usageSource !== 'reported' || cacheReported === false) return null
  if (previous.input < smallestKept) return 0
  const input = usage.uncached + usage.cacheRead + usage.cacheWrite
  return Math.max(0, Math.min(previous.input, input) - usage.cacheRead)
}

function missCost({ prices, usage }: Call, missed: number): number | null {
  if (missed === 0) return 0
  if (prices === undefined || usage === null || prices.cacheRead === null) return null
  const paid = paidPerToken(prices, usage)
  return paid === null ? null : Math.max(0, Math.floor(missed * (paid - prices.cacheRead) + 0.5))
}

/** What a token of the prompt was charged that did not come from the cache: the mean of both such prices. */
function paidPerToken(prices: NonNullable<Call['prices']>, usage: NonNullable<Call['usage']>): number | null {
  const { uncached, cacheWrite } = usage
  if (uncached + cacheWrite === 0) return prices.uncached
  if ((uncached > 0 && prices.uncached === null) || (cacheWrite > 0 && prices.cacheWrite === null)) return null
  return (uncached * (prices.uncached ?? 0) + cacheWrite * (prices.cacheWrite ?? 0)) / (uncached + cacheWrite)
}

/**
 * What the parts that every request carries cost in this one, nano-dollars; null: not known. Parts are counted before a
 * request is sent and scaled to what was metered; a cache reads from the front, where they stand in this order.
 */
export function rentOf(call: Call): { instructions: number; tools: number; memory: number } | null {
  const { usage, prices, composition } = call
  const { instructions, tools, memory = 0, messages, toolResults } = composition
  const counted = instructions + tools + memory + messages + toolResults
  if (usage === null || counted === 0) return { instructions: 0, tools: 0, memory: 0 }
  if (prices === undefined) return null
  const input = usage.uncached + usage.cacheRead + usage.cacheWrite
  const paid = paidPerToken(prices, usage)
  if ((usage.cacheRead > 0 && prices.cacheRead === null) || (paid === null && input > usage.cacheRead)) return null
  let from = 0
  const costOf = (part: number) => {
    const tokens = (part * input) / counted
    const cached = Math.min(Math.max(usage.cacheRead - from, 0), tokens)
    from += tokens
    return Math.floor(cached * (prices.cacheRead ?? 0) + (tokens - cached) * (paid ?? 0) + 0.5)
  }
  return { instructions: costOf(instructions), tools: costOf(tools), memory: costOf(memory) }
}
