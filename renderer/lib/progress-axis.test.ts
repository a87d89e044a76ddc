import { expect, it } from 'vitest'
import type { StepPoint } from '../../kernel/wire/operator.ts'
import { progressBy } from './progress-axis.ts'
import type { Mark } from './series.ts'

const step = (turn: number, at: number, costNanoUsd: number | null, progress: number) =>
  ({ turn, at, costNanoUsd, progress }) as StepPoint
const steps = [step(1, 0, 5, 0), step(1, 30_000, 5, 2), step(2, 90_000, 0, 3), step(2, 120_000, 10, 7)]
const marks: Mark[] = [{ x: 2.5, kind: 'activation', label: '◆r2', title: 'r2 runs from step 3' }]
const of = (axis: 'step' | 'turn' | 'time' | 'cost') => {
  const { x, progress, marks: placed, range } = progressBy(steps, marks, axis)
  return { x, progress, marks: placed.map((mark) => mark.x), range }
}

it('progress stands against steps, turns, time and cost, each with its marks where they happened', () => {
  expect(of('step')).toEqual({ x: [1, 2, 3, 4], progress: [0, 2, 3, 7], marks: [2.5], range: null })
  expect(of('turn')).toEqual({ x: [1, 2], progress: [2, 7], marks: [2], range: [1, 2] })
  expect(of('time')).toEqual({ x: [0, 0.5, 1.5, 2], progress: [0, 2, 3, 7], marks: [1.5], range: [0, 2] })
  expect(of('cost')).toEqual({ x: [5, 10, 20], progress: [0, 3, 7], marks: [10], range: [0, 20] })
})

it('where a price is not known the cost ends there, and no mark is drawn beyond it', () => {
  const unpriced = steps.map((each, index) => (index === 2 ? { ...each, costNanoUsd: null } : each))
  expect(progressBy(unpriced, marks, 'cost')).toMatchObject({ x: [5, 10], progress: [0, 2], marks: [] })
})
