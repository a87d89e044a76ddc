import type { Effect } from '../wire/operator-effects.ts'
import { mean, median, ratio } from '../wire/statistics.ts'
import type { Figures } from './figures.ts'

type BreakEven = NonNullable<Effect['breakEven']>

export interface Making {
  /** Of the steps that were work on the policy, until it was proposed; null: a call of unknown price is in them. */
  costNanoUsd: number | null
  steps: number
}

const mostPoints = 120

/**
 * Whether an edit has repaid the making of it.
 *
 * Spent: the steps that were work on the policy up to its proposal, and what its first step cost beyond the median of the
 * later ones where its prompt prefix parted from the one before. Saved: what the steps since would have cost at the rate of
 * the revision before, less what they did cost. The rate is per unit of measured progress where the revision before gained
 * any, else its mean per step: sums are held against sums. Steps of work on a policy that are charged to an edit count neither before nor since.
 *
 * @param before the last steps of the revision before. @param since all steps of this one, or the first of them, in order.
 * @param chargedUntil epoch ms up to which work on the policy is charged to an edit that became active.
 */
export function breakEvenOf(
  before: readonly Figures[],
  since: readonly Figures[],
  making: Making,
  chargedUntil: number,
): BreakEven {
  const isOwn = (step: Figures) => !(step.isPolicyWork && step.at <= chargedUntil)
  const base = before.filter((step) => isOwn(step) && !step.isFirst && step.costNanoUsd !== null)
  const later = since.filter(isOwn)
  const rate = rateOf(base, later)
  const rewarm = rewarmOf(since)
  const spent = making.costNanoUsd === null || rewarm === null ? null : making.costNanoUsd + rewarm
  const none = { savedNanoUsd: null, atStep: null, isRepaid: false, per: null, steps: since.length, line: [] }
  if (spent === null)
    return { ...none, spentNanoUsd: null, basis: 'A call of unknown price is in the making of it: not known.' }
  if (rate === null)
    return { ...none, spentNanoUsd: spent, basis: 'Too little is measured of the revision before, or of this one.' }

  let saved = 0
  let repaidAt: number | null = null
  const line = [{ step: 0, netNanoUsd: -spent }]
  for (const [index, step] of since.entries()) {
    if (isOwn(step)) {
      const cost = (step.costNanoUsd ?? 0) - (index === 0 ? (rewarm ?? 0) : 0)
      saved += rate.nanoUsd * (rate.per === 'unit' ? (step.gained ?? 0) : 1) - cost
    }
    if (repaidAt === null && saved >= spent) repaidAt = index + 1
    line.push({ step: index + 1, netNanoUsd: Math.round(saved - spent) })
  }
  const isRepaid = saved >= spent
  const perStep = since.length === 0 ? 0 : saved / since.length
  const ahead = perStep > 0 ? Math.ceil(spent / perStep) : null
  const costs = later.reduce((sum, { costNanoUsd }) => sum + (costNanoUsd ?? 0), 0) - (rewarm ?? 0)
  const gained = later.reduce((sum, step) => sum + (step.gained ?? 0), 0)
  const now = rate.per === 'unit' ? ratio(costs, Math.max(0, gained)) : ratio(costs, later.length)
  const unit = rate.per === 'unit' ? 'unit of measured progress' : 'step'
  const how = rate.per === 'unit' ? 'ratio of sums' : 'mean'
  return {
    spentNanoUsd: spent,
    savedNanoUsd: Math.round(saved),
    atStep: isRepaid ? repaidAt : ahead,
    isRepaid,
    per: rate.per,
    steps: since.length,
    line: thinned(line),
    basis:
      `A ${unit} cost ${usd(rate.nanoUsd)} before (${how}, n=${base.length} steps) and ${now === null ? 'has not been gained' : usd(now)} since ` +
      `(${how}, n=${later.length} steps). Making it took ${making.steps} steps of work on the policy, ${usd(making.costNanoUsd ?? 0)}, ` +
      `and its new prompt prefix ${usd(rewarm ?? 0)}.`,
  }
}

function rateOf(base: readonly Figures[], later: readonly Figures[]): { per: 'unit' | 'step'; nanoUsd: number } | null {
  if (base.length === 0 || later.length === 0 || later.some(({ costNanoUsd }) => costNanoUsd === null)) return null
  const gained = base.reduce((sum, step) => sum + (step.gained ?? 0), 0)
  const cost = base.reduce((sum, { costNanoUsd }) => sum + (costNanoUsd ?? 0), 0)
  const isMeasured = gained > 0 && later.some((step) => step.gained !== null)
  if (isMeasured) return { per: 'unit', nanoUsd: cost / gained }
  return { per: 'step', nanoUsd: mean(base.map(({ costNanoUsd }) => costNanoUsd ?? 0)) ?? 0 }
}

function rewarmOf([first, ...rest]: readonly Figures[]): number | null {
  if (first === undefined || !first.isBroken) return 0
  if (first.costNanoUsd === null) return null
  const costs = rest.flatMap(({ costNanoUsd }) => (costNanoUsd === null ? [] : [costNanoUsd]))
  const usual = median(costs)
  return usual === null ? 0 : Math.max(0, Math.round(first.costNanoUsd - usual))
}

/** First, last, and every so many between. */
function thinned<T>(points: readonly T[]): T[] {
  const every = Math.max(1, Math.ceil(points.length / mostPoints))
  return points.filter((_, index) => index % every === 0 || index === points.length - 1)
}

const usd = (nano: number) => `$${(nano / 1e9).toPrecision(3)}`
