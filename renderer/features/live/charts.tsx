import { useMemo, useState } from 'react'
import uPlot from 'uplot'
import type { ActivationPoint, StepPoint } from '../../../kernel/wire/operator.ts'
import { Chart, type ChartSpec } from '../../components/chart.tsx'
import { Simulated } from '../../components/status.tsx'
import { amount, money, tokens } from '../../lib/format.ts'
import { type ProgressAxis, progressAxes, progressBy } from '../../lib/progress-axis.ts'
import {
  columnsOf,
  costScaleTop,
  gainPoints,
  type Mark,
  thin,
  type UnitLine,
  unitLines,
  unitScaleTop,
} from '../../lib/series.ts'

const stepAfter = uPlot.paths.stepped?.({ align: 1 })
const bars = uPlot.paths.bars?.({ size: [0.9, 24], align: 0 })
/** About one bar for each two pixels of the panel. */
const maxBars = 300

const axisNames = {
  step: 'by step',
  turn: 'as each turn ended',
  time: 'by minutes since the first step, pauses too',
  cost: 'by cost so far',
} as const

export function ProgressChart(props: {
  task: string
  steps: StepPoint[]
  marks: Mark[]
  unit: string
  goal: number | null
}) {
  const { task, steps, marks, unit, goal } = props
  const [axis, setAxis] = useState<ProgressAxis>('step')
  const spec = useMemo((): ChartSpec => {
    const { x, progress, marks: placed, range, format } = progressBy(steps, marks, axis)
    return {
      data: [x, progress],
      series: (color) => [
        {},
        { stroke: color('--ok'), width: 1.5, points: { show: false }, ...(stepAfter ? { paths: stepAfter } : {}) },
      ],
      formatX: format,
      formatY: amount,
      ...(range === null ? {} : { rangeX: range }),
      marks: placed,
      describe: (index) => `${axis} ${format(x[index] ?? 0)}: ${amount(progress[index])} ${unit}`,
    }
  }, [steps, marks, unit, axis])
  const last = steps.findLast((step) => step.progress !== null)?.progress
  return (
    <Chart
      title="Progress"
      unit={
        <>
          {amount(last)}
          {goal !== null && ` of ${amount(goal)}`} {unit}, measured, by{' '}
          <select
            className="field axis"
            aria-label="Progress by"
            value={axis}
            onChange={(event) => setAxis(progressAxes.find((each) => each === event.target.value) ?? 'step')}
          >
            {progressAxes.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </>
      }
      summary={`Progress by ${axis}: ${amount(last)} ${unit} after ${steps.length} steps.`}
      testId="progress-chart"
      spec={spec}
      legend={`${axisNames[axis]}, n = ${spec.data[0].length}`}
      table={{
        file: `${task}-progress.csv`,
        head: ['step', 'progress'],
        rows: steps.map((step, index) => [index + 1, step.progress]),
      }}
    />
  )
}

export function CostChart(props: {
  task: string
  steps: StepPoint[]
  marks: Mark[]
  budget: number | null
  isSimulated: boolean
}) {
  const { task, steps, marks, budget, isSimulated } = props
  const { spec, unpriced, last, isCapShown, rows } = useMemo(() => {
    const { x, cumulativeCost, unpriced } = columnsOf(steps)
    const top = costScaleTop(
      cumulativeCost.findLast((cost) => cost !== null),
      budget,
    )
    const spec: ChartSpec = {
      data: [x, cumulativeCost],
      series: (color) => [
        {},
        { stroke: color('--text'), width: 1.5, points: { show: false }, ...(stepAfter ? { paths: stepAfter } : {}) },
      ],
      formatY: money,
      marks,
      describe: (index) => `step ${x[index]}: ${money(cumulativeCost[index])} so far`,
      ...(top === null ? {} : { top }),
      overlay: (plot, color) => {
        if (budget !== null && top !== null) rule(plot, budget, color('--wait'))
      },
    }
    const rows = steps.map((step, index) => [index + 1, usd(step.costNanoUsd), usd(cumulativeCost[index] ?? null)])
    return { spec, unpriced, last: cumulativeCost.at(-1), isCapShown: top !== null, rows }
  }, [steps, marks, budget])
  return (
    <Chart
      title="Cost, cumulative"
      unit={
        <>
          {money(last)}
          {budget !== null && ` of ${money(budget)}`} <Simulated isSimulated={isSimulated} />
        </>
      }
      summary={`Cumulative cost: ${money(last)} after ${steps.length} steps${budget === null ? '' : `, of a cap of ${money(budget)}`}.`}
      testId="cost-chart"
      spec={spec}
      legend={
        <>
          {unpriced > 0
            ? `${unpriced} steps have no known price: the total is not known`
            : `by step, n = ${steps.length}`}
          {budget !== null && (isCapShown ? ', dashed: cap' : `, cap ${money(budget)} above the scale`)}
        </>
      }
      table={{ file: `${task}-cost.csv`, head: ['step', 'cost_usd', 'cumulative_usd'], rows }}
    />
  )
}

export function TokensChart({
  task,
  steps,
  marks,
  isSimulated,
}: {
  task: string
  steps: StepPoint[]
  marks: Mark[]
  isSimulated: boolean
}) {
  const { spec, size } = useMemo(() => {
    const numbered = steps.map((step, index) => ({ ...step, x: index + 1 }))
    const { rows, size } = thin(numbered, (row) => row.uncached + row.cacheWrite + row.cacheRead, maxBars)
    const stack = (color: string): uPlot.Series => ({
      fill: color,
      width: 0,
      points: { show: false },
      ...(bars ? { paths: bars } : {}),
    })
    const spec: ChartSpec = {
      // Drawn back to front: the whole stack dark, then write over it, then read over both.
      data: [
        rows.map((row) => row.x),
        rows.map((row) => row.cacheRead + row.cacheWrite + row.uncached),
        rows.map((row) => row.cacheRead + row.cacheWrite),
        rows.map((row) => row.cacheRead),
      ],
      series: (color) => [
        {},
        stack(color('--token-uncached')),
        stack(color('--token-write')),
        stack(color('--token-read')),
      ],
      formatY: tokens,
      marks,
      describe: (index) => {
        const row = rows[index]
        if (!row) return ''
        return `step ${row.x}: read ${tokens(row.cacheRead)} · write ${tokens(row.cacheWrite)} · uncached ${tokens(row.uncached)}${row.cacheBreak ? ' ✕ cache break' : ''}`
      },
    }
    return { spec, size }
  }, [steps, marks])
  const sum = (bucket: 'uncached' | 'cacheWrite' | 'cacheRead' | 'output') =>
    steps.reduce((total, step) => total + step[bucket], 0)
  const input = sum('uncached') + sum('cacheWrite') + sum('cacheRead')
  return (
    <Chart
      title="Input tokens"
      unit={
        <>
          per step <Simulated isSimulated={isSimulated} />
        </>
      }
      summary={`Input tokens by step: ${tokens(input)} in all, ${tokens(sum('cacheRead'))} of them read from the cache.`}
      testId="tokens-chart"
      spec={spec}
      legend={
        <>
          <Key token="--token-read" name={`cache read ${tokens(sum('cacheRead'))}`} />
          <Key token="--token-write" name={`cache write ${tokens(sum('cacheWrite'))}`} />
          <Key token="--token-uncached" name={`uncached ${tokens(sum('uncached'))}`} />
          <span>output {tokens(sum('output'))}</span>
          {size > 1 && <span>largest of each {size} steps</span>}
        </>
      }
      table={{
        file: `${task}-tokens.csv`,
        head: ['step', 'read', 'write', 'uncached', 'output'],
        rows: steps.map((step, index) => [index + 1, step.cacheRead, step.cacheWrite, step.uncached, step.output]),
      }}
    />
  )
}

/** For a table: dollars with all their digits. */
function usd(nanoUsd: number | null): number | null {
  return nanoUsd === null ? null : nanoUsd / 1e9
}

function Key({ token, name }: { token: string; name: string }) {
  return (
    <span>
      <span className="swatch" style={{ background: `var(${token})` }} />
      {name}
    </span>
  )
}

interface UnitProps {
  steps: StepPoint[]
  activations: ActivationPoint[]
  marks: Mark[]
  unit: string
  isSimulated: boolean
}

/** Dots: what each single gain cost per unit. Lines: the whole activation. Triangles: gains above the scale. */
export function UnitChart({ steps, activations, marks, unit, isSimulated }: UnitProps) {
  const { spec, lines, cut } = useMemo(() => {
    const points = gainPoints(steps)
    const lines = unitLines(steps, activations)
    const byStep = new Map(points.map((point) => [point.x, point.perUnit]))
    const x = steps.map((_, index) => index + 1)
    const dots = x.map((step) => byStep.get(step) ?? null)
    const levels = x.map((step) => lines.find((line) => step >= line.from && step <= line.to)?.perUnit ?? null)
    const top = unitScaleTop(lines)
    const spec: ChartSpec = {
      data: [x, dots, levels],
      series: (color) => [
        {},
        {
          stroke: color('--muted'),
          width: 0,
          paths: () => null,
          points: { show: true, size: 4, width: 1, fill: color('--surface'), stroke: color('--muted') },
        },
        { stroke: color('--accent'), width: 0, paths: () => null, points: { show: false } },
      ],
      top,
      formatY: money,
      marks,
      describe: (index) =>
        `step ${x[index]}: ${dots[index] ? `this gain ${money(dots[index])} per ${unit}, ` : ''}activation ${money(levels[index])} per ${unit}`,
      overlay: (plot, color) => {
        for (const line of lines) level(plot, line, color('--accent'))
        for (const point of points) if (point.perUnit > top) aboveScale(plot, point.x, color('--muted'))
      },
    }
    const isAbove = ({ perUnit }: { perUnit: number }) => perUnit > top
    return { spec, lines, cut: lines.some(isAbove) || points.some(isAbove) }
  }, [steps, activations, marks, unit])
  const last = lines.at(-1)
  return (
    <Chart
      title={`Cost per ${unit}`}
      unit={
        <>
          {last ? `r${last.activation} ${money(last.perUnit)}` : '—'} <Simulated isSimulated={isSimulated} />
        </>
      }
      summary={`Cost per ${unit} by activation: ${lines.map((line) => `r${line.activation} ${money(line.perUnit)}`).join(', ') || 'not known yet'}.`}
      testId="cost-per-unit"
      height={132}
      spec={spec}
      legend={
        <span>
          dot: one gain (cost since the gain before); line: average of the activation{cut && '; ▲ above the scale'}
        </span>
      }
    />
  )
}

function rule(plot: uPlot, value: number, color: string): void {
  const y = Math.round(plot.valToPos(value, 'y', true))
  plot.ctx.save()
  plot.ctx.strokeStyle = color
  plot.ctx.setLineDash([6, 4])
  plot.ctx.beginPath()
  plot.ctx.moveTo(plot.bbox.left, y)
  plot.ctx.lineTo(plot.bbox.left + plot.bbox.width, y)
  plot.ctx.stroke()
  plot.ctx.restore()
}

/** A gain that cost more than the scale spans: a triangle at its top edge. */
function aboveScale(plot: uPlot, step: number, color: string): void {
  const pixel = devicePixelRatio
  const x = plot.valToPos(step, 'x', true)
  const { top } = plot.bbox
  plot.ctx.save()
  plot.ctx.fillStyle = color
  plot.ctx.beginPath()
  plot.ctx.moveTo(x, top)
  plot.ctx.lineTo(x - 4 * pixel, top + 7 * pixel)
  plot.ctx.lineTo(x + 4 * pixel, top + 7 * pixel)
  plot.ctx.fill()
  plot.ctx.restore()
}

/** An activation's level; one that is above the scale is drawn at its top, dashed, with its figure. */
function level(plot: uPlot, line: UnitLine, color: string): void {
  const top = plot.scales.y?.max ?? 0
  const isCut = line.perUnit > top
  const pixel = devicePixelRatio
  const y = isCut ? plot.bbox.top + 2 * pixel : Math.round(plot.valToPos(line.perUnit, 'y', true))
  const right = plot.valToPos(line.to + 0.5, 'x', true)
  plot.ctx.save()
  plot.ctx.strokeStyle = color
  plot.ctx.lineWidth = 3 * pixel
  if (isCut) plot.ctx.setLineDash([3 * pixel, 3 * pixel])
  plot.ctx.beginPath()
  plot.ctx.moveTo(plot.valToPos(line.from - 0.5, 'x', true), y)
  plot.ctx.lineTo(right, y)
  plot.ctx.stroke()
  if (isCut) {
    plot.ctx.fillStyle = color
    plot.ctx.font = `${11 * pixel}px system-ui, sans-serif`
    plot.ctx.textAlign = 'left'
    plot.ctx.textBaseline = 'alphabetic'
    plot.ctx.fillText(`▲ ${money(line.perUnit)}`, right + 4 * pixel, plot.bbox.top + 12 * pixel)
  }
  plot.ctx.restore()
}
