import { describe, expect, it } from 'vitest'
import { breakEvenOf } from './break-even.ts'
import type { Figures } from './figures.ts'
import { medianInterval, ratioInterval } from './intervals.ts'

let at = 0
const step = (costNanoUsd: number | null, gained: number | null, more: Partial<Figures> = {}): Figures => {
  at += 1
  const calls = { modelCalls: 1, failedCalls: 0, toolCalls: 1, toolErrors: 0, inputTokens: 100, cacheRead: 0 }
  return { ...calls, costNanoUsd, gained, at, isFirst: false, isPolicyWork: false, isBroken: false, ...more }
}
const steps = (n: number, costNanoUsd: number, gained: number | null = null) =>
  Array.from({ length: n }, () => step(costNanoUsd, gained))
const making = { costNanoUsd: 1000, steps: 4 }

describe('whether an edit has repaid the making of it', () => {
  it('counts by the mean of a step where nothing measures progress: exactly, with the prefix that was sent anew', () => {
    const since = [step(500, null, { isFirst: true, isBroken: true }), ...steps(9, 100)]
    const found = breakEvenOf([step(9999, null, { isFirst: true }), ...steps(5, 300)], since, making, 0)
    // Spent: 1000 to make it, 500 − 100 for the prefix. Saved: ten steps at 300 less ten at 100.
    expect(found).toMatchObject({
      spentNanoUsd: 1400,
      savedNanoUsd: 2000,
      isRepaid: true,
      atStep: 7,
      per: 'step',
      steps: 10,
    })
    expect(found.line.map(({ netNanoUsd }) => netNanoUsd)).toEqual([
      ...[-1400, -1200, -1000, -800, -600, -400, -200, 0, 200, 400, 600],
    ])
    expect(found.basis).toBe(
      'A step cost $3.00e-7 before (mean, n=5 steps) and $1.00e-7 since (mean, n=10 steps). Making it took 4 steps of work on the policy, $0.00000100, and its new prompt prefix $4.00e-7.',
    )
  })

  it('holds sums against sums: a few dear steps before are not taken for a rate of every step', () => {
    const before = [...steps(4, 100), step(600, null)]
    expect(breakEvenOf(before, [...steps(4, 100), step(600, null)], making, 0)).toMatchObject({ savedNanoUsd: 0 })
  })

  it('says when it will be at the present rate, and that it never will where it costs more', () => {
    expect(breakEvenOf(steps(5, 300), steps(3, 100), making, 0)).toMatchObject({
      ...{ spentNanoUsd: 1000, savedNanoUsd: 600, isRepaid: false, atStep: 5 },
    })
    expect(breakEvenOf(steps(5, 100), steps(3, 300), making, 0)).toMatchObject({
      ...{ savedNanoUsd: -600, isRepaid: false, atStep: null },
    })
  })

  it('counts by the unit of measured progress where the revision before gained any: dearer steps may save', () => {
    // 50 a unit before; now 400 buy 20.
    const found = breakEvenOf(steps(10, 100, 2), steps(4, 400, 20), making, 0)
    expect(found).toMatchObject({ per: 'unit', savedNanoUsd: 4 * (20 * 50 - 400), isRepaid: true, atStep: 2 })
  })

  it('leaves out work on a policy that is charged to an edit, on both sides, and nothing that is not', () => {
    const before = [...steps(5, 300), step(90_000, 0, { isPolicyWork: true, at: 10 })]
    const since = [...steps(5, 100), step(80_000, null, { isPolicyWork: true, at: 20 })]
    expect(breakEvenOf(before, since, making, 30)).toMatchObject({ savedNanoUsd: 1000, steps: 6 })
    // Not proposed yet: it is a cost of this revision's own.
    expect(breakEvenOf(before, since, making, 15)).toMatchObject({ savedNanoUsd: 1000 + 300 - 80_000 })
  })

  it('is not known where a price is not', () => {
    const unknown = { costNanoUsd: null, steps: 4 }
    expect(breakEvenOf(steps(5, 300), steps(5, 100), unknown, 0)).toMatchObject({ spentNanoUsd: null, isRepaid: false })
    expect(breakEvenOf(steps(5, 300), [...steps(5, 100), step(null, null)], making, 0)).toMatchObject({
      ...{ savedNanoUsd: null, atStep: null, isRepaid: false, line: [] },
    })
    expect(breakEvenOf([], steps(5, 100), making, 0)).toMatchObject({ spentNanoUsd: 1000, savedNanoUsd: null })
  })
})

describe('an interval', () => {
  it('of a median is that of the sign test: ranks 2 and 9 of ten, 40 and 61 of a hundred, all of five', () => {
    const upTo = (n: number) => medianInterval(Array.from({ length: n }, (_, index) => index + 1))
    expect(upTo(10)).toEqual({ value: 5.5, low: 2, high: 9, n: 10 })
    expect(upTo(100)).toEqual({ value: 50.5, low: 40, high: 61, n: 100 })
    expect(upTo(5)).toEqual({ value: 3, low: 1, high: 5, n: 5 })
    expect(upTo(6)).toEqual({ value: 3.5, low: 1, high: 6, n: 6 })
    expect(upTo(2000)).toMatchObject({ value: 1000.5, low: 956, high: 1045 })
    expect(medianInterval([])).toBeNull()
  })

  it('of a ratio is the same for the same pairs, holds it, and is a point where nothing varies', () => {
    const pairs = Array.from({ length: 40 }, (_, index) => ({ gained: index % 4 === 0 ? 8 : 0, cost: 1 }))
    const found = ratioInterval(pairs)
    expect(found).toEqual(ratioInterval(pairs))
    expect(found).toMatchObject({ value: 2, n: 40 })
    expect(found?.low).toBeGreaterThan(0.5)
    expect(found?.low).toBeLessThan(2)
    expect(found?.high).toBeGreaterThan(2)
    expect(found?.high).toBeLessThan(3.8)
    expect(ratioInterval(pairs.map(() => ({ gained: 3, cost: 2 })))).toEqual({ value: 1.5, low: 1.5, high: 1.5, n: 40 })
    expect(ratioInterval([])).toBeNull()
  })
})
