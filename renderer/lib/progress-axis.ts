import type { StepPoint } from '../../kernel/wire/operator.ts'
import { money } from './format.ts'
import { columnsOf, type Mark } from './series.ts'

export const progressAxes = ['step', 'turn', 'time', 'cost'] as const
export type ProgressAxis = (typeof progressAxes)[number]

const formats = {
  turn: (turn: number) => (Number.isInteger(turn) ? String(turn) : ''),
  time: (minutes: number) => `${Number(minutes.toFixed(2))} min`,
  cost: money,
} as const

export interface ProgressColumns {
  x: number[]
  progress: (number | null)[]
  marks: Mark[]
  range: [from: number, to: number] | null
  format: (x: number) => string
}

/**
 * Progress against what it took: steps, turns (as each ended), time since the first step (pauses too) or cost so far. Where
 * a price is not known the cost ends there.
 */
export function progressBy(steps: readonly StepPoint[], marks: readonly Mark[], axis: ProgressAxis): ProgressColumns {
  const { x, progress, cumulativeCost } = columnsOf(steps)
  if (axis === 'step') return { x, progress, marks: [...marks], range: null, format: String }
  const start = steps[0]?.at ?? 0
  const placed = steps.map((step, index) => {
    if (axis === 'turn') return step.turn
    return axis === 'time' ? (step.at - start) / 60_000 : (cumulativeCost[index] ?? null)
  })
  // Of equal places the last: uPlot draws one value for each.
  const kept = placed.flatMap((place, index) => (place === null || place === placed[index + 1] ? [] : [index]))
  const xs = kept.map((index) => placed[index] ?? 0)
  const first = axis === 'turn' ? (xs[0] ?? 0) : 0
  return {
    x: xs,
    progress: kept.map((index) => progress[index] ?? null),
    marks: marks.flatMap((mark) => {
      const place = placed[Math.ceil(mark.x) - 1] ?? null
      return place === null ? [] : [{ ...mark, x: place }]
    }),
    range: [first, Math.max(xs.at(-1) ?? 0, first + 1)],
    format: formats[axis],
  }
}
