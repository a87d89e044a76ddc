import { describe, expect, it } from 'vitest'
import { breakEvenWords } from './break-even.tsx'
import { changeOf } from './effects.tsx'

const some = { spentNanoUsd: 100, basis: '', per: 'step' as const, line: [] }

describe('what is said of an edit', () => {
  it('names the step that it was repaid at, or how many more it takes', () => {
    const words = (isRepaid: boolean, atStep: number | null, savedNanoUsd: number | null, steps = 20) =>
      breakEvenWords({ ...some, isRepaid, atStep, savedNanoUsd, steps })
    expect(words(true, 12, 150)).toBe('repaid at step 12')
    expect(words(false, 60, 30)).toBe('not repaid: at this rate in 40 steps')
    expect(words(false, null, -3)).toBe('not repaid, and never at this rate')
    expect(words(false, null, null)).toBe('not known')
  })

  it('gives a change in percent, with its sign, and none of nothing', () => {
    const figure = (value: number) => ({ value, low: value, high: value, n: 5 })
    expect(changeOf(figure(100), figure(79))).toBe('−21 %')
    expect(changeOf(figure(100), figure(120))).toBe('+20 %')
    expect(changeOf(figure(100), figure(100))).toBe('0 %')
    expect([changeOf(figure(0), figure(1)), changeOf(null, figure(1))]).toEqual(['—', '—'])
  })
})
