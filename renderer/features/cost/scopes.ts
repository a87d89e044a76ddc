import type { CostReport, CostScope, CostSums } from '../../../kernel/wire/operator-cost.ts'
import { cacheReadOf } from '../../../kernel/wire/operator-cost-tables.ts'
import { cachedShareOf } from '../../../kernel/wire/statistics.ts'
import { money } from '../../lib/format.ts'

/** As it stands in a sentence: every readout says what it is of. */
export function scopeName(scope: CostScope): string {
  if (scope.of === 'turn') return `turn ${scope.turn} of ${scope.task}`
  if (scope.of === 'task') return scope.task
  if (scope.of === 'agent') return `agent ${scope.agent}`
  return scope.of === 'today' ? 'today' : 'everything'
}

/** Of a file that is saved. */
export function fileName(report: CostReport, what: string): string {
  const { scope } = report
  const own = scope.of === 'turn' ? `${scope.task}-turn-${scope.turn}` : 'task' in scope ? scope.task : scope.of
  return `cost-${scope.of === 'agent' ? scope.agent : own}-${what}`
}

/** read / (uncached + read + write); null: nothing was sent, or no provider said what it read. */
export function hitRate(sums: Pick<CostSums, 'uncached' | 'cacheRead' | 'cacheWrite' | 'calls' | 'cacheUnreported'>) {
  return cacheReadOf(sums) === null ? null : cachedShareOf(sums)
}

/** How often what was sent in full had to be: all of it over what of it was new; estimated. null: nothing was sent. */
export function rewriteFactor(full: number, missed: number): number | null {
  return full === 0 || missed >= full ? null : full / (full - missed)
}

/** What is known, where not all of it is; never a zero for what is not. */
export function amount({ costNanoUsd, knownNanoUsd }: { costNanoUsd: number | null; knownNanoUsd: number }): string {
  if (costNanoUsd !== null) return money(costNanoUsd)
  return knownNanoUsd === 0 ? 'unknown' : `${money(knownNanoUsd)} + unknown`
}
