import { describe, expect, it } from 'vitest'
import { scrollFor, windowOf } from './fixed-rows.ts'

describe('rows of one height', () => {
  it('show where the scroll bar is, to the pixel', () => {
    expect(windowOf(0, 280, 1_000, 28)).toEqual({ height: 28_000, first: 0, count: 11, offset: 0 })
    expect(windowOf(100, 280, 1_000, 28)).toEqual({ height: 28_000, first: 3, count: 11, offset: 16 })
    expect(windowOf(28_000 - 280, 280, 1_000, 28)).toMatchObject({ first: 990, count: 10 })
    expect(windowOf(0, 280, 0, 28)).toEqual({ height: 0, first: 0, count: 0, offset: 0 })
  })

  it('can all be reached at ten million, the last one too', () => {
    const count = 10_000_000
    const { height } = windowOf(0, 600, count, 28)
    expect(height).toBeLessThan(30_000_000)
    const end = windowOf(height - 600, 600, count, 28)
    expect(end.first + end.count).toBe(count)
    for (const index of [0, 1, 4_999_999, 9_999_998, 9_999_999]) {
      const { first, count: shown } = windowOf(scrollFor(index, 0, 600, count, 28), 600, count, 28)
      expect(index >= first && index < first + shown).toBe(true)
    }
  })

  it('scroll no further than needed', () => {
    expect(scrollFor(5, 100, 280, 1_000, 28)).toBe(100)
    expect(scrollFor(2, 100, 280, 1_000, 28)).toBe(56)
    expect(scrollFor(20, 100, 280, 1_000, 28)).toBe(21 * 28 - 280)
  })
})
