import type { CostReport } from '../../../kernel/wire/operator-cost.ts'
import type { Mark } from '../../lib/series.ts'

type Series = CostReport['series']

export interface Columns {
  /** 1, 2, …: which point, with room for times in which nothing was called. */
  x: number[]
  /** Nano-dollars by the end of the point; null from the first call without a price on. */
  cumulative: (number | null)[]
}

/** Of time, a point that is missing leaves its place empty. */
export function columnsOf({ unit, size, points }: Series): Columns {
  const first = points[0]?.from ?? 0
  let sum: number | null = 0
  const cumulative = points.map(({ knownNanoUsd, unpriced }) => {
    sum = sum === null || unpriced > 0 ? null : sum + knownNanoUsd
    return sum
  })
  return {
    x: points.map((point, index) => (unit === 'time' ? Math.round((point.from - first) / size) + 1 : index + 1)),
    cumulative,
  }
}

/** What stands under an x: steps, or the local time where the point begins. */
export function labelOf({ unit, size, points }: Series, x: number): string {
  const first = points[0]?.from
  if (first === undefined) return ''
  if (unit === 'step') return String(first + (x - 1) * size)
  const at = new Date(first + (x - 1) * size)
  return size >= 86_400_000 || (at.getHours() === 0 && at.getMinutes() === 0)
    ? at.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })
    : at.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hour12: false })
}

/** Revisions where they begin, and cache breaks: one mark for each point that has any. */
export function marksOf(series: Series, x: readonly number[]): Mark[] {
  const marks: Mark[] = []
  let before: number | null = null
  series.points.forEach(({ activation, breaks }, index) => {
    const at = x[index] ?? 0
    if (activation !== null && activation !== before) {
      marks.push({
        x: at,
        kind: 'activation',
        label: `◆r${activation}`,
        title: `r${activation} from ${labelOf(series, at)}`,
      })
      before = activation
    }
    if (breaks > 0) {
      const count = breaks === 1 ? '' : String(breaks)
      marks.push({
        x: at,
        kind: 'proposal',
        label: `✕${count}`,
        title: `${breaks} cache breaks at ${labelOf(series, at)}`,
      })
    }
  })
  return marks
}
