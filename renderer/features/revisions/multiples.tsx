import type { RevisionRow } from '../../../kernel/wire/operator.ts'
import { ratio } from '../../../kernel/wire/statistics.ts'
import { costPerUnit, money, share } from '../../lib/format.ts'
import './multiples.css'

/** Cost, cached share and progress by activation, one under the other on one axis. Bars start at zero. */
export function Multiples({ rows }: { rows: RevisionRow[] }) {
  const byAge = [...rows].sort((a, b) => a.activation - b.activation)
  const perStep = (row: RevisionRow, value: number | null) => ratio(value, row.steps)
  const charts = [
    {
      name: 'Cost per step',
      statistic: 'mean',
      format: money,
      of: (row: RevisionRow) => perStep(row, row.costNanoUsd),
    },
    {
      name: 'Cost per unit of progress',
      statistic: 'ratio of sums',
      format: money,
      of: (row: RevisionRow) => costPerUnit(row.costNanoUsd, row.progressDelta),
    },
    {
      name: 'Cached share of input',
      statistic: 'ratio of sums',
      format: share,
      of: (row: RevisionRow) => row.cachedShare,
      top: 1,
    },
    {
      name: 'Progress per step',
      statistic: 'mean',
      format: (value: number) => value.toFixed(2),
      of: (row: RevisionRow) => perStep(row, row.progressDelta),
    },
  ]
  return (
    <section className="panel multiples" aria-label="By activation" data-testid="multiples">
      <header>
        <h2>By activation</h2>
        <span className="muted">over all steps of each; n is their number</span>
      </header>
      <div className="revisions-scroll">
        <table>
          <tbody>
            {charts.map(({ name, statistic, format, of, top }) => {
              const highest = top ?? Math.max(0, ...byAge.map((row) => of(row) ?? 0))
              return (
                <tr key={name}>
                  <th scope="row">
                    {name}
                    <div className="muted">{statistic}</div>
                  </th>
                  {byAge.map((row) => {
                    const value = of(row)
                    const part = value === null || highest <= 0 ? 0 : Math.max(0, value / highest)
                    return (
                      <td key={row.activation}>
                        <div className="multiples-bar" aria-hidden="true">
                          <i style={{ height: `${Math.round(part * 40)}px` }} data-state={row.state} />
                        </div>
                        {value === null ? <span className="muted">—</span> : format(value)}
                      </td>
                    )
                  })}
                </tr>
              )
            })}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">Activation</th>
              {byAge.map((row) => (
                <td key={row.activation}>
                  r{row.activation} <span className="muted">n={row.steps}</span>
                </td>
              ))}
            </tr>
          </tfoot>
        </table>
      </div>
    </section>
  )
}
