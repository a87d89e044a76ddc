import { z } from 'zod'
import type { TokenUsage } from '../wire/events.ts'
import type { BucketPrices, CostOf, ModelPrice } from './models.ts'

export interface MeteredUsage {
  usage: TokenUsage
  source: 'reported' | 'estimated'
}

/** What this side knows of an attempt, against which a report is held. */
export interface Evidence {
  promptTokens: number
  /** A prompt cannot have more. */
  mostPromptTokens: number
  /** Of what has arrived, reasoning summaries included. */
  emittedTokens: number
  /** Larger of what was asked for and what the model is known to give. */
  mostOutputTokens: number
}

const count = z.number().int().nonnegative()
const reportSchema = z.object({
  input_tokens: count,
  input_tokens_details: z.object({ cached_tokens: count.nullish(), cache_write_tokens: count.nullish() }).nullish(),
  output_tokens: count,
  output_tokens_details: z.object({ reasoning_tokens: count.nullish() }).nullish(),
})

/**
 * Usage as the Responses API reports it, in disjoint buckets. A report that is absent or cannot be true (negative, more
 * cached than sent, no prompt where there was one, more than the bytes sent) gives way to our own estimate.
 */
export function meterResponses(report: unknown, evidence: Evidence): MeteredUsage {
  const parsed = reportSchema.safeParse(report)
  if (!parsed.success) return estimate(evidence)
  const { input_tokens: input, output_tokens: output } = parsed.data
  const cacheRead = parsed.data.input_tokens_details?.cached_tokens ?? 0
  const cacheWrite = parsed.data.input_tokens_details?.cache_write_tokens ?? 0
  const reasoning = parsed.data.output_tokens_details?.reasoning_tokens ?? 0
  const isPossible =
    input > 0 &&
    input <= evidence.mostPromptTokens &&
    cacheRead + cacheWrite <= input &&
    reasoning <= output &&
    output <= evidence.mostOutputTokens &&
    (output > 0 || evidence.emittedTokens === 0)
  if (!isPossible) return estimate(evidence)
  return {
    usage: { uncached: input - cacheRead - cacheWrite, cacheRead, cacheWrite, output, reasoning },
    source: 'reported',
  }
}

/** The prompt at full price and what was seen of the output. */
export function estimate({ promptTokens, emittedTokens }: Evidence): MeteredUsage {
  return {
    usage: { uncached: promptTokens, cacheRead: 0, cacheWrite: 0, output: emittedTokens, reasoning: 0 },
    source: 'estimated',
  }
}

export function addUsage(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    uncached: a.uncached + b.uncached,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  }
}

export function tokensOf({ uncached, cacheRead, cacheWrite, output }: TokenUsage): number {
  return uncached + cacheRead + cacheWrite + output
}

/** The prices that hold for a prompt of this length. */
export function pricesAt(price: ModelPrice, inputTokens: number): BucketPrices {
  const tier = price.above?.findLast((candidate) => inputTokens > candidate.inputTokens)
  return tier?.price ?? price
}

const buckets = ['uncached', 'cacheRead', 'cacheWrite', 'output'] as const
const bucketNames = { uncached: 'input', cacheRead: 'cached input', cacheWrite: 'cache writes', output: 'output' }

export const costOf: CostOf = (usage, price, reason) => {
  const used = buckets.filter((bucket) => usage[bucket] > 0)
  if (used.length === 0) return { costNanoUsd: 0, reason: null }
  if (price === null) return { costNanoUsd: null, reason: reason ?? 'no price is known' }
  const prices = pricesAt(price, usage.uncached + usage.cacheRead + usage.cacheWrite)
  let total = 0
  for (const bucket of used) {
    const perToken = prices[bucket]
    if (perToken === null)
      return { costNanoUsd: null, reason: `${price.source} has no price for ${bucketNames[bucket]}` }
    total += Math.floor(usage[bucket] * perToken + 0.5)
  }
  return { costNanoUsd: total, reason: null }
}
