import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import type { EventKind } from '../../../kernel/wire/events.ts'
import type { EventRow } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { ScrollText } from '../../components/scroll-text.tsx'
import { Empty, errorText, LoadError, Skeleton } from '../../components/states.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { Verified } from '../../components/verified.tsx'
import { queryClient, useDesk, useStatus } from '../../lib/desk.tsx'
import { kindNames, lineOf } from '../../lib/event-line.ts'
import { absoluteTime, whole } from '../../lib/format.ts'
import { useKeys } from '../../lib/keys.ts'
import './history.css'

const rowHeight = 28
const pageSize = 200

/** Every event of the one log, newest first, read by keyset pages. */
export function HistoryScreen({ seq }: { seq?: number | undefined }) {
  const [text, setText] = useState('')
  const [kind, setKind] = useState<EventKind | ''>('')
  const search = useDeferredValue(text.trim())
  const field = useRef<HTMLInputElement>(null)
  useKeys({ '/': () => field.current?.focus() })
  return (
    <div className="history">
      <header className="history-bar">
        <h1>History</h1>
        <input
          ref={field}
          className="field history-text"
          value={text}
          maxLength={500}
          onChange={(event) => setText(event.target.value)}
          aria-label="Text to look for"
          placeholder="Text to look for  /"
        />
        <select
          className="field"
          value={kind}
          onChange={(event) => setKind(event.target.value as EventKind | '')}
          aria-label="Kind of event"
        >
          <option value="">all kinds</option>
          {kindNames.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <Integrity />
      </header>
      <List key={`${kind} ${search} ${seq}`} text={search} kind={kind} seq={seq} />
    </div>
  )
}

function List({ text, kind, seq }: { text: string; kind: EventKind | ''; seq: number | undefined }) {
  const desk = useDesk()
  const newest = useStatus().data?.lastSeq
  const query = useInfiniteQuery({
    queryKey: ['history', text, kind],
    initialPageParam: undefined as number | undefined,
    queryFn: ({ pageParam }) =>
      desk.events.read({
        order: 'desc',
        limit: pageSize,
        ...(pageParam === undefined ? {} : { before: pageParam }),
        ...(kind === '' ? {} : { kinds: [kind] }),
        ...(text === '' ? {} : { text }),
      }),
    getNextPageParam: (page) => (page.events.length < pageSize ? undefined : page.events.at(-1)?.seq),
    gcTime: 0,
  })
  const events = useMemo(() => query.data?.pages.flatMap((page) => page.events) ?? [], [query.data])
  const [open, setOpen] = useState<EventRow | null>(null)
  const linked = useQuery({
    queryKey: ['history-event', seq],
    queryFn: () => desk.events.get({ seq: seq ?? 0 }),
    enabled: seq !== undefined,
  })
  useEffect(() => {
    if (linked.data) setOpen(linked.data)
  }, [linked.data])
  const scroller = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 16,
    getItemKey: (index) => events[index]?.seq ?? index,
  })
  const items = list.getVirtualItems()
  const lastShown = items.at(-1)?.index ?? 0
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && lastShown >= events.length - 40) void fetchNextPage()
  }, [lastShown, events.length, hasNextPage, isFetchingNextPage, fetchNextPage])
  const at = events.findIndex((event) => event.seq === open?.seq)
  const openAt = (index: number) => {
    const event = events[index]
    if (!event) return
    list.scrollToIndex(index, { align: 'auto' })
    setOpen(event)
  }
  useKeys({
    j: () => openAt(Math.min(at + 1, events.length - 1)),
    k: () => openAt(Math.max(at - 1, 0)),
    ...(open ? { escape: () => setOpen(null) } : {}),
  })
  const first = events[0]?.seq ?? 0
  const isFiltered = text !== '' || kind !== ''
  const newer = !isFiltered && newest !== undefined ? newest - first : 0

  if (query.error && events.length === 0)
    return <LoadError what="history" error={query.error} retry={() => void query.refetch()} />
  if (query.isPending) return <Skeleton rows={12} />
  if (events.length === 0)
    return (
      <Empty title={isFiltered ? 'No event matches' : 'History is empty'}>
        {isFiltered && (
          <p className="muted">
            Looked for {text ? `the text “${text}”` : 'any text'} in {kind || 'all kinds'}. Take one of the two away to
            see more.
          </p>
        )}
      </Empty>
    )
  return (
    <div className="history-body">
      <div className="history-list">
        {newer > 0 && (
          <button type="button" className="button history-newer" onClick={() => void query.refetch()}>
            {whole(newer)} newer ↑
          </button>
        )}
        <div className="history-scroll" ref={scroller}>
          <div style={{ height: list.getTotalSize(), position: 'relative' }}>
            {items.map((item) => {
              const event = events[item.index]
              return (
                event && (
                  <HistoryRow
                    key={item.key}
                    event={event}
                    top={item.start}
                    isOpen={event.seq === open?.seq}
                    onOpen={setOpen}
                  />
                )
              )
            })}
          </div>
        </div>
      </div>
      {linked.error && (
        <p className="tone-bad" role="alert">
          ✗ Event {seq}: {errorText(linked.error)}
        </p>
      )}
      {open && <Inspector event={open} onClose={() => setOpen(null)} />}
    </div>
  )
}

function HistoryRow(props: { event: EventRow; top: number; isOpen: boolean; onOpen: (event: EventRow) => void }) {
  const { event, top, isOpen, onOpen } = props
  const line = lineOf(event)
  return (
    <button
      type="button"
      className="history-row"
      data-testid="history-row"
      style={{ transform: `translateY(${top}px)` }}
      aria-expanded={isOpen}
      onClick={() => onOpen(event)}
    >
      <span className="figure muted">{event.seq}</span>
      <TimeAgo at={event.at} className="muted" />
      <span className="muted history-subject" title={event.agent ?? undefined}>
        {event.task ?? event.agent ?? ''}
      </span>
      <span className={`tone-${line.tone}`}>
        <span aria-hidden="true">{line.icon}</span> {event.kind}
      </span>
      <span className="history-line">
        <InertText text={[line.word, line.text].filter(Boolean).join(' · ')} />
      </span>
      <span className="figure muted">
        {[...line.figures, isSimulated(event) ? 'simulated' : ''].filter(Boolean).join('  ')}
      </span>
    </button>
  )
}

/** The figures of a call to the offline model are not a bill. */
function isSimulated({ kind, data }: EventRow): boolean {
  return (
    kind === 'model.called' &&
    typeof data === 'object' &&
    data !== null &&
    'simulated' in data &&
    data.simulated === true
  )
}

function Inspector({ event, onClose }: { event: EventRow; onClose: () => void }) {
  const desk = useDesk()
  const proof = useMutation({ mutationFn: () => desk.events.get({ seq: event.seq }) })
  return (
    <aside className="history-inspector" aria-label={`Event ${event.seq}`}>
      <header>
        <h2>event {event.seq}</h2>
        <span className="muted">
          {absoluteTime(event.at)} · by {event.actor}
        </span>
        <button type="button" className="button quiet" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </header>
      <ScrollText label="The event as stored" className="history-raw">
        <InertText text={JSON.stringify(event, null, 2)} />
      </ScrollText>
      {proof.data ? (
        <p className="mono history-proof">
          hash {proof.data.hash}
          <br />
          previous {proof.data.prevHash}
        </p>
      ) : (
        <button type="button" className="button history-proof" onClick={() => proof.mutate()}>
          Show its place in the chain
        </button>
      )}
      {proof.error && <p className="tone-bad">✗ {errorText(proof.error)}</p>}
    </aside>
  )
}

/** The chain of hashes: what was verified, when, and the button that does it again. */
function Integrity() {
  const desk = useDesk()
  const status = useStatus().data
  const verify = useMutation({
    mutationFn: () => desk.history.verify(),
    onSettled: () => void queryClient.invalidateQueries({ queryKey: ['status'] }),
  })
  const known = status?.verified ?? null
  const result = verify.data ? { ...verify.data, at: known?.at ?? Date.now() } : known
  return (
    <span className="history-integrity" data-testid="integrity">
      <Verified subject="chain" verified={result} lastSeq={status?.lastSeq} />
      {verify.data?.firstBadSeq != null && <span className="tone-bad">first bad event {verify.data.firstBadSeq}</span>}
      {verify.error && <span className="tone-bad">✗ {errorText(verify.error)}</span>}
      <button
        type="button"
        className="button"
        data-testid="verify"
        disabled={verify.isPending}
        onClick={() => verify.mutate()}
      >
        {verify.isPending ? 'Verifying…' : 'Verify all of it'}
      </button>
    </span>
  )
}
