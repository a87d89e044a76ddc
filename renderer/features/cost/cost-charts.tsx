import { useMemo } from 'react'
import uPlot from 'uplot'
import type { CostPoint, CostReport } from '../../../kernel/wire/operator-cost.ts'
import { costTable } from '../../../kernel/wire/operator-cost-tables.ts'
import { Chart, type ChartSpec } from '../../components/chart.tsx'
import { Simulated } from '../../components/status.tsx'
import { money, tokens, whole } from '../../lib/format.ts'
import { blockNames } from './context.tsx'
import { columnsOf, labelOf, marksOf } from './points.ts'
import { amount, fileName, scopeName } from './scopes.ts'

const stepAfter = uPlot.paths.stepped?.({ align: 1 })
const bars = uPlot.paths.bars?.({ size: [0.9, 24], align: 0 })

/** What a point of the series is. */
function pointName({ series }: CostReport): string {
  if (series.unit === 'step') return series.size === 1 ? 'step' : `${series.size} steps`
  const minutes = series.size / 60_000
  return minutes < 60 ? `${minutes} min` : minutes < 1440 ? `${minutes / 60} h` : `${minutes / 1440} d`
}

const per = (report: CostReport) => `per ${pointName(report)}, n = ${whole(report.series.points.length)}`
const of = (report: CostReport, index: number) => {
  const { series } = report
  const x = columnsOf(series).x[index] ?? 0
  return series.unit === 'step' ? `step ${labelOf(series, x)}` : labelOf(series, x)
}

/** Some columns of the table of the series, beside the one that names the point and how many calls are in it. */
function figures(report: CostReport, what: string, wanted: readonly string[]) {
  const { head, rows } = costTable(report, 'series')
  const columns = [0, 1, ...wanted.map((name) => head.indexOf(name))]
  const pick = <T,>(from: readonly T[]) => columns.flatMap((column) => from.slice(column, column + 1))
  return { file: fileName(report, `series-${what}`), head: pick(head), rows: rows.map(pick) }
}

export function CumulativeChart({ report }: { report: CostReport }) {
  const { series, total, caps, scope } = report
  const cap = scope.of === 'task' ? caps.find((each) => each.of === 'task')?.limitNanoUsd : undefined
  const limit = scope.of === 'today' ? caps.find((each) => each.of === 'day')?.limitNanoUsd : cap
  const spec = useMemo((): ChartSpec => {
    const { x, cumulative } = columnsOf(series)
    return {
      data: [x, cumulative],
      series: (color) => [
        {},
        {
          stroke: color('--text'),
          width: 1.5,
          points: { show: x.length < 2 },
          ...(stepAfter ? { paths: stepAfter } : {}),
        },
      ],
      formatX: (at) => labelOf(series, at),
      formatY: money,
      marks: marksOf(series, x),
      describe: (index) => `${of(report, index)}: ${money(cumulative[index])} so far`,
      overlay: (plot, color) => {
        if (limit && limit <= (plot.scales.y?.max ?? 0)) rule(plot, limit, color('--wait'))
      },
    }
  }, [series, report, limit])
  return (
    <Chart
      title="Cost, cumulative"
      unit={
        <>
          {amount(total)}
          {limit ? ` of ${money(limit)}` : ''} <Simulated isSimulated={total.simulated > 0} />
        </>
      }
      summary={`Cumulative cost of ${scopeName(scope)}: ${amount(total)} after ${whole(total.calls)} calls.`}
      testId="cost-cumulative"
      spec={spec}
      legend={
        total.unpriced > 0 ? `The line ends at the first of ${whole(total.unpriced)} without a price` : per(report)
      }
      table={figures(report, 'cost', ['known_cost_usd', 'unpriced', 'activation'])}
    />
  )
}

export function InputChart({ report }: { report: CostReport }) {
  const { series, total, scope } = report
  const spec = useMemo((): ChartSpec => {
    const { points } = series
    return {
      data: [
        columnsOf(series).x,
        points.map((point) => point.cacheRead + point.cacheWrite + point.uncached),
        points.map((point) => point.cacheRead + point.cacheWrite),
        points.map((point) => point.cacheRead),
      ],
      series: (color) => [{}, ...['--token-uncached', '--token-write', '--token-read'].map((name) => bar(color(name)))],
      formatX: (at) => labelOf(series, at),
      formatY: tokens,
      marks: marksOf(series, columnsOf(series).x),
      describe: (index) => {
        const point = points[index]
        if (!point) return ''
        const broke =
          point.breaks > 0 ? ` · ✕ ${point.breaks === 1 ? 'cache break' : `${point.breaks} cache breaks`}` : ''
        return `${of(report, index)}: uncached ${tokens(point.uncached)} · write ${tokens(point.cacheWrite)} · read ${tokens(point.cacheRead)}${broke}`
      },
    }
  }, [series, report])
  const input = total.uncached + total.cacheRead + total.cacheWrite
  return (
    <Chart
      title="Input tokens"
      unit={
        <>
          {per(report)} <Simulated isSimulated={total.simulated > 0} />
        </>
      }
      summary={`Input tokens of ${scopeName(scope)}: ${tokens(input)} in all, ${tokens(total.cacheRead)} of them read from the cache.`}
      testId="cost-input"
      spec={spec}
      legend={
        <>
          <Key token="--token-uncached" name="uncached" />
          <Key token="--token-write" name="cache write" />
          <Key token="--token-read" name="cache read" />
          <span>✕ cache break</span>
        </>
      }
      table={figures(report, 'input', [
        ...['uncached_tokens', 'cache_read_tokens', 'cache_write_tokens', 'output_tokens', 'cache_breaks'],
      ])}
    />
  )
}

/** From the bottom up, as they stand in a request. */
const parts = ['instructions', 'tools', 'memory', 'messages', 'toolResults'] as const
const colors = {
  ...{ instructions: '--token-uncached', tools: '--token-write', memory: '--part-memory', messages: '--token-read' },
  toolResults: '--part-results',
} as const

export function ContextChart({ report }: { report: CostReport }) {
  const { series, total, scope } = report
  const spec = useMemo((): ChartSpec => {
    const { points } = series
    const mean = (point: CostPoint, part: (typeof parts)[number]) => (point.calls === 0 ? 0 : point[part] / point.calls)
    const upTo = (last: number) =>
      points.map((point) => parts.slice(0, last + 1).reduce((sum, part) => sum + mean(point, part), 0))
    const back = [4, 3, 2, 1, 0] as const
    return {
      data: [columnsOf(series).x, ...back.map(upTo)] as unknown as uPlot.AlignedData,
      series: (color) => [{}, ...back.map((index) => bar(color(colors[parts[index] ?? 'messages'])))],
      formatX: (at) => labelOf(series, at),
      formatY: tokens,
      marks: [],
      describe: (index) => {
        const point = points[index]
        if (!point) return ''
        return `${of(report, index)}: ${parts.map((part) => `${blockNames[part].toLowerCase()} ${tokens(Math.round(mean(point, part)))}`).join(' · ')}`
      },
    }
  }, [series, report])
  return (
    <Chart
      title="Context of a request"
      unit={
        <>
          mean {per(report)} <Simulated isSimulated={total.simulated > 0} />
        </>
      }
      summary={`What a request of ${scopeName(scope)} was made of: ${report.context.blocks
        .map(
          ({ block, tokens: sent }) =>
            `${blockNames[block].toLowerCase()} ${tokens(Math.round(sent / Math.max(1, total.calls)))}`,
        )
        .join(', ')} tokens on average.`}
      testId="cost-context-chart"
      spec={spec}
      legend={parts.map((part) => <Key key={part} token={colors[part]} name={blockNames[part].toLowerCase()} />)}
      table={figures(report, 'parts', [
        ...['instructions_tokens', 'tools_tokens', 'memory_tokens', 'messages_tokens', 'tool_results_tokens'],
      ])}
    />
  )
}

function bar(fill: string): uPlot.Series {
  return { fill, width: 0, points: { show: false }, ...(bars ? { paths: bars } : {}) }
}

function Key({ token, name }: { token: string; name: string }) {
  return (
    <span>
      <span className="swatch" style={{ background: `var(${token})` }} />
      {name}
    </span>
  )
}

/** The cap, once the spend is near enough to share the scale. */
function rule(plot: uPlot, value: number, color: string): void {
  const { ctx, bbox } = plot
  const y = Math.round(plot.valToPos(value, 'y', true))
  ctx.save()
  ctx.strokeStyle = color
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio])
  ctx.beginPath()
  ctx.moveTo(bbox.left, y)
  ctx.lineTo(bbox.left + bbox.width, y)
  ctx.stroke()
  ctx.restore()
}
