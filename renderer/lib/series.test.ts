import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ActivationPoint, StepPoint } from '../../kernel/wire/operator.ts'
import { columnsOf, costScaleTop, gainPoints, marksOf, spansOf, thin, unitLines, unitScaleTop } from './series.ts'

const step = (activation: number, costNanoUsd: number | null, progress: number | null, at = 0): StepPoint => ({
  turn: 1,
  step: 1,
  activation,
  at,
  modelCalls: 1,
  failedCalls: 0,
  toolCalls: 1,
  costNanoUsd,
  progress,
  cacheBreak: null,
  uncached: 10,
  cacheRead: 90,
  cacheWrite: 0,
  output: 5,
  reasoning: 0,
})
const activation = (n: number, costNanoUsd: number | null, progressDelta: number | null): ActivationPoint => ({
  activation: n,
  revision: 'a'.repeat(64),
  steps: 1,
  modelCalls: 1,
  failedCalls: 0,
  costNanoUsd,
  cachedShare: null,
  progressDelta,
  uncached: 0,
  cacheRead: 0,
  cacheWrite: 0,
  output: 0,
  reasoning: 0,
})

describe('columns', () => {
  it('add cost up and carry progress on', () => {
    const { x, cumulativeCost, progress } = columnsOf([step(1, 5, null), step(1, 7, 3), step(1, 0, null)])
    expect(x).toEqual([1, 2, 3])
    expect(cumulativeCost).toEqual([5, 12, 12])
    expect(progress).toEqual([null, 3, 3])
  })
  it('end the cost line at the first unknown price instead of counting it as zero', () => {
    const { cumulativeCost, unpriced } = columnsOf([step(1, 5, 0), step(1, null, 0), step(1, 9, 0)])
    expect(cumulativeCost).toEqual([5, null, null])
    expect(unpriced).toBe(1)
  })
})

describe('gain points', () => {
  it('put the cost of all steps since the last gain on the next one', () => {
    const points = gainPoints([step(1, 10, 0), step(1, 20, 2), step(1, 5, 2), step(2, 7, 5)])
    expect(points).toEqual([
      { x: 2, perUnit: 15, activation: 1 },
      { x: 4, perUnit: 4, activation: 2 },
    ])
  })
  it('leave a gain out whose cost is not known', () => {
    expect(gainPoints([step(1, null, 1), step(1, 6, 3)])).toEqual([{ x: 2, perUnit: 3, activation: 1 }])
  })
  it('count every step at most once, so they never add up to more than was spent', () => {
    const steps = fc.array(fc.record({ cost: fc.nat(1000), gain: fc.nat(3) }), { maxLength: 60 })
    fc.assert(
      fc.property(steps, (list) => {
        let progress = 0
        const points = list.map(({ cost, gain }) => {
          progress += gain
          return step(1, cost, progress)
        })
        let before = 0
        const counted = gainPoints(points).reduce((total, point) => {
          const value = points[point.x - 1]?.progress ?? 0
          const part = point.perUnit * (value - before)
          before = value
          return total + part
        }, 0)
        expect(counted).toBeLessThanOrEqual(list.reduce((total, { cost }) => total + cost, 0) + 1e-6)
      }),
    )
  })
})

describe('activations on the step axis', () => {
  const steps = [step(1, 1, 0, 100), step(1, 1, 1, 200), step(2, 1, 2, 300), step(2, 1, 4, 400)]
  it('span the steps they ran', () => {
    expect(spansOf(steps)).toEqual([
      { activation: 1, from: 1, to: 2 },
      { activation: 2, from: 3, to: 4 },
    ])
  })
  it('have a level only where cost and gain are known', () => {
    expect(unitLines(steps, [activation(1, 10, 1), activation(2, null, 3)])).toEqual([
      { activation: 1, from: 1, to: 2, perUnit: 10 },
    ])
  })
  it('are marked where they start, and proposals where they were made', () => {
    const marks = marksOf(
      steps,
      [
        { proposal: 'P-1', madeAt: 150, state: 'ready', task: 'T-1' },
        { proposal: 'P-9', madeAt: 150, state: 'ready', task: 'T-2' },
      ],
      'T-1',
    )
    expect(marks.map(({ x, label }) => [x, label])).toEqual([
      [1, '◆r1'],
      [2, '⚑P-1'],
      [2.5, '◆r2'],
    ])
  })
  it('share a scale that one short bad activation does not flatten', () => {
    const line = (from: number, to: number, perUnit: number) => ({ activation: 1, from, to, perUnit })
    expect(unitScaleTop([line(1, 50, 100), line(51, 90, 60), line(91, 95, 9000)])).toBeCloseTo(360)
    expect(unitScaleTop([line(1, 50, 100), line(51, 90, 60)])).toBeCloseTo(120)
    expect(unitScaleTop([])).toBe(10_000_000)
  })
})

describe('thinning', () => {
  it('keeps the largest of each group', () => {
    expect(thin([1, 9, 2, 3, 8, 1, 4], (n) => n, 3)).toEqual({ rows: [9, 8, 4], size: 3 })
  })
  it('keeps everything that fits', () => expect(thin([3, 1, 2], (n) => n, 3)).toEqual({ rows: [3, 1, 2], size: 1 }))
})

it('the cap shares the scale of the cost from a third of it on, and a spend beyond it is not cut', () => {
  expect(costScaleTop(300, 1000)).toBeNull()
  expect(costScaleTop(0, 1000)).toBeNull()
  expect(costScaleTop(500, null)).toBeNull()
  expect(costScaleTop(400, 1000)).toBeCloseTo(1080)
  expect(costScaleTop(2000, 1000)).toBeCloseTo(2160)
})
