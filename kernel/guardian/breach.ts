import type { BreachLimits } from '../wire/operator-review.ts'
import { median } from '../wire/statistics.ts'

/** What limits are judged by, of one step. `gained`: measured progress; null: nothing measures it, or its start is not known. */
export interface StepFigures {
  modelCalls: number
  failedCalls: number
  toolCalls: number
  toolErrors: number
  inputTokens: number
  cacheRead: number
  /** null: a call of unknown price is in it. */
  costNanoUsd: number | null
  gained: number | null
  /** The first one of a revision, or of a task: its prompt prefix is new, whatever the policy says. */
  isFirst: boolean
}

export interface Breach {
  limit: 'error-rate' | 'cost-per-step' | 'cached-share' | 'progress-per-dollar'
  measured: number
  bound: number
  /** Steps that it was measured over, and those of the revision before. */
  steps: number
  against: number
}

/** Fewer on either side decide nothing. */
export const minSteps = 5
const nanoPerUsd = 1e9

/**
 * The first limit that `after` has gone beyond, measured against `before`; null: none. A limit that is not set, or for
 * which fewer than five steps on either side have the figure, is not judged.
 *
 * Cost and cached share are medians over steps without the first one. The error rate counts all calls of model and tools;
 * a revision is never held to fewer failures than the one before had. Progress per dollar is a ratio of sums, since most
 * steps gain nothing, and is judged only where the revision before has gained something.
 */
export function breachOf(
  before: readonly StepFigures[],
  after: readonly StepFigures[],
  limits: BreachLimits,
): Breach | null {
  const judge = (
    limit: Breach['limit'],
    setting: number | null,
    figures: (steps: readonly StepFigures[]) => { value: number; n: number } | null,
    boundOf: (setting: number, before: number) => number,
    isBeyond: (measured: number, bound: number) => boolean,
  ): Breach | null => {
    const [then, now] = [figures(before), figures(after)]
    if (setting === null || then === null || now === null || Math.min(then.n, now.n) < minSteps) return null
    const bound = boundOf(setting, then.value)
    if (!isBeyond(now.value, bound)) return null
    return { limit, measured: now.value, bound, steps: now.n, against: then.n }
  }
  const above = (measured: number, bound: number) => measured > bound
  const below = (measured: number, bound: number) => measured < bound
  return (
    judge('error-rate', limits.errorRate, errorRate, (most, then) => Math.max(most, then), above) ??
    judge('cost-per-step', limits.costPerStep, costPerStep, (times, then) => times * then, above) ??
    judge('cached-share', limits.cachedShareDrop, cachedShare, (drop, then) => then - drop, below) ??
    judge('progress-per-dollar', limits.progressPerDollar, progressPerUsd, (part, then) => part * then, below)
  )
}

function errorRate(steps: readonly StepFigures[]) {
  const sum = (of: (step: StepFigures) => number) => steps.reduce((total, step) => total + of(step), 0)
  const calls = sum((step) => step.modelCalls + step.toolCalls)
  return calls === 0 ? null : { value: sum((step) => step.failedCalls + step.toolErrors) / calls, n: steps.length }
}

function costPerStep(steps: readonly StepFigures[]) {
  return middle(steps.flatMap(({ isFirst, costNanoUsd }) => (isFirst || costNanoUsd === null ? [] : [costNanoUsd])))
}

function cachedShare(steps: readonly StepFigures[]) {
  return middle(
    steps.flatMap((step) => (step.isFirst || step.inputTokens === 0 ? [] : [step.cacheRead / step.inputTokens])),
  )
}

function progressPerUsd(steps: readonly StepFigures[]) {
  const measured = steps.filter(({ gained, costNanoUsd }) => gained !== null && costNanoUsd !== null)
  const cost = measured.reduce((sum, { costNanoUsd }) => sum + (costNanoUsd ?? 0), 0)
  const gained = measured.reduce((sum, step) => sum + (step.gained ?? 0), 0)
  return cost === 0 ? null : { value: (gained * nanoPerUsd) / cost, n: measured.length }
}

function middle(values: readonly number[]) {
  const value = median(values)
  return value === null ? null : { value, n: values.length }
}

/** A breach in one plain sentence. */
export function sentenceOf({ limit, measured, bound, steps, against }: Breach): string {
  const percent = (share: number) => `${Math.round(share * 100)} %`
  const usd = (nano: number) => `$${(nano / nanoPerUsd).toPrecision(3)}`
  const said = {
    'error-rate': `${percent(measured)} of its calls failed, where ${percent(bound)} are allowed`,
    'cost-per-step': `a step costs ${usd(measured)} (median), where ${usd(bound)} is allowed`,
    'cached-share': `${percent(measured)} of its input is cached (median), where it should be at least ${percent(bound)}`,
    'progress-per-dollar': `a dollar gains ${measured.toPrecision(3)}, where it should be at least ${bound.toPrecision(3)}`,
  }[limit]
  return `${said}, over ${steps} steps against ${against} of the revision before`
}
