// What the charts draw, computed from the kernel's own series. Nothing here is smoothed or interpolated.
import type { ActivationPoint, ProposalSummary, StepPoint } from '../../kernel/wire/operator.ts'
import { costPerUnit } from './format.ts'

export interface Mark {
  /** Step number on the x axis, from 1. */
  x: number
  kind: 'activation' | 'proposal'
  label: string
  title: string
}

export interface StepColumns {
  /** 1, 2, … over the whole task, whatever its turns. */
  x: number[]
  progress: (number | null)[]
  cumulativeCost: (number | null)[]
  read: number[]
  write: number[]
  uncached: number[]
  /** Steps whose price is unknown: the cost line stops counting there and says so. */
  unpriced: number
}

export function columnsOf(steps: readonly StepPoint[]): StepColumns {
  const columns: StepColumns = {
    x: [],
    progress: [],
    cumulativeCost: [],
    read: [],
    write: [],
    uncached: [],
    unpriced: 0,
  }
  let cost: number | null = 0
  let progress: number | null = null
  steps.forEach((step, index) => {
    if (step.costNanoUsd === null) {
      cost = null
      columns.unpriced++
    } else if (cost !== null) cost += step.costNanoUsd
    progress = step.progress ?? progress
    columns.x.push(index + 1)
    columns.progress.push(progress)
    columns.cumulativeCost.push(cost)
    columns.read.push(step.cacheRead)
    columns.write.push(step.cacheWrite)
    columns.uncached.push(step.uncached)
  })
  return columns
}

export interface GainPoint {
  x: number
  /** What the steps since the last gain cost, over what was gained: nano-dollars a unit. */
  perUnit: number
  activation: number
}

/** One point for each gain of progress: exact, each step's cost counted in one point at most. */
export function gainPoints(steps: readonly StepPoint[], start = 0): GainPoint[] {
  const points: GainPoint[] = []
  let best = start
  let cost: number | null = 0
  steps.forEach((step, index) => {
    cost = cost === null || step.costNanoUsd === null ? null : cost + step.costNanoUsd
    if (step.progress === null || step.progress <= best) return
    if (cost !== null)
      points.push({ x: index + 1, perUnit: cost / (step.progress - best), activation: step.activation })
    best = step.progress
    cost = 0
  })
  return points
}

export interface Span {
  activation: number
  from: number
  to: number
}

/** The steps that each activation ran, as ranges of step numbers. */
export function spansOf(steps: readonly StepPoint[]): Span[] {
  const spans: Span[] = []
  steps.forEach((step, index) => {
    const last = spans.at(-1)
    if (last && last.activation === step.activation) last.to = index + 1
    else spans.push({ activation: step.activation, from: index + 1, to: index + 1 })
  })
  return spans
}

export interface UnitLine extends Span {
  perUnit: number
}

/** Cost per unit of each activation as a level over the steps that it ran. */
export function unitLines(steps: readonly StepPoint[], activations: readonly ActivationPoint[]): UnitLine[] {
  return spansOf(steps).flatMap((span) => {
    const row = activations.find((each) => each.activation === span.activation)
    const perUnit = row ? costPerUnit(row.costNanoUsd, row.progressDelta) : null
    return perUnit === null ? [] : [{ ...span, perUnit }]
  })
}

/**
 * Top of the scale for those levels. A short activation that went badly must not flatten the rest: three times the
 * level that most steps ran under is the most that the scale spans. Before the first gain it is a cent.
 */
export function unitScaleTop(lines: readonly UnitLine[]): number {
  if (lines.length === 0) return 10_000_000
  const byLevel = [...lines].sort((a, b) => a.perUnit - b.perUnit)
  const steps = byLevel.reduce((total, line) => total + line.to - line.from + 1, 0)
  let below = 0
  const median = byLevel.find((line) => {
    below += line.to - line.from + 1
    return below * 2 >= steps
  })
  const highest = byLevel.at(-1)?.perUnit ?? 0
  return Math.max(Math.min(highest, (median?.perUnit ?? 0) * 3) * 1.2, 1)
}

export function marksOf(
  steps: readonly StepPoint[],
  proposals: readonly Pick<ProposalSummary, 'proposal' | 'madeAt' | 'state' | 'task'>[],
  task: string,
): Mark[] {
  const marks: Mark[] = spansOf(steps).map((span, index) => ({
    x: index === 0 ? span.from : span.from - 0.5,
    kind: 'activation',
    label: `◆r${span.activation}`,
    title: `r${span.activation} runs from step ${span.from}`,
  }))
  for (const each of proposals) {
    if (each.task !== task || steps.length === 0) continue
    const at = steps.findIndex((step) => step.at >= each.madeAt)
    marks.push({
      x: at < 0 ? steps.length : at + 1,
      kind: 'proposal',
      label: `⚑${each.proposal}`,
      title: `${each.proposal} was made; now ${each.state}`,
    })
  }
  return marks.sort((a, b) => a.x - b.x)
}

/** Where a chart has fewer pixels than steps, the largest step of each group of `size` stands for it. */
export function thin<T>(rows: readonly T[], weight: (row: T) => number, max: number): { rows: T[]; size: number } {
  const size = Math.max(1, Math.ceil(rows.length / max))
  if (size === 1) return { rows: [...rows], size }
  const kept: T[] = []
  for (let from = 0; from < rows.length; from += size) {
    const group = rows.slice(from, from + size)
    kept.push(group.reduce((a, b) => (weight(b) > weight(a) ? b : a)))
  }
  return { rows: kept, size }
}

/**
 * Top of the scale of a cumulative cost with a cap. The cap shares the scale once a third of it is spent: before that, its
 * line would flatten the rest. null: the data alone decide.
 */
export function costScaleTop(spentNanoUsd: number | null | undefined, capNanoUsd: number | null): number | null {
  if (capNanoUsd === null || !spentNanoUsd || capNanoUsd > spentNanoUsd * 3) return null
  return Math.max(spentNanoUsd, capNanoUsd) * 1.08
}
