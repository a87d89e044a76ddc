import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { CacheBreakRow, CostReport } from '../../../kernel/wire/operator-cost.ts'
import { costTable, csvOf } from '../../../kernel/wire/operator-cost-tables.ts'
import { InertText } from '../../components/inert-text.tsx'
import { SaveCsv } from '../../components/save-csv.tsx'
import { Loaded } from '../../components/states.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { duration, money, tokens, whole } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'
import { fileName, scopeName } from './scopes.ts'

const kinds: Record<string, string> = {
  ...{ instructions: 'instructions', tools: 'tool definitions', memory: 'memory', message: 'message' },
  ...{ 'tool-call': 'tool call', 'tool-result': 'tool result', reasoning: 'reasoning', item: 'item' },
  ...{ model: 'the model', none: 'nothing' },
}
const causes: Record<CacheBreakRow['cause'], string> = {
  ...{ revision: '◆ revision', setting: '⚙ setting', memory: '✎ memory', model: '↔ model', policy: '↻ policy' },
  ...{ idle: '◷ idle', unknown: '? unknown' },
}

/** Each call that lost the cache that the one before had filled: where they part, who put it there, what it cost. */
export function Breaks({ report }: { report: CostReport }) {
  const { breaks } = report
  const [open, setOpen] = useState<number | null>(null)
  return (
    <section
      className="panel cost-table"
      aria-label={`Cache breaks of ${scopeName(report.scope)}`}
      data-testid="cost-breaks"
    >
      <header>
        <h2>Cache breaks</h2>
        <span className="muted">
          {breaks.count === 0 ? 'none' : `${whole(breaks.count)} · ${tokens(breaks.missed)} tokens missed · `}
          {breaks.count > 0 && `${money(breaks.missedNanoUsd)} more, estimated`}
          {breaks.missedUnknown > 0 && ` · of ${whole(breaks.missedUnknown)} not known`}
        </span>
        <span className="cost-fill" />
        {breaks.count > 0 && (
          <SaveCsv file={fileName(report, 'breaks')} csv={() => csvOf(costTable(report, 'breaks'))} />
        )}
      </header>
      {breaks.rows.length === 0 ? (
        <p className="muted cost-note">
          Every request went on from the one before it: what a provider had kept of the prompt still stood at its
          beginning.
        </p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it.
        <section className="cost-scroll" aria-label="Table of cache breaks" tabIndex={0}>
          <table className="table cost-breaks">
            <thead>
              <tr>
                <th>At</th>
                <th>First item that differed</th>
                <th>Because</th>
                <th className="figure">Missed</th>
                <th className="figure">Cost, estimated</th>
              </tr>
            </thead>
            <tbody>
              {breaks.rows.map((row) => (
                <Row
                  key={row.seq}
                  row={row}
                  isOpen={open === row.seq}
                  onToggle={() => setOpen(open === row.seq ? null : row.seq)}
                />
              ))}
            </tbody>
          </table>
          {breaks.count > breaks.rows.length && (
            <p className="muted cost-note">
              The latest {breaks.rows.length} of {whole(breaks.count)}.
            </p>
          )}
        </section>
      )}
    </section>
  )
}

function Row({ row, isOpen, onToggle }: { row: CacheBreakRow; isOpen: boolean; onToggle: () => void }) {
  const [agent, proposal] = [row.agent, row.proposal]
  return (
    <>
      <tr data-testid="cost-break">
        <td className="cost-nowrap">
          <a href={hrefOf({ screen: 'history', seq: row.seq })}>
            {row.task} {row.step === null ? `event ${row.seq}` : `step ${row.step}`}
          </a>
        </td>
        <td>
          {row.item === null ? (
            <span className="muted">{kinds[row.kind]}</span>
          ) : (
            <button type="button" className="cost-sort" aria-expanded={isOpen} onClick={onToggle}>
              {kinds[row.what ?? row.kind]} <span className="muted">item {row.item}</span>{' '}
              <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span>
            </button>
          )}
        </td>
        <td>
          <span className="cost-cause">{causes[row.cause]}</span> <InertText text={row.because} />{' '}
          {proposal !== null && <a href={hrefOf({ screen: 'review', agent, proposal })}>open {proposal}</a>}
          {proposal === null && row.event !== null && (
            <a href={hrefOf({ screen: 'history', seq: row.event })}>event {row.event}</a>
          )}
          {row.cause === 'idle' && <span className="muted"> ({duration(row.idleMs)})</span>}
        </td>
        <td className="figure">{row.missed === null ? 'not known' : tokens(row.missed)}</td>
        <td className="figure">{row.missedNanoUsd === null ? 'not known' : money(row.missedNanoUsd)}</td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={5} className="cost-difference">
            <Difference seq={row.seq} />
          </td>
        </tr>
      )}
    </>
  )
}

/** Both items, around the place where they part. */
function Difference({ seq }: { seq: number }) {
  const desk = useDesk()
  const query = useQuery({ queryKey: ['break', seq], queryFn: () => desk.cost.difference({ seq }) })
  return (
    <Loaded query={query} what="what differed" rows={2}>
      {({ before, after }) => (
        <dl>
          <dt>before</dt>
          <dd className="mono">
            {before === null ? <span className="muted">nothing</span> : <InertText text={before} />}
          </dd>
          <dt>now</dt>
          <dd className="mono">
            {after === null ? <span className="muted">nothing</span> : <InertText text={after} />}
          </dd>
        </dl>
      )}
    </Loaded>
  )
}
