import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { InertText } from '../../components/inert-text.tsx'
import { Empty } from '../../components/states.tsx'
import type { Feed, FeedState } from '../../lib/feed.ts'
import { type FeedFilter, type FeedRow, matches, rowsOf } from '../../lib/feed-rows.ts'
import { absoluteTime } from '../../lib/format.ts'
import { useKeys } from '../../lib/keys.ts'

const rowHeight = 28
const filters: FeedFilter[] = ['all', 'model', 'tool', 'policy', 'task', 'errors']

interface Props {
  feed: Feed
  state: FeedState
  loadEarlier: () => Promise<void>
  openSeq: number | null
  onOpen: (row: FeedRow) => void
}

/** Events as they happen. At the end it follows; scrolled up it holds still and counts what is new. */
export function FeedList({ feed, state, loadEarlier, openSeq, onOpen }: Props) {
  const [filter, setFilter] = useState<FeedFilter>('all')
  const all = useMemo(() => rowsOf(state.events), [state.events])
  const rows = useMemo(() => all.filter((row) => matches(row, filter)), [all, filter])
  const scroller = useRef<HTMLDivElement>(null)
  const [heldAt, setHeldAt] = useState<number | null>(null)
  const isFollowing = heldAt === null
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    getItemKey: (index) => rows[index]?.seq ?? index,
  })

  // Rows that come in or go at the front must not move what is being read.
  const first = useRef<number | null>(null)
  useLayoutEffect(() => {
    const element = scroller.current
    const before = first.current
    first.current = rows[0]?.seq ?? null
    if (!element) return
    if (isFollowing) element.scrollTop = element.scrollHeight
    else if (before !== null && first.current !== null && first.current < before) {
      const added = rows.findIndex((row) => row.seq === before)
      if (added > 0) element.scrollTop += added * rowHeight
    }
  }, [rows, isFollowing])

  useEffect(() => feed.hold(!isFollowing), [feed, isFollowing])

  const onScroll = () => {
    const element = scroller.current
    if (!element) return
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < rowHeight
    if (isAtEnd) setHeldAt(null)
    else if (isFollowing) setHeldAt(rows.at(-1)?.seq ?? 0)
    if (element.scrollTop < rowHeight * 20 && state.hasEarlier) void loadEarlier()
  }
  const index = rows.findIndex((row) => row.seq === openSeq)
  const openAt = (to: number) => {
    const row = rows[to]
    if (!row) return
    list.scrollToIndex(to, { align: 'auto' })
    onOpen(row)
  }
  useKeys({
    j: () => openAt(index < 0 ? rows.length - 1 : Math.min(index + 1, rows.length - 1)),
    k: () => openAt(index < 0 ? rows.length - 1 : Math.max(index - 1, 0)),
    e: () => openAt(rows.findIndex((row, at) => at > index && row.line.isError)),
    end: () => setHeldAt(null),
  })
  const fresh = heldAt === null ? 0 : rows.length - 1 - rows.findLastIndex((row) => row.seq <= heldAt)

  return (
    <section className="feed" aria-label="Events">
      <div className="feed-bar" role="toolbar" aria-label="Which events">
        {filters.map((name) => (
          <button
            key={name}
            type="button"
            className="feed-filter"
            aria-pressed={filter === name}
            onClick={() => setFilter(name)}
          >
            {name}
          </button>
        ))}
        <span className="muted feed-follow">{isFollowing ? '● following' : '‖ holding'}</span>
      </div>
      {state.error && <p className="live-error tone-bad">✗ {state.error}</p>}
      {state.isLoaded && rows.length === 0 && (
        <Empty title={filter === 'all' ? 'Waiting for the first event' : `No ${filter} events so far`}>
          {filter === 'all' && <p className="muted">The sandbox and the executor are starting.</p>}
        </Empty>
      )}
      <div className="feed-scroll" ref={scroller} onScroll={onScroll}>
        <div style={{ height: list.getTotalSize(), position: 'relative' }}>
          {list.getVirtualItems().map((item) => {
            const row = rows[item.index]
            return row && <Row key={item.key} row={row} top={item.start} isOpen={row.seq === openSeq} onOpen={onOpen} />
          })}
        </div>
      </div>
      {!isFollowing && (
        <button type="button" className="button feed-new" onClick={() => setHeldAt(null)}>
          {fresh} new ↓
        </button>
      )}
    </section>
  )
}

function Row(props: { row: FeedRow; top: number; isOpen: boolean; onOpen: (row: FeedRow) => void }) {
  const { row, top, isOpen, onOpen } = props
  const { line } = row
  return (
    <button
      type="button"
      className={`feed-row feed-${line.tone}`}
      style={{ transform: `translateY(${top}px)` }}
      data-testid="feed-row"
      data-kind={row.events[0]?.kind}
      aria-expanded={isOpen}
      title={`event ${row.seq}, ${absoluteTime(row.at)}`}
      onClick={() => onOpen(row)}
    >
      <span className="feed-step muted">{row.step ?? ''}</span>
      <span className={`feed-icon tone-${line.tone}`} aria-hidden="true">
        {line.icon}
      </span>
      <span className={`feed-word tone-${line.tone}`}>
        <InertText text={line.word} />
      </span>
      <span className="feed-text">
        <InertText text={line.text} />
      </span>
      <span className="feed-figures muted">{line.figures.join('  ')}</span>
    </button>
  )
}
