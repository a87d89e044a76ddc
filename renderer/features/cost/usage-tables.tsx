import { type ReactNode, useState } from 'react'
import type { CostReport, CostSums } from '../../../kernel/wire/operator-cost.ts'
import { type CostTableName, cacheReadOf, costTable, csvOf } from '../../../kernel/wire/operator-cost-tables.ts'
import { InertText } from '../../components/inert-text.tsx'
import { SaveCsv } from '../../components/save-csv.tsx'
import { Simulated } from '../../components/status.tsx'
import { money, share, tokens, whole } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'
import { amount, fileName, hitRate, scopeName } from './scopes.ts'

const tabs = { models: 'Model', tools: 'Tool', revisions: 'Revision', tasks: 'Task' } as const
type Tab = keyof typeof tabs

interface Line {
  key: string
  name: ReactNode
  /** What it is sorted by where that is its name. */
  text: string
  calls: number
  row: Omit<CostSums, 'calls' | 'failed' | 'simulated' | 'estimated' | 'cacheUnreported' | 'unpriced'> &
    Partial<CostSums>
}

type Column = 'text' | 'calls' | 'uncached' | 'cacheRead' | 'cacheWrite' | 'output' | 'hit' | 'cost' | 'perCall'

/** The same spend, four ways; each adds up to the total. */
export function UsageTables({ report }: { report: CostReport }) {
  const [tab, setTab] = useState<Tab>('models')
  const [order, setOrder] = useState<{ by: Column; isDown: boolean }>({ by: 'cost', isDown: true })
  const lines = linesOf(report, tab)
  const value = (line: Line) => figureOf(line, order.by)
  const sorted = [...lines].sort((a, b) => compare(value(a), value(b)) * (order.isDown ? -1 : 1))
  const head = (by: Column, name: string, className = 'figure') => (
    <th className={className} aria-sort={order.by === by ? (order.isDown ? 'descending' : 'ascending') : undefined}>
      <button
        type="button"
        className="cost-sort"
        onClick={() => setOrder({ by, isDown: order.by === by ? !order.isDown : by !== 'text' })}
      >
        {name}
        <span aria-hidden="true">{order.by === by ? (order.isDown ? ' ▾' : ' ▴') : ''}</span>
      </button>
    </th>
  )
  return (
    <section className="panel cost-table" aria-label={`Spend of ${scopeName(report.scope)}`}>
      <header>
        <h2>Spend by</h2>
        <fieldset className="cost-chips">
          <legend className="sr">By what</legend>
          {(Object.keys(tabs) as Tab[]).map((key) => (
            <button key={key} type="button" className="chip" aria-pressed={tab === key} onClick={() => setTab(key)}>
              {tabs[key]}
            </button>
          ))}
        </fieldset>
        <Simulated isSimulated={report.total.simulated > 0} />
        <span className="cost-fill" />
        <SaveCsv file={fileName(report, tab)} csv={() => csvOf(costTable(report, tab as CostTableName))} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it. */}
      <section className="cost-scroll" aria-label="Table of spend" tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              {head('text', tabs[tab], '')}
              {head('calls', tab === 'tools' ? 'Tool calls' : 'Calls')}
              {head('uncached', 'Uncached')}
              {head('cacheRead', 'Read')}
              {head('cacheWrite', 'Write', 'figure cost-roomy')}
              {head('output', 'Output')}
              {head('hit', 'Hit rate')}
              {head('cost', 'Cost')}
              {head('perCall', 'Per call', 'figure cost-roomy')}
            </tr>
          </thead>
          <tbody>
            {sorted.map((line) => (
              <Row key={line.key} line={line} />
            ))}
          </tbody>
        </table>
      </section>
      {tab === 'tools' && (
        <p className="muted cost-note">Each step’s spend, in equal parts among the tools that its answer called.</p>
      )}
    </section>
  )
}

function Row({ line: { name, calls, row } }: { line: Line }) {
  const read =
    row.cacheUnreported === undefined
      ? row.cacheRead
      : cacheReadOf({ ...row, calls, cacheUnreported: row.cacheUnreported })
  const per = calls === 0 || row.costNanoUsd === null ? null : row.costNanoUsd / calls
  return (
    <tr data-testid="cost-row">
      <th scope="row">{name}</th>
      <td className="figure">{whole(calls)}</td>
      <td className="figure">{tokens(row.uncached)}</td>
      <td className="figure">{read === null ? 'not reported' : tokens(read)}</td>
      <td className="figure cost-roomy">{tokens(row.cacheWrite)}</td>
      <td className="figure">{tokens(row.output)}</td>
      <td className="figure">{read === null ? 'not reported' : share(rateOf(row, calls))}</td>
      <td className="figure">{amount(row)}</td>
      <td className="figure cost-roomy">{money(per)}</td>
    </tr>
  )
}

const rateOf = (row: Line['row'], calls: number) =>
  hitRate({ ...row, calls, cacheUnreported: row.cacheUnreported ?? 0 })

function figureOf({ text, calls, row }: Line, by: Column): string | number {
  if (by === 'text') return text
  if (by === 'calls') return calls
  if (by === 'hit') return rateOf(row, calls) ?? -1
  if (by === 'cost') return row.knownNanoUsd
  return by === 'perCall' ? (calls === 0 ? 0 : row.knownNanoUsd / calls) : row[by]
}

function compare(a: string | number, b: string | number): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b))
}

function linesOf(report: CostReport, tab: Tab): Line[] {
  const others = (count: number) => <span className="muted">{whole(count)} others</span>
  const line = (text: string, name: ReactNode, row: Line['row'], calls: number): Line => ({
    key: text,
    text,
    name,
    row,
    calls,
  })
  const ownCalls = <span className="muted">asked by the kernel itself</span>
  if (tab === 'models')
    return report.byModel.map((row) =>
      line(row.model, row.others === undefined ? <InertText text={row.model} /> : others(row.others), row, row.calls),
    )
  if (tab === 'revisions')
    return report.byRevision.map((row) => {
      const href = hrefOf({ screen: 'revisions', agent: row.agent })
      const name =
        row.activation === 0 ? (
          ownCalls
        ) : (
          <a href={href}>
            {row.agent} r{row.activation}
          </a>
        )
      return line(
        `${row.agent} r${row.activation}`,
        row.others === undefined ? name : others(row.others),
        row,
        row.calls,
      )
    })
  if (tab === 'tasks')
    return report.byTask.map((row) => {
      const to = hrefOf({ screen: 'cost', scope: { of: 'task', task: row.task } })
      const name = row.task === '' ? ownCalls : <a href={to}>{row.task}</a>
      const whole =
        row.others === undefined ? (
          <>
            {name} {row.task !== '' && <span className="muted">{row.agent}</span>}
          </>
        ) : (
          others(row.others)
        )
      return line(`${row.task} ${row.agent}`, whole, row, row.calls)
    })
  return report.byTool.map((row) => {
    const none = row.purpose === 'check' ? ownCalls : <span className="muted">no tool called</span>
    const name = row.name === '' ? none : <InertText text={row.name} />
    return line(`${row.name} ${row.purpose}`, row.others === undefined ? name : others(row.others), row, row.toolCalls)
  })
}
