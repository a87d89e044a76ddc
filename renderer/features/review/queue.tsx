import { useEffect } from 'react'
import { DiffPreview } from '../../components/diff-preview.tsx'
import { InertText } from '../../components/inert-text.tsx'
import { ProposalStatus, Risk } from '../../components/status.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { useNow } from '../../lib/clock.ts'
import { absoluteTime } from '../../lib/format.ts'
import { useListKeys } from '../../lib/list-keys.ts'
import { go, hrefOf } from '../../lib/route.ts'
import { useAhead } from './queries.ts'
import { isDeferred, type Queued, queuesOf } from './queue-order.ts'

const latest = 5

/** What waits by risk and age, what is under way, then everything decided: a rejected proposal never disappears. */
export function Queue({ proposals }: { proposals: Queued[] }) {
  const now = useNow()
  const { waiting, moving, decided } = queuesOf(proposals, now)
  const rows = [...waiting, ...moving, ...decided]
  const selected = useListKeys(rows.length, (index) => {
    const row = rows[index]
    if (row) go({ screen: 'review', agent: row.agent, proposal: row.proposal })
  })
  const chosen = rows[selected]
  const loadAhead = useAhead()
  useEffect(() => {
    if (!chosen) return
    const handle = requestIdleCallback(() => loadAhead(chosen), { timeout: 1000 })
    return () => cancelIdleCallback(handle)
  }, [chosen, loadAhead])
  const list = (some: readonly Queued[], from: number) =>
    some.map((row, index) => (
      <QueueRow
        key={`${row.agent}/${row.proposal}`}
        row={row}
        now={now}
        isSelected={from + index === selected}
        onNear={loadAhead}
      />
    ))
  return (
    <>
      <section className="panel" aria-label="Waiting for you">
        <header>
          <h2>Waiting for you</h2>
          <span className="muted">{waiting.length}</span>
        </header>
        {waiting.length === 0 && (
          <p className="review-note muted">
            Nothing to decide.
            {decided.length > 0 && ` The last ${Math.min(latest, decided.length)} decisions are below.`}
          </p>
        )}
        {list(waiting, 0)}
      </section>
      {chosen && chosen.files.length > 0 && <DiffPreview key={`${chosen.agent}/${chosen.proposal}`} of={chosen} />}
      {moving.length > 0 && (
        <section className="panel" aria-label="Under way">
          <header>
            <h2>Under way</h2>
            <span className="muted">{moving.length}</span>
          </header>
          {list(moving, waiting.length)}
        </section>
      )}
      {decided.length > 0 && (
        <section className="panel" aria-label="Decided">
          <header>
            <h2>Decided</h2>
            <span className="muted">{decided.length}</span>
          </header>
          {list(decided, waiting.length + moving.length)}
        </section>
      )}
    </>
  )
}

interface RowProps {
  row: Queued
  now: number
  isSelected: boolean
  /** The pointer or the focus is on it: it may be opened next. */
  onNear: (row: Queued) => void
}

function QueueRow({ row, now, isSelected, onNear }: RowProps) {
  const isLater = row.state === 'ready' && isDeferred(row, now)
  return (
    <a
      className="queue-row"
      href={hrefOf({ screen: 'review', agent: row.agent, proposal: row.proposal })}
      data-testid="review-queue-item"
      data-state={row.state}
      data-selected={isSelected || undefined}
      data-deferred={isLater || undefined}
      onPointerEnter={() => onNear(row)}
      onFocus={() => onNear(row)}
    >
      <strong>{row.proposal}</strong>
      <span>
        {isLater ? (
          <span className="tone-muted" title={absoluteTime(row.deferredUntil ?? 0)}>
            <span aria-hidden="true">◷</span> deferred, back in {inTime((row.deferredUntil ?? 0) - now)}
          </span>
        ) : (
          <ProposalStatus state={row.state} />
        )}
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

function inTime(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / 60_000))
  if (minutes < 60) return `${minutes} m`
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1440)} d`
}
