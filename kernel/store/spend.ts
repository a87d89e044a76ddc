import type { EventData, TokenUsage } from '../wire/events.ts'

export interface Spend extends TokenUsage {
  calls: number
  failed: number
  costNanoUsd: number
  /** Calls whose cost is not known: one of them makes the sum unknown. */
  unpriced: number
}

/** What one call adds to every sum. A call's own figures are those of all its attempts. */
export function spendOf(call: EventData<'model.called'>): Spend {
  const usage = call.usage ?? { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }
  const isCut = call.status === 'incomplete' && call.error !== null && call.output.length === 0
  return {
    ...usage,
    calls: 1,
    failed: call.status === 'failed' || call.status === 'aborted' || isCut ? 1 : 0,
    costNanoUsd: call.costNanoUsd ?? 0,
    unpriced: call.costNanoUsd === null ? 1 : 0,
  }
}

/** Columns of every table that sums up spend, and what each adds to them. */
export const spendNames = [
  'uncached',
  'cache_read',
  'cache_write',
  'output',
  'reasoning',
  'calls',
  'failed',
  'cost_nano_usd',
  'unpriced',
]
export const spendValues = (spend: Spend) => [
  spend.uncached,
  spend.cacheRead,
  spend.cacheWrite,
  spend.output,
  spend.reasoning,
  spend.calls,
  spend.failed,
  spend.costNanoUsd,
  spend.unpriced,
]

/** Selects the sums over some rows as `Spend` has them. */
export const spendSums = `
  coalesce(sum(uncached), 0) AS uncached, coalesce(sum(cache_read), 0) AS cacheRead,
  coalesce(sum(cache_write), 0) AS cacheWrite, coalesce(sum(output), 0) AS output,
  coalesce(sum(reasoning), 0) AS reasoning, coalesce(sum(calls), 0) AS calls, coalesce(sum(failed), 0) AS failed,
  CASE WHEN coalesce(sum(unpriced), 0) = 0 THEN coalesce(sum(cost_nano_usd), 0) END AS costNanoUsd`

/** Selects what budgets count over some rows: the cost that is known, and all tokens. */
export const plainSums = `
  coalesce(sum(cost_nano_usd), 0) AS nanoUsd,
  coalesce(sum(uncached + cache_read + cache_write + output), 0) AS tokens`

/** Selects one row's sums. */
export const spendColumns = `
  uncached, cache_read AS cacheRead, cache_write AS cacheWrite, output, reasoning, calls, failed,
  CASE WHEN unpriced = 0 THEN cost_nano_usd END AS costNanoUsd`
