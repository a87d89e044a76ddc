import type { ProposalSummary } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { ProposalStatus, Risk } from '../../components/status.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { useListKeys } from '../../lib/list-keys.ts'
import { go, hrefOf } from '../../lib/route.ts'

const open = new Set<ProposalSummary['state']>(['checking', 'ready', 'approved', 'activating', 'probation'])

/** Waiting first, oldest first; then everything decided: a rejected proposal never disappears. */
export function Queue({ proposals }: { proposals: ProposalSummary[] }) {
  const waiting = proposals.filter((each) => open.has(each.state)).sort((a, b) => a.madeAt - b.madeAt)
  const decided = proposals.filter((each) => !open.has(each.state)).sort((a, b) => b.madeAt - a.madeAt)
  const rows = [...waiting, ...decided]
  const selected = useListKeys(rows.length, (index) => {
    const row = rows[index]
    if (row) go({ screen: 'review', agent: row.agent, proposal: row.proposal })
  })
  return (
    <>
      <section className="panel" aria-label="Open">
        <header>
          <h2>Open</h2>
          <span className="muted">{waiting.length}</span>
        </header>
        {waiting.length === 0 && <p className="review-note muted">Nothing to decide.</p>}
        {waiting.map((row, index) => (
          <QueueRow key={`${row.agent}/${row.proposal}`} row={row} isSelected={index === selected} />
        ))}
      </section>
      {decided.length > 0 && (
        <section className="panel" aria-label="Decided">
          <header>
            <h2>Decided</h2>
            <span className="muted">{decided.length}</span>
          </header>
          {decided.map((row, index) => (
            <QueueRow key={`${row.agent}/${row.proposal}`} row={row} isSelected={waiting.length + index === selected} />
          ))}
        </section>
      )}
    </>
  )
}

function QueueRow({ row, isSelected }: { row: ProposalSummary; isSelected: boolean }) {
  return (
    <a
      className="queue-row"
      href={hrefOf({ screen: 'review', agent: row.agent, proposal: row.proposal })}
      data-testid="review-queue-item"
      data-state={row.state}
      data-selected={isSelected || undefined}
    >
      <strong>{row.proposal}</strong>
      <span>
        <ProposalStatus state={row.state} />
      </span>
      <span>
        <Risk tier={row.risk} />
      </span>
      <span className="queue-words">
        <span className="queue-claim">
          <span className="muted">claims </span>“<InertText text={row.claim} />”
        </span>
        {row.reason && (
          <span className="queue-claim muted" title={row.reason}>
            reason: <InertText text={row.reason} />
          </span>
        )}
      </span>
      <span className="figure">
        {row.files.length} {row.files.length === 1 ? 'file' : 'files'} +{row.addedLines} −{row.removedLines}
      </span>
      <span className="figure muted">
        {row.agent} · <TimeAgo at={row.madeAt} />
      </span>
    </a>
  )
}
