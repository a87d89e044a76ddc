import { describe, expect, it } from 'vitest'
import type { CostPoint, CostReport } from '../../../kernel/wire/operator-cost.ts'
import { cursorAfter } from '../../lib/chart-cursor.ts'
import { columnsOf, labelOf, marksOf } from './points.ts'
import { amount, hitRate, rewriteFactor } from './scopes.ts'

const point = (more: Partial<CostPoint>): CostPoint => ({
  ...{
    from: 1,
    calls: 1,
    uncached: 0,
    cacheRead: 0,
    cacheWrite: 0,
    output: 0,
    reasoning: 0,
    knownNanoUsd: 0,
    unpriced: 0,
  },
  ...{ breaks: 0, instructions: 0, tools: 0, memory: 0, messages: 0, toolResults: 0 },
  ...{ turn: null, step: null, activation: null, seq: null, ...more },
})
const steps = (...points: Partial<CostPoint>[]): CostReport['series'] => ({
  ...{ unit: 'step', size: 2, points: points.map((more, index) => point({ from: index * 2 + 1, ...more })) },
})

describe('the points of costs', () => {
  it('add up, and stop where a price is not known: what comes after it is no sum', () => {
    const series = steps({ knownNanoUsd: 5 }, { knownNanoUsd: 2 }, { unpriced: 1 }, { knownNanoUsd: 9 })
    expect(columnsOf(series)).toEqual({ x: [1, 2, 3, 4], cumulative: [5, 7, null, null] })
    expect(labelOf(series, 3)).toBe('5')
  })

  it('leave the room of a time in which nothing was called', () => {
    const at = 1_800_000_000_000
    const series = {
      unit: 'time' as const,
      size: 900_000,
      points: [0, 1, 5].map((n) => point({ from: at + n * 900_000 })),
    }
    expect(columnsOf(series).x).toEqual([1, 2, 6])
    expect(labelOf(series, 1)).not.toBe(labelOf(series, 6))
  })

  it('mark a revision where it begins, and each point with cache breaks', () => {
    const series = steps(
      { activation: 1 },
      { activation: 1, breaks: 1 },
      { activation: 2, breaks: 3 },
      { activation: null },
    )
    expect(marksOf(series, columnsOf(series).x).map(({ x, label }) => [x, label])).toEqual([
      [1, '◆r1'],
      [2, '✕'],
      [3, '◆r2'],
      [3, '✕3'],
    ])
  })

  it('are read by keys, from either end', () => {
    const read = (key: string, index: number | null) => cursorAfter(key, index, 4)
    expect([read('ArrowRight', null), read('ArrowRight', 3), read('ArrowLeft', null), read('ArrowLeft', 0)]).toEqual([
      0, 3, 3, 0,
    ])
    expect([read('Home', 2), read('End', 2), read('x', 2), cursorAfter('End', null, 0)]).toEqual([0, 3, null, null])
  })
})

describe('figures of costs', () => {
  it('are never a zero where they are not known', () => {
    expect(amount({ costNanoUsd: 0, knownNanoUsd: 0 })).toBe('$0.00')
    expect(amount({ costNanoUsd: null, knownNanoUsd: 0 })).toBe('unknown')
    expect(amount({ costNanoUsd: null, knownNanoUsd: 1_500_000_000 })).toBe('$1.50 + unknown')
    const sums = { uncached: 1000, cacheRead: 0, cacheWrite: 0, calls: 2 }
    expect(hitRate({ ...sums, cacheUnreported: 2 })).toBeNull()
    expect(hitRate({ ...sums, cacheUnreported: 1 })).toBe(0)
    expect(hitRate({ ...sums, uncached: 0, cacheUnreported: 0 })).toBeNull()
  })

  it('weigh by tokens, and tell how often the same was sent in full', () => {
    // 900 of 1,000 and 0 of 100: 900 / 1,100, not the mean of both rates.
    expect(hitRate({ uncached: 200, cacheRead: 900, cacheWrite: 0, calls: 2, cacheUnreported: 0 })).toBeCloseTo(
      0.8182,
      4,
    )
    expect(rewriteFactor(1400, 400)).toBe(1.4)
    expect(rewriteFactor(1400, 0)).toBe(1)
    expect(rewriteFactor(0, 0)).toBeNull()
  })
})
