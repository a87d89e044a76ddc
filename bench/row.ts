/** One line of the table: what was measured, beside what it could have been at best in the same run. */
export interface Row {
  figure: string
  /** With its unit: `0.57 ms`, `41,200 events/s`. */
  measured: string
  /** The same measured of the ceiling or the peer, and what that is; '—' where there is none. */
  ceiling: string
  /** How much of the ceiling was reached: 1 is as good as it. */
  ratio: number | null
  /** In words: `≥ 0.7`. */
  goal: string
  /** null: told, and held to nothing. */
  ok: boolean | null
}

export interface BenchOptions {
  /** Events, in histories that are filled before they are measured. */
  sizes: readonly number[]
  /** A folder for the taking; removed afterwards. */
  folder: string
}

/** What a file of this folder exports as `bench`: its rows, each as soon as it is measured. */
export type Bench = (options: BenchOptions) => AsyncIterable<Row>

interface Figure {
  value: number
  unit: string
}

/** A rate, of which more is better, against a ceiling in the same unit. */
export function rate(figure: string, measured: Figure, ceiling: { what: string; value: number }, goal: number): Row {
  const ratio = measured.value / ceiling.value
  return row(figure, measured, ceiling, ratio, `≥ ${goal}`, ratio >= goal)
}

/** A time, of which less is better, against the time of the ceiling. `goal`: the share of the ceiling's speed. */
export function time(figure: string, ms: number, ceiling: { what: string; value: number }, goal: number): Row {
  const ratio = ceiling.value / ms
  return row(figure, { value: ms, unit: 'ms' }, ceiling, ratio, `≥ ${goal}`, ratio >= goal)
}

/** A figure held to a number of its own unit. */
export function atMost(figure: string, measured: Figure, most: number): Row {
  const goal = `≤ ${most} ${measured.unit}`
  return { ...row(figure, measured, null, null, goal, measured.value <= most), goal }
}

/** A figure that is told and held to nothing. */
export function told(figure: string, measured: Figure, ceiling: { what: string; value: number } | null = null): Row {
  return row(figure, measured, ceiling, ceiling === null ? null : measured.value / ceiling.value, '—', null)
}

function row(
  figure: string,
  { value, unit }: Figure,
  ceiling: { what: string; value: number } | null,
  ratio: number | null,
  goal: string,
  ok: boolean | null,
): Row {
  const ceilingText = ceiling === null ? '—' : `${written(ceiling.value)} ${unit} (${ceiling.what})`
  return { figure, measured: `${written(value)} ${unit}`, ceiling: ceilingText, ratio, goal, ok }
}

function written(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 4
  return value.toLocaleString('en', { maximumFractionDigits: digits })
}

/** The q-quantile of unsorted values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN
}
