import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { ToolRow } from '../../../kernel/wire/operator-tools.ts'
import { InertText } from '../../components/inert-text.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { useNow } from '../../lib/clock.ts'
import { duration, share, whole } from '../../lib/format.ts'
import { useKeys } from '../../lib/keys.ts'
import { useListKeys } from '../../lib/list-keys.ts'
import { go } from '../../lib/route.ts'
import { authorityOf, authorOf } from './authority.ts'
import { AuditMark, Reach } from './marks.tsx'
import { ToolDrawer } from './tool-drawer.tsx'
import { type ColumnKey, columns, failureShare, type Order, shownRows, toolViews } from './views.ts'

interface Props {
  agent: string
  rows: ToolRow[]
  open: string | null
}

/** All tools of one agent, narrowed and sorted; beside it, all there is to the open one. */
export function ToolTable({ agent, rows, open }: Props) {
  const now = useNow()
  const filter = useRef<HTMLInputElement>(null)
  const [view, setView] = useState('all')
  const [words, setWords] = useState('')
  const [order, setOrder] = useState<Order>({ by: 'week', isDown: true })
  const shown = shownRows(rows, { view, words, order, now })
  const show = (tool: string | null) => go({ screen: 'tools', agent, tool })
  const marked = useListKeys(shown.length, (index) => show(shown[index]?.tool ?? null))
  // The mark takes the focus along: Enter then opens what is marked, whatever had it before.
  useEffect(() => {
    if (marked >= 0) document.querySelector<HTMLElement>('tr[data-selected] .tools-name')?.focus()
  }, [marked])
  useKeys({ '/': () => filter.current?.focus() })
  const opened = rows.find(({ tool }) => tool === open) ?? null
  const sortBy = (by: ColumnKey) =>
    setOrder((before) => ({
      by,
      isDown: before.by === by ? !before.isDown : typeof columns[by](rows[0] as ToolRow) !== 'string',
    }))
  const head = (by: ColumnKey, name: ReactNode, className?: string) => (
    <th className={className} aria-sort={order.by === by ? (order.isDown ? 'descending' : 'ascending') : undefined}>
      <button type="button" className="tools-sort" onClick={() => sortBy(by)}>
        {name}
        <span aria-hidden="true">{order.by === by ? (order.isDown ? ' ▾' : ' ▴') : ''}</span>
      </button>
    </th>
  )
  return (
    <div className="tools-body" data-open={opened !== null || undefined}>
      <section className="panel tools-list" aria-label="Tools">
        <header>
          <Summary rows={rows} />
          <input
            ref={filter}
            className="field tools-filter"
            value={words}
            onChange={(event) => setWords(event.target.value)}
            aria-label="Filter"
            placeholder="Filter   /"
          />
        </header>
        <fieldset className="tools-views">
          <legend className="sr">Views</legend>
          {toolViews.map(({ key, name, holds }) => (
            <button key={key} type="button" className="chip" aria-pressed={view === key} onClick={() => setView(key)}>
              {name} <span>{rows.filter((row) => holds(row, now)).length}</span>
            </button>
          ))}
        </fieldset>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it. */}
        <section className="tools-scroll" aria-label="Table of tools" tabIndex={0}>
          <table className="table">
            <thead>
              <tr>
                {head('tool', 'Tool')}
                {head('origin', 'Origin', 'tools-wide')}
                <th className="tools-roomy">Reach</th>
                {head('since', 'Since', 'tools-roomy')}
                <th className="tools-wide">Author</th>
                <th className="tools-wide">Approved by</th>
                {head('week', '7 d', 'figure tools-roomy')}
                {head('ok', 'OK', 'figure')}
                {head('median', 'Median', 'figure tools-wide')}
                {head('cost', 'Cost', 'figure tools-wide')}
                {head('used', 'Used', 'tools-wide')}
                {head('tests', 'Tests', 'figure tools-wide')}
                {head('audit', 'Audit')}
              </tr>
            </thead>
            <tbody>
              {shown.map((row, index) => (
                <Row
                  key={row.tool}
                  row={row}
                  isMarked={index === marked}
                  isOpen={row.tool === opened?.tool}
                  onOpen={() => show(row.tool)}
                />
              ))}
            </tbody>
          </table>
          {shown.length === 0 && (
            <p className="tools-none muted" role="status">
              No tool {words === '' ? 'is in this view' : 'fits the filter'}.
            </p>
          )}
        </section>
        {!rows.some(({ origin }) => origin === 'learned') && (
          <p className="tools-none muted">
            All of these came with the starting policy. A learned tool is one that {agent} wrote itself: it came with a
            proposal that was approved, under a name that the starting policy does not have.
          </p>
        )}
      </section>
      {opened && <ToolDrawer key={opened.tool} agent={agent} row={opened} onClose={() => show(null)} />}
    </div>
  )
}

function Row({
  row,
  isMarked,
  isOpen,
  onOpen,
}: {
  row: ToolRow
  isMarked: boolean
  isOpen: boolean
  onOpen: () => void
}) {
  const failed = failureShare(row)
  return (
    <tr
      data-testid="tool-row"
      data-selected={isMarked || undefined}
      data-opened={isOpen || undefined}
      data-over={row.undeclared.length > 0 || undefined}
    >
      <th scope="row">
        <button type="button" className="tools-name" aria-expanded={isOpen} onClick={onOpen}>
          <InertText text={row.tool} />
        </button>
        {row.undeclared.length > 0 && <span className="tone-bad tools-mark tools-narrow">✗ over-privileged</span>}
        {row.quarantined && <span className="tone-bad tools-mark">‖ quarantined</span>}
        {row.retirementAskedAt !== null && <span className="tone-wait tools-mark">▲ asked to retire</span>}
      </th>
      <td className="tools-wide">{row.origin === 'seed' ? <span className="muted">seed</span> : 'learned'}</td>
      <td className="tools-reach tools-roomy">
        <Reach row={row} />
      </td>
      <td className="tools-nowrap tools-roomy">
        {row.introduced ? `r${row.introduced.activation}` : '—'}
        {row.introduced?.proposal && <span className="muted"> {row.introduced.proposal}</span>}
      </td>
      <td className="tools-wide tools-nowrap">{row.introduced ? authorOf(row.introduced) : '—'}</td>
      <td className="tools-wide">{row.introduced ? authorityOf(row.introduced.by) : '—'}</td>
      <td className="figure tools-roomy">{whole(row.callsLast7Days)}</td>
      <td className="figure">
        <span className={failed !== null && failed >= 0.1 ? 'tone-bad' : undefined}>
          {failed === null ? '—' : share(1 - failed)}
        </span>
      </td>
      <td className="figure tools-wide">{duration(row.medianMs)}</td>
      <td className="figure tools-wide">{share(row.costShare)}</td>
      <td className="tools-wide tools-nowrap">
        {row.lastUsedAt === null ? <span className="muted">never</span> : <TimeAgo at={row.lastUsedAt} />}
      </td>
      <td className="figure tools-wide">{row.tests}</td>
      <td className="tools-nowrap">
        <AuditMark row={row} />
      </td>
    </tr>
  )
}

function Summary({ rows }: { rows: readonly ToolRow[] }) {
  const offered = rows.filter(({ isOffered }) => isOffered)
  const unaudited = offered.filter(({ audit }) => audit !== 'audited').length
  const over = rows.filter(({ undeclared }) => undeclared.length > 0).length
  const off = rows.filter(({ quarantined }) => quarantined !== null).length
  return (
    <p className="tools-summary" data-testid="tools-summary">
      <strong>
        {offered.length} {offered.length === 1 ? 'tool' : 'tools'}
      </strong>
      <span className="muted"> · {unaudited} unaudited</span>
      {over > 0 && <span className="tone-bad"> · ✗ {over} over-privileged</span>}
      {off > 0 && <span className="tone-bad"> · ‖ {off} in quarantine</span>}
    </p>
  )
}
