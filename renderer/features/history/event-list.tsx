import { keepPreviousData, useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import type { EventRow } from '../../../kernel/wire/operator.ts'
import type { EventFacets } from '../../../kernel/wire/operator-events.ts'
import { parseQuery, withoutTerm } from '../../../kernel/wire/operator-query.ts'
import { Empty, errorText, LoadError, Skeleton } from '../../components/states.tsx'
import { useDesk, useStatus } from '../../lib/desk.tsx'
import { useFixedRows } from '../../lib/fixed-rows.ts'
import { whole } from '../../lib/format.ts'
import { useKeys } from '../../lib/keys.ts'
import { EventRowView, rowHeight } from './event-row.tsx'
import { useMarks } from './use-marks.ts'

const pageSize = 200

interface Props {
  query: string
  facets: EventFacets | undefined
  open: number | null
  onOpen: (seq: number | null) => void
  onText: (text: string) => void
  hasFacets: boolean
  onFacets: () => void
}

/** Without a query every event has its place by its number, so that any of them is one scroll away. */
export function EventList(props: Props) {
  return props.query === '' ? <Whole {...props} /> : <Hits {...props} />
}

function Whole(props: Props) {
  const desk = useDesk()
  const status = useStatus()
  const newest = status.data?.lastSeq
  // Rows stay where they are while new events come: those wait above.
  const [upTo, setUpTo] = useState<number | null>(null)
  useEffect(() => {
    if (upTo === null && newest !== undefined) setUpTo(newest)
  }, [upTo, newest])
  const count = upTo ?? 0
  const rows = useFixedRows(count, rowHeight)
  const { first, count: shown } = rows.window
  const pages = new Set<number>()
  // Page n holds the events (n * pageSize, (n + 1) * pageSize], so that a page stays the same as the log grows.
  if (count > 0)
    for (const index of [first - 20, first, first + shown - 1, first + shown + 20])
      pages.add(Math.floor((count - Math.max(0, Math.min(count - 1, index)) - 1) / pageSize))
  const loaded = useQueries({
    queries: [...pages].map((page) => ({
      queryKey: ['history-page', page, Math.min(count, (page + 1) * pageSize)],
      queryFn: () =>
        desk.events.read({
          after: page * pageSize,
          before: Math.min(count, (page + 1) * pageSize) + 1,
          limit: pageSize,
        }),
      gcTime: 60_000,
    })),
  })
  const bySeq = new Map(loaded.flatMap(({ data }) => (data?.events ?? []).map((event) => [event.seq, event] as const)))
  const failed = loaded.find(({ error }) => error !== null)
  if (status.error && newest === undefined)
    return <LoadError what="history" error={status.error} retry={() => void status.refetch()} />
  if (upTo === null) return <Skeleton rows={12} />
  if (count === 0) return <Empty title="History is empty" />
  const newer = (newest ?? count) - count
  return (
    <Frame
      {...props}
      rows={rows}
      count={count}
      eventAt={(index) => bySeq.get(count - index)}
      indexOf={(seq) => (seq >= 1 && seq <= count ? count - seq : -1)}
      seqAt={(index) => count - index}
      newer={newer}
      onNewer={() => setUpTo(newest ?? count)}
      said={`${whole(count)} events`}
      error={failed?.error ?? null}
      retry={() => void failed?.refetch()}
    />
  )
}

function Hits(props: Props) {
  const desk = useDesk()
  const { query, facets } = props
  const found = useInfiniteQuery({
    queryKey: ['history', query],
    initialPageParam: undefined as number | undefined,
    queryFn: ({ pageParam }) =>
      desk.events.find({ query, limit: pageSize, ...(pageParam === undefined ? {} : { before: pageParam }) }),
    getNextPageParam: (page) => page.next ?? undefined,
    gcTime: 0,
  })
  const events = useMemo(() => found.data?.pages.flatMap((page) => page.events) ?? [], [found.data])
  const rows = useFixedRows(events.length, rowHeight)
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = found
  const lastShown = rows.window.first + rows.window.count
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && lastShown >= events.length - 60) void fetchNextPage()
  }, [lastShown, events.length, hasNextPage, isFetchingNextPage, fetchNextPage])
  if (found.error && events.length === 0)
    return <LoadError what="the hits" error={found.error} retry={() => void found.refetch()} />
  if (found.isPending) return <Skeleton rows={12} />
  if (events.length === 0) return <NothingFound query={query} onText={props.onText} />
  const count = facets === undefined ? whole(events.length) : `${whole(facets.count)}${facets.isCut ? '+' : ''}`
  return (
    <Frame
      {...props}
      rows={rows}
      count={events.length}
      eventAt={(index) => events[index]}
      indexOf={(seq) => events.findIndex((event) => event.seq === seq)}
      seqAt={(index) => events[index]?.seq ?? null}
      newer={0}
      onNewer={() => {}}
      said={`${count} ${count === '1' ? 'hit' : 'hits'}`}
      error={found.error}
      retry={() => void found.fetchNextPage()}
    />
  )
}

interface FrameProps extends Props {
  rows: ReturnType<typeof useFixedRows>
  count: number
  eventAt: (index: number) => EventRow | undefined
  indexOf: (seq: number) => number
  seqAt: (index: number) => number | null
  newer: number
  onNewer: () => void
  said: string
  error: unknown
  retry: () => void
}

function Frame(props: FrameProps) {
  const { rows, count, eventAt, indexOf, seqAt, open, onOpen } = props
  const marks = useMarks()
  const at = open === null ? -1 : indexOf(open)
  const go = (index: number) => {
    const next = Math.max(0, Math.min(count - 1, index))
    rows.show(next)
    onOpen(seqAt(next))
  }
  const page = Math.max(1, rows.window.count - 2)
  useKeys({
    j: () => go(at + 1),
    k: () => go(at - 1),
    ']': () => go(at + 1),
    '[': () => go(at - 1),
    pagedown: () => go(at + page),
    pageup: () => go(at - page),
    home: () => go(0),
    end: () => go(count - 1),
  })
  // A link to an event shows it in its place.
  const [isPlaced, setPlaced] = useState(false)
  useEffect(() => {
    if (isPlaced || at < 0 || !rows.isMounted) return
    setPlaced(true)
    rows.show(at)
  }, [isPlaced, at, rows])
  const { first, count: shown, offset, height } = rows.window
  return (
    <div className="history-list">
      <p className="history-said">
        <button type="button" className="button quiet" aria-pressed={props.hasFacets} onClick={props.onFacets}>
          Facets
        </button>
        <span className="muted" aria-live="polite" data-testid="said">
          {props.said}
        </span>
        {props.error !== null && props.error !== undefined && (
          <span className="tone-bad" role="alert">
            ✗ {errorText(props.error)}{' '}
            <button type="button" className="button" onClick={props.retry}>
              Try again
            </button>
          </span>
        )}
        {props.newer > 0 && (
          <button type="button" className="button history-newer" onClick={props.onNewer}>
            {whole(props.newer)} newer ↑
          </button>
        )}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it. */}
      <section className="history-scroll" ref={rows.scroller} onScroll={rows.onScroll} aria-label="Events" tabIndex={0}>
        <div style={{ height: Math.max(height, 1) }}>
          <div className="history-rows">
            {Array.from({ length: shown }, (_, place) => {
              const index = first + place
              const seq = seqAt(index)
              const event = eventAt(index)
              return (
                <EventRowView
                  key={seq ?? index}
                  seq={seq}
                  event={event}
                  marks={seq === null ? undefined : marks.get(seq)}
                  top={place * rowHeight - offset}
                  isOpen={seq !== null && seq === open}
                  onOpen={onOpen}
                />
              )
            })}
          </div>
        </div>
      </section>
    </div>
  )
}

/** What was understood, and what would be found without each part of it. */
function NothingFound({ query, onText }: { query: string; onText: (text: string) => void }) {
  const desk = useDesk()
  const { terms } = parseQuery(query)
  const without = terms.length < 2 ? [] : terms.map((term) => ({ term, rest: withoutTerm(query, term) }))
  const counts = useQuery({
    queryKey: ['history-relaxed', query],
    queryFn: () => Promise.all(without.map(({ rest }) => desk.events.facets({ query: rest }))),
    enabled: without.length > 0,
    placeholderData: keepPreviousData,
    gcTime: 0,
  })
  return (
    <Empty title="No event matches">
      <p className="muted">
        Looked for{' '}
        {terms.map((term, index) => (
          <span key={term.at}>
            {index > 0 && ' and '}
            <code>{term.text}</code>
          </span>
        ))}
        .
      </p>
      {without.map(({ term, rest }, index) => {
        const facets = counts.data?.[index]
        return (
          <p key={term.at}>
            <button type="button" className="button" onClick={() => onText(rest)}>
              Without <code>{term.text}</code>
              <span className="muted">
                {facets === undefined ? '…' : `${whole(facets.count)}${facets.isCut ? '+' : ''} events`}
              </span>
            </button>
          </p>
        )
      })}
      {without.length === 0 && (
        <button type="button" className="button" onClick={() => onText('')}>
          Show all events
        </button>
      )}
    </Empty>
  )
}
