import { describe, expect, it } from 'vitest'
import { ago, amount, costPerUnit, duration, money, share, signed, today, tokens } from './format.ts'

describe('today', () => {
  const day = (limitNanoUsd: number | null, spentNanoUsd: number) => ({ limitNanoUsd, spentNanoUsd })
  it.each([
    [110_000_000, undefined, '$0.11 today'],
    [110_000_000, day(null, 90_000_000), '$0.11 today'],
    [110_000_000, day(500_000_000, 110_000_000), '$0.11 of $0.50 today'],
    [0, day(0, 0), '$0.00 of $0.00 today'],
    [null, undefined, '— today + calls without a price'],
    [null, day(null, 280_000_000), '$0.28 today + calls without a price'],
    [null, day(500_000_000, 280_000_000), '$0.28 of $0.50 today + calls without a price'],
  ])('of %j with the day %j is %s', (total, budget, text) => expect(today(total, budget)).toBe(text))
})

describe('money', () => {
  it.each([
    [0, '$0.00'],
    [1_840_000_000, '$1.84'],
    [10_000_000, '$0.01'],
    [6_900_000, '$0.0069'],
    [137_000, '$0.00014'],
    [72_400, '$0.000072'],
    [5, '$0.000000005'],
    [-20_000_000, '−$0.02'],
  ])('prints %d nano-dollars as %s', (nano, text) => expect(money(nano)).toBe(text))

  it('prints an unknown price as a dash, never as zero', () => {
    expect(money(null)).toBe('—')
    expect(money(undefined)).toBe('—')
  })
})

describe('cost per unit', () => {
  it('is the cost over what was gained', () => expect(costPerUnit(1000, 4)).toBe(250))
  it('is unknown where the cost or the gain is unknown, or where nothing was gained', () => {
    expect(costPerUnit(null, 4)).toBeNull()
    expect(costPerUnit(1000, null)).toBeNull()
    expect(costPerUnit(1000, 0)).toBeNull()
    expect(costPerUnit(1000, -3)).toBeNull()
  })
})

describe('other figures', () => {
  it('shortens tokens', () =>
    expect([873, 12_345, 999_999, 1_200_000].map(tokens)).toEqual(['873', '12.3k', '1.0M', '1.2M']))
  it('tells no share from a share of zero', () =>
    expect([share(null), share(0), share(0.874)]).toEqual(['—', '0 %', '87 %']))
  it('keeps signs', () => expect([signed(5), signed(-5), signed(0), signed(null)]).toEqual(['+5', '−5', '0', '—']))
  it('groups thousands and keeps two decimals of a fraction', () =>
    expect([amount(1500), amount(0.333)]).toEqual(['1 500', '0.33']))
  it('prints durations in the unit a reader thinks in', () =>
    expect([41, 999.6, 1200, 9960, 42_000, 250_000, 4_320_000].map(duration)).toEqual([
      '41 ms',
      '1.0 s',
      '1.2 s',
      '10 s',
      '42 s',
      '4 m 10 s',
      '1 h 12 m',
    ]))
  it('never speaks of the future when clocks disagree', () => expect(ago(2000, 1000)).toBe('now'))
})
