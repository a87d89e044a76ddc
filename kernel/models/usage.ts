import { z } from 'zod'
import type { TokenUsage } from '../wire/events.ts'
import type { BucketPrices, CostOf, ModelPrice } from './models.ts'

export interface MeteredUsage {
  usage: TokenUsage
  source: 'reported' | 'estimated'
  /** Whether the report says how much was read from the cache; an estimate has no report. */
  cacheReported?: boolean
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

/** Usage as a provider reports it; cached tokens are part of `input`, reasoning is part of `output`. */
export interface UsageReport {
  input: number
  cacheRead: number
  cacheWrite: number
  output: number
  reasoning: number
  /** False: it says nothing of a cache, and `cacheRead` is 0 for want of it. */
  cacheReported: boolean
}

const count = z.number().int().nonnegative()
const responsesSchema = z.object({
  input_tokens: count,
  input_tokens_details: z.object({ cached_tokens: count.nullish(), cache_write_tokens: count.nullish() }).nullish(),
  output_tokens: count,
  output_tokens_details: z.object({ reasoning_tokens: count.nullish() }).nullish(),
})
const chatSchema = z.object({
  prompt_tokens: count,
  prompt_tokens_details: z.object({ cached_tokens: count.nullish(), cache_write_tokens: count.nullish() }).nullish(),
  completion_tokens: count,
  completion_tokens_details: z.object({ reasoning_tokens: count.nullish() }).nullish(),
})
/** Of llama.cpp: what of the prompt was computed and what was at hand, and what was generated. */
const timingsSchema = z.object({ prompt_n: count, predicted_n: count, cache_n: count.nullish() })

/** null: it is none. */
export function reportOfResponses(usage: unknown): UsageReport | null {
  const { data } = responsesSchema.safeParse(usage)
  if (data === undefined) return null
  return {
    input: data.input_tokens,
    cacheRead: data.input_tokens_details?.cached_tokens ?? 0,
    cacheWrite: data.input_tokens_details?.cache_write_tokens ?? 0,
    output: data.output_tokens,
    reasoning: data.output_tokens_details?.reasoning_tokens ?? 0,
    cacheReported: typeof data.input_tokens_details?.cached_tokens === 'number',
  }
}

/** null: it is none. */
export function reportOfChat(usage: unknown, timings: unknown): UsageReport | null {
  const { data: timed } = timingsSchema.safeParse(timings)
  const cached = timed?.cache_n ?? 0
  const { data } = chatSchema.safeParse(usage)
  if (data === undefined) {
    if (timed === undefined || usage !== undefined) return null
    return {
      ...{ input: timed.prompt_n + cached, cacheRead: cached, cacheWrite: 0, output: timed.predicted_n, reasoning: 0 },
      cacheReported: typeof timed.cache_n === 'number',
    }
  }
  return {
    input: data.prompt_tokens,
    cacheRead: data.prompt_tokens_details?.cached_tokens ?? cached,
    cacheWrite: data.prompt_tokens_details?.cache_write_tokens ?? 0,
    output: data.completion_tokens,
    reasoning: data.completion_tokens_details?.reasoning_tokens ?? 0,
    cacheReported: typeof (data.prompt_tokens_details?.cached_tokens ?? timed?.cache_n) === 'number',
  }
}

/**
 * A report in disjoint buckets. One that is absent or cannot be true (more cached than sent, no prompt where there was one,
 * more than the bytes sent) gives way to our own estimate.
 */
export function meter(report: UsageReport | null, evidence: Evidence): MeteredUsage {
  if (report === null) return estimate(evidence)
  const { input, cacheRead, cacheWrite, output, reasoning } = report
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
    cacheReported: report.cacheReported,
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
