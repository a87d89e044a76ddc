import type { CostReport } from '../../../kernel/wire/operator-cost.ts'
import { costTable, csvOf } from '../../../kernel/wire/operator-cost-tables.ts'
import { InertText } from '../../components/inert-text.tsx'
import { SaveCsv } from '../../components/save-csv.tsx'
import { Simulated } from '../../components/status.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { money, tokens, whole } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'
import { amount, fileName, scopeName } from './scopes.ts'

const shown = 12

/** The same tool with the same arguments, again. */
export function Repeats({ report }: { report: CostReport }) {
  const rows = report.repeats
  return (
    <section className="panel cost-table" aria-label={`Repeated calls of ${scopeName(report.scope)}`}>
      <header>
        <h2>Calls made again</h2>
        <Simulated isSimulated={report.total.simulated > 0 && rows.length > 0} />
        <span className="cost-fill" />
        {rows.length > 0 && (
          <SaveCsv file={fileName(report, 'repeats')} csv={() => csvOf(costTable(report, 'repeats'))} />
        )}
      </header>
      {rows.length === 0 ? (
        <p className="muted cost-note">No tool was called twice with the same arguments in one task.</p>
      ) : (
        <>
          <table className="table cost-repeats">
            <thead>
              <tr>
                <th>Call</th>
                <th className="figure">{report.scope.of === 'turn' ? 'Again' : 'Times'}</th>
                <th className="figure">Tokens</th>
                <th className="figure">Cost</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, shown).map((row) => (
                <tr key={`${row.task} ${row.name} ${row.arguments}`}>
                  <td className="cost-call" title={row.arguments.slice(0, 500)}>
                    <strong>
                      <InertText text={row.name} />
                    </strong>{' '}
                    <span className="muted mono">
                      <InertText text={row.arguments.slice(0, 120)} />
                    </span>
                  </td>
                  <td className="figure">{whole(row.calls)}</td>
                  <td className="figure">{tokens(row.tokens)}</td>
                  <td className="figure">{amount(row)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <p className="muted cost-note">
            Tokens and cost are those of the steps that asked again, in equal parts among a step’s calls. A repeat may
            have its reason: a world changes.{rows.length > shown && ` ${whole(rows.length - shown)} more in the CSV.`}
          </p>
        </>
      )}
    </section>
  )
}

/** Calls that failed, whose cost is not known, or whose tokens nobody reported. */
export function Troubled({ report }: { report: CostReport }) {
  const { troubled, total } = report
  if (troubled.length === 0) return null
  return (
    <section className="panel cost-table" aria-label={`Failed and unpriced calls of ${scopeName(report.scope)}`}>
      <header>
        <h2>Failed, unpriced and estimated calls</h2>
        <span className="muted">
          {whole(total.failed)} failed · {whole(total.unpriced)} without a price · {whole(total.estimated)} estimated or
          not reported
        </span>
        <span className="cost-fill" />
        <SaveCsv file={fileName(report, 'troubled')} csv={() => csvOf(costTable(report, 'troubled'))} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it. */}
      <section className="cost-scroll" aria-label="Table of failed and unpriced calls" tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              <th>Event</th>
              <th>When</th>
              <th>Task</th>
              <th>Model</th>
              <th>Ended</th>
              <th className="figure">Cost</th>
              <th>Why it is here</th>
            </tr>
          </thead>
          <tbody>
            {troubled.map((row) => (
              <tr key={row.seq}>
                <td>
                  <a href={hrefOf({ screen: 'history', seq: row.seq })}>{row.seq}</a>
                </td>
                <td className="cost-nowrap">
                  <TimeAgo at={row.at} />
                </td>
                <td className="cost-nowrap">{row.task || <span className="muted">the kernel</span>}</td>
                <td>
                  <InertText text={row.model} />
                </td>
                <td className={row.status === 'failed' || row.status === 'aborted' ? 'tone-bad' : undefined}>
                  {row.status}
                </td>
                <td className="figure">{row.costNanoUsd === null ? 'unknown' : money(row.costNanoUsd)}</td>
                <td>
                  <InertText text={row.reason} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </section>
  )
}
