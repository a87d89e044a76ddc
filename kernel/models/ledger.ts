import type { TokenUsage } from '../wire/events.ts'
import type { BucketPrices, GatewayAnswer, ModelPrice } from './models.ts'
import { addUsage, costOf, type MeteredUsage, pricesAt } from './usage.ts'

/** The sums of one call over its attempts. */
export interface Ledger {
  /**
   * Adds an attempt; null: nothing was used, and it costs nothing. Returns its cost; null: not known.
   * @param saidNanoUsd what the provider says that it charges: it counts where the price table knows no price.
   */
  charge(metered: MeteredUsage | null, saidNanoUsd: number | null): number | null
  totals(): Pick<
    GatewayAnswer,
    'usage' | 'usageSource' | 'costNanoUsd' | 'costReason' | 'priceVersion' | 'prices' | 'cacheReported'
  >
}

/** Named as the price table of a call whose cost is what its provider says. */
const saidVersion = 'as charged by the provider'

export function createLedger(price: ModelPrice | null, reason: string | null, version: string): Ledger {
  let usage: TokenUsage | null = null
  let usageSource: GatewayAnswer['usageSource'] = 'none'
  let costNanoUsd: number | null = 0
  let costReason: string | null = null
  let priceVersion = price === null ? null : version
  let prices: GatewayAnswer['prices']
  let cacheReported: boolean | undefined
  return {
    charge(metered, saidNanoUsd) {
      if (metered === null) return 0
      usage = usage === null ? metered.usage : addUsage(usage, metered.usage)
      // One estimated part makes the sum an estimate.
      usageSource = usageSource === 'estimated' ? 'estimated' : metered.source
      if (price !== null) prices = bucketsOf(price, metered.usage)
      // One attempt that says nothing of the cache leaves the sum unsaid.
      if (metered.cacheReported !== undefined) cacheReported = metered.cacheReported && cacheReported !== false
      const isSaid = price === null && saidNanoUsd !== null && metered.source === 'reported'
      if (isSaid) priceVersion = saidVersion
      const cost = isSaid ? { costNanoUsd: saidNanoUsd, reason: null } : costOf(metered.usage, price, reason)
      costNanoUsd = costNanoUsd === null || cost.costNanoUsd === null ? null : costNanoUsd + cost.costNanoUsd
      costReason ??= cost.reason
      return cost.costNanoUsd
    },
    totals: () => ({
      usage,
      usageSource,
      costNanoUsd,
      costReason,
      priceVersion: costNanoUsd === null ? null : priceVersion,
      ...(prices === undefined ? {} : { prices }),
      ...(cacheReported === undefined ? {} : { cacheReported }),
    }),
  }
}

function bucketsOf(price: ModelPrice, used: TokenUsage): BucketPrices {
  const { uncached, cacheRead, cacheWrite, output } = pricesAt(price, used.uncached + used.cacheRead + used.cacheWrite)
  return { uncached, cacheRead, cacheWrite, output }
}
