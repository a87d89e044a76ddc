import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { csvOf } from '../../kernel/wire/operator-cost-tables.ts'
import { cursorAfter } from '../lib/chart-cursor.ts'
import type { Mark } from '../lib/series.ts'
import { useLook } from '../lib/theme.ts'
import './chart.css'
import { SaveCsv } from './save-csv.tsx'

type Colors = (name: string) => string

export interface ChartSpec {
  data: uPlot.AlignedData
  /** Built once for each shape of chart; colours are resolved for the theme in force. */
  series: (colors: Colors) => uPlot.Series[]
  /** Top of the scale, which starts at zero; by default a little above the data. */
  top?: number
  formatY: (value: number) => string
  /** Of a whole x; by default the number itself. */
  formatX?: (x: number) => string
  /** Of the x axis, whose every tick then has its name; by default whole numbers from 1, ten at least. */
  rangeX?: [from: number, to: number]
  marks: readonly Mark[]
  /** What the cursor points at, or null for no cursor: one short line. */
  describe: (index: number) => string
  /** Draws over the plot, in canvas pixels. */
  overlay?: (plot: uPlot, colors: Colors) => void
}

interface Props {
  title: string
  unit: ReactNode
  /** For a reader who cannot see the chart. */
  summary: string
  testId: string
  height?: number
  spec: ChartSpec
  legend?: ReactNode
  /** The figures themselves, for reading and for taking away. */
  table?: { file: string; head: readonly string[]; rows: readonly (readonly (string | number | null)[])[] }
}

/** A small chart of one quantity by step. Live data redraws it at most four times a second: as often as queries refetch. */
export function Chart({ title, unit, summary, testId, height = 116, spec, legend, table }: Props) {
  const [cursor, setCursor] = useState<number | null>(null)
  return (
    <figure className="chart" data-testid={testId}>
      <figcaption>
        <h2>{title}</h2>
        <span className="muted chart-unit">{unit}</span>
      </figcaption>
      <Plot spec={spec} height={height} summary={`${summary}${spoken(spec.marks)}`} onCursor={setCursor} />
      <div className="chart-foot muted" aria-live="polite">
        {cursor === null ? legend : spec.describe(cursor)}
      </div>
      {table && <ChartTable title={title} table={table} />}
    </figure>
  )
}

function ChartTable({ title, table }: { title: string; table: NonNullable<Props['table']> }) {
  const { file, head, rows } = table
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="chart-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Figures, n = {rows.length}</summary>
      {isOpen && (
        <>
          <SaveCsv file={file} csv={() => csvOf(table)} />
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it. */}
          <section className="chart-table-scroll" aria-label={`Figures of ${title}`} tabIndex={0}>
            <table className="table">
              <thead>
                <tr>
                  {head.map((name) => (
                    <th key={name} className="figure">
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.map((row) => (
                  <tr key={String(row[0])}>
                    {row.map((value, column) => (
                      <td key={head[column]} className="figure">
                        {value ?? '—'}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        </>
      )}
    </details>
  )
}

/** The marks in words, for a reader who cannot see them. */
function spoken(marks: readonly Mark[]): string {
  return marks.length === 0 ? '' : ` ${marks.map((mark) => mark.title).join('; ')}.`
}

function Plot(props: { spec: ChartSpec; height: number; summary: string; onCursor: (index: number | null) => void }) {
  const { spec, height, summary, onCursor } = props
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const latest = useRef(spec)
  latest.current = spec
  const look = useLook()

  // A new plot for a new theme only; data and marks go into the one that is there.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme decides the colours that are resolved here.
  useLayoutEffect(() => {
    const element = host.current
    if (!element) return
    const colors = resolver(element)
    const made = new uPlot(optionsOf(element, height, latest, colors, onCursor), latest.current.data, element)
    plot.current = made
    const resize = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    resize.observe(element)
    return () => {
      resize.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [look, height, onCursor])

  useEffect(() => {
    plot.current?.setData(spec.data)
  }, [spec])

  return (
    <div
      ref={host}
      className="chart-plot"
      role="img"
      aria-label={`${summary} Arrow keys read it point by point.`}
      style={{ height }}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its cursor is moved by keys.
      tabIndex={0}
      onKeyDown={(event) => {
        const made = plot.current
        const to = made ? cursorAfter(event.key, made.cursor.idx ?? null, spec.data[0].length) : null
        if (!made || to === null) return
        event.preventDefault()
        made.setCursor({ left: made.valToPos(spec.data[0][to] ?? 0, 'x'), top: 0 })
      }}
      onBlur={() => plot.current?.setCursor({ left: -10, top: -10 })}
    />
  )
}

function optionsOf(
  element: HTMLElement,
  height: number,
  latest: { readonly current: ChartSpec },
  colors: Colors,
  onCursor: (index: number | null) => void,
): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: colors('--muted'),
    font: `11px ${getComputedStyle(element).fontFamily}`,
    ticks: { show: false },
    grid: { stroke: colors('--border'), width: 1 },
  }
  return {
    width: element.clientWidth,
    height,
    padding: [16, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: {
        time: false,
        range: (_u, min, max) => latest.current.rangeX ?? [Math.min(min, 1) - 0.5, Math.max(max, 10) + 0.5],
      },
      y: { range: (_u, _min, max) => [0, latest.current.top ?? (max > 0 ? max * 1.08 : 1)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 20,
        gap: 2,
        values: (_u, ticks) =>
          ticks.map((x) => (latest.current.rangeX || Number.isInteger(x) ? (latest.current.formatX ?? String)(x) : '')),
      },
      { ...axis, size: 64, gap: 4, space: 32, values: (_u, ticks) => ticks.map((y) => latest.current.formatY(y)) },
    ],
    series: latest.current.series(colors),
    hooks: {
      drawClear: [(u) => drawMarks(u, latest.current.marks, colors)],
      draw: [(u) => latest.current.overlay?.(u, colors)],
      setCursor: [(u) => onCursor(u.cursor.idx ?? null)],
    },
  }
}

/**
 * Activations and proposals as vertical lines with their name on top. Where names would overlap, activations come first
 * and the rest shrink to their sign or go; lines never do.
 */
function drawMarks(u: uPlot, marks: readonly Mark[], colors: Colors): void {
  const { ctx } = u
  const pixel = devicePixelRatio
  const taken: [from: number, to: number][] = []
  const isFree = (left: number, width: number) =>
    taken.every(([from, to]) => left > to + 3 * pixel || left + width + 3 * pixel < from)
  ctx.save()
  ctx.font = `${11 * pixel}px system-ui, sans-serif`
  ctx.textAlign = 'left'
  ctx.textBaseline = 'alphabetic'
  for (const mark of [...marks].sort((a, b) => (a.kind === b.kind ? a.x - b.x : a.kind === 'activation' ? -1 : 1))) {
    const x = Math.round(u.valToPos(mark.x, 'x', true))
    const color = colors(mark.kind === 'activation' ? '--stale' : '--wait')
    ctx.strokeStyle = color
    ctx.fillStyle = color
    ctx.lineWidth = (mark.kind === 'activation' ? 1.5 : 1) * pixel
    ctx.setLineDash(mark.kind === 'activation' ? [] : [3 * pixel, 3 * pixel])
    ctx.beginPath()
    ctx.moveTo(x, u.bbox.top)
    ctx.lineTo(x, u.bbox.top + u.bbox.height)
    ctx.stroke()
    for (const text of [mark.label, mark.label.slice(0, 1)]) {
      const width = ctx.measureText(text).width
      const centred = Math.min(Math.max(x - width / 2, u.bbox.left), u.bbox.left + u.bbox.width - width)
      // A little to the right of its line is still beside it.
      const left = [0, 6, 12, 18].map((by) => centred + by * pixel).find((at) => isFree(at, width))
      if (left === undefined) continue
      ctx.fillText(text, left, u.bbox.top - 4 * pixel)
      taken.push([left, left + width])
      break
    }
  }
  ctx.restore()
}

/** The computed colour of a token: a canvas does not know `light-dark()`. */
function resolver(element: HTMLElement): Colors {
  const probe = document.createElement('span')
  element.append(probe)
  const known = new Map<string, string>()
  for (const name of [
    '--muted',
    '--border',
    '--text',
    '--accent',
    '--stale',
    '--wait',
    '--bad',
    '--ok',
    '--token-read',
    '--token-write',
    '--token-uncached',
    '--surface',
    '--run',
    '--part-memory',
    '--part-results',
  ]) {
    probe.style.color = `var(${name})`
    known.set(name, getComputedStyle(probe).color)
  }
  probe.remove()
  return (name) => known.get(name) ?? 'currentColor'
}
