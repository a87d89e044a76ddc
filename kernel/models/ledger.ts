import type { TokenUsage } from '../wire/events.ts'
import type { GatewayAnswer, ModelPrice } from './models.ts'
import { addUsage, costOf, type MeteredUsage } from './usage.ts'

/** The sums of one call over its attempts. */
export interface Ledger {
  /** Adds an attempt; null: nothing was used, and it costs nothing. Returns its cost; null: not known. */
  charge(metered: MeteredUsage | null): number | null
  totals(): Pick<GatewayAnswer, 'usage' | 'usageSource' | 'costNanoUsd' | 'costReason'>
}

export function createLedger(price: ModelPrice | null, reason: string | null): Ledger {
  let usage: TokenUsage | null = null
  let usageSource: GatewayAnswer['usageSource'] = 'none'
  let costNanoUsd: number | null = 0
  let costReason: string | null = null
  return {
    charge(metered) {
      if (metered === null) return 0
      usage = usage === null ? metered.usage : addUsage(usage, metered.usage)
      // One estimated part makes the sum an estimate.
      usageSource = usageSource === 'estimated' ? 'estimated' : metered.source
      const cost = costOf(metered.usage, price, reason)
      costNanoUsd = costNanoUsd === null || cost.costNanoUsd === null ? null : costNanoUsd + cost.costNanoUsd
      costReason ??= cost.reason
      return cost.costNanoUsd
    },
    totals: () => ({ usage, usageSource, costNanoUsd, costReason }),
  }
}
