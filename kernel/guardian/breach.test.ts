import { describe, expect, it } from 'vitest'
import type { BreachLimits } from '../wire/operator-review.ts'
import { median } from '../wire/statistics.ts'
import { type Breach, breachOf, type StepFigures, sentenceOf } from './breach.ts'

const step = (more: Partial<StepFigures> = {}): StepFigures => ({
  ...{ modelCalls: 1, failedCalls: 0, toolCalls: 1, toolErrors: 0, inputTokens: 1000, cacheRead: 800 },
  ...{ costNanoUsd: 1_000_000, gained: 1, isFirst: false },
  ...more,
})
const steps = (n: number, more: Partial<StepFigures> = {}) => Array.from({ length: n }, () => step(more))
const limits: BreachLimits = { steps: 10, errorRate: 0.5, costPerStep: 3, cachedShareDrop: 0.5, progressPerDollar: 0.5 }

const cases: [what: string, before: StepFigures[], after: StepFigures[], breach: Partial<Breach> | null][] = [
  ['the same figures', steps(8), steps(5), null],
  ['three times the cost, exactly', steps(8), steps(5, { costNanoUsd: 3_000_000, gained: 3 }), null],
  [
    'more than three times the cost',
    steps(8),
    steps(5, { costNanoUsd: 3_000_001 }),
    { limit: 'cost-per-step', measured: 3_000_001, bound: 3_000_000, steps: 5, against: 8 },
  ],
  ['the same on four steps', steps(8), steps(4, { costNanoUsd: 9_000_000, gained: 9 }), null],
  ['the same against four steps', steps(4), steps(8, { costNanoUsd: 9_000_000, gained: 9 }), null],
  [
    'the first step under it, dear and uncached, beside four: it does not count for cost and cache',
    steps(8),
    [step({ isFirst: true, costNanoUsd: 9_000_000, cacheRead: 0 }), ...steps(4, { costNanoUsd: 9_000_000, gained: 9 })],
    null,
  ],
  ['one dear step of nine', steps(8), [...steps(8), step({ costNanoUsd: 90_000_000, gained: 99 })], null],
  ['steps of unknown price', steps(8, { costNanoUsd: null }), steps(8, { costNanoUsd: 9e9 }), null],
  [
    'half of the calls failed and one more',
    steps(8),
    [...steps(5, { toolErrors: 1 }), step({ failedCalls: 1, toolErrors: 1 })],
    { limit: 'error-rate', measured: 7 / 12, bound: 0.5, steps: 6, against: 8 },
  ],
  [
    'no more failures than before',
    steps(8, { toolErrors: 1, failedCalls: 1 }),
    steps(8, { toolErrors: 1, failedCalls: 1 }),
    null,
  ],
  [
    'a cache that is gone',
    steps(8),
    steps(6, { cacheRead: 200 }),
    { limit: 'cached-share', measured: 0.2, bound: 0.8 - 0.5, steps: 6, against: 8 },
  ],
  ['a cache that is smaller', steps(8), steps(6, { cacheRead: 301 }), null],
  ['no input at all', steps(8, { inputTokens: 0 }), steps(8, { inputTokens: 0 }), null],
  [
    'less than half the progress for a dollar',
    steps(8, { gained: 2 }),
    steps(10, { gained: 0.9 }),
    { limit: 'progress-per-dollar', measured: 900, bound: 1000, steps: 10, against: 8 },
  ],
  ['no progress, where there was none before', steps(8, { gained: 0 }), steps(8, { gained: 0 }), null],
  ['progress that nothing measures', steps(8, { gained: null }), steps(8, { gained: null }), null],
]

describe('the limits of a revision', () => {
  it.each(cases)('judge %s', (_what, before, after, breach) => {
    const found = breachOf(before, after, limits)
    if (breach === null) expect(found).toBeNull()
    else expect(found).toEqual({ ...breach, measured: expect.closeTo(breach.measured ?? 0, 9) })
  })

  it('are not judged where they are not set', () => {
    const none = { steps: 10, errorRate: null, costPerStep: null, cachedShareDrop: null, progressPerDollar: null }
    const worst = { failedCalls: 1, toolErrors: 1, costNanoUsd: 9e9, cacheRead: 0, gained: 0 }
    expect(breachOf(steps(9), steps(9, worst), none)).toBeNull()
    expect(breachOf(steps(9), steps(9, worst), { ...none, costPerStep: 3 })).toMatchObject({ limit: 'cost-per-step' })
  })

  it('are told in a sentence with both figures and both numbers of steps', () => {
    const found = breachOf(steps(8), steps(5, { costNanoUsd: 4_500_000 }), limits) as Breach
    expect(sentenceOf(found)).toBe(
      'a step costs $0.00450 (median), where $0.00300 is allowed, over 5 steps against 8 of the revision before',
    )
  })

  it('take the mean of the two in the middle for the median of an even number', () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3]), median([7])]).toEqual([2, 2.5, 7])
  })
})
