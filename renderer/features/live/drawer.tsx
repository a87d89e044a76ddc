import { useMutation } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { EventRow } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { ScrollText } from '../../components/scroll-text.tsx'
import { errorText } from '../../components/states.tsx'
import { Simulated } from '../../components/status.tsx'
import { useDesk } from '../../lib/desk.tsx'
import type { FeedRow } from '../../lib/feed-rows.ts'
import { absoluteTime, bytes, duration, money, whole } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'

interface Props {
  row: FeedRow
  events: readonly EventRow[]
  isSimulated: boolean
  onClose: () => void
}

/** All there is to one row of the feed: arguments, output, tokens, cost, and the events as they are in history. */
export function Drawer({ row, events, isSimulated, onClose }: Props) {
  const call = row.events[0]?.data.call
  // A tool that was still running when its row was opened gets its end here.
  const own = useMemo(
    () => (typeof call === 'string' ? events.filter((event) => event.data.call === call) : row.events),
    [call, events, row],
  )
  const head = row.events[0]
  if (!head) return null
  return (
    <section className="drawer" aria-label={`Event ${row.seq}`} data-testid="drawer">
      <header>
        <h2>
          <InertText text={row.line.word} />
        </h2>
        <span className="muted">
          event {row.seq}
          {row.step !== null && ` · step ${row.step}`} · {absoluteTime(row.at)} · by {head.actor}
        </span>
        <button type="button" className="button quiet" onClick={onClose} aria-label="Close" title="Esc">
          ✕
        </button>
      </header>
      <div className="drawer-body">
        {own.map((event) => (
          <Part key={event.seq} event={event} isSimulated={isSimulated} />
        ))}
        <Raw events={own} />
      </div>
    </section>
  )
}

function Part({ event, isSimulated }: { event: EventRow; isSimulated: boolean }) {
  const { data } = event
  if (event.kind === 'tool.called')
    return <Text label="Arguments" text={pretty(data.arguments)} blob={data.argumentsBlob} />
  if (event.kind === 'sandbox.executed')
    return (
      <p className="muted">
        sandbox {String(data.op)} <InertText className="mono" text={String(data.what)} /> · exit{' '}
        {String(data.exitCode ?? '—')} · {duration(data.durationMs as number)} · {bytes(data.bytes as number)}
        {data.timedOut === true && ' · timed out'}
      </p>
    )
  if (event.kind === 'tool.finished')
    return (
      <>
        <p>
          <span className={data.outcome === 'ok' ? 'tone-ok' : 'tone-bad'}>
            {data.outcome === 'ok'
              ? '✓ ok'
              : data.outcome === 'interrupted'
                ? '✗ interrupted: its effect is unknown'
                : '✗ error'}
          </span>{' '}
          <span className="muted">
            {duration(data.durationMs as number | null)} · {bytes(data.outputBytes as number)}
          </span>
        </p>
        <Text label="Output" text={String(data.output)} blob={data.outputBlob} />
      </>
    )
  if (event.kind === 'model.called') return <ModelCall data={data} isSimulated={isSimulated} />
  if (event.kind === 'proposal.made')
    return (
      <p>
        <a href={hrefOf({ screen: 'review', agent: event.agent, proposal: String(data.proposal) })}>
          Review {String(data.proposal)}
        </a>
      </p>
    )
  if (event.kind === 'message.appended' || event.kind === 'note.added' || event.kind === 'task.steered')
    return <Text label="Text" text={String(data.text)} blob={undefined} />
  return null
}

function ModelCall({ data, isSimulated }: { data: EventRow['data']; isSimulated: boolean }) {
  const usage = data.usage as Record<'uncached' | 'cacheRead' | 'cacheWrite' | 'output' | 'reasoning', number> | null
  const difference = data.firstDifference as { index: number; kind: string } | null
  const output = (data.output ?? []) as { hash: string; type: string }[]
  return (
    <>
      <dl className="pairs">
        <dt>Model</dt>
        <dd>
          <InertText text={String(data.model)} /> <Simulated isSimulated={isSimulated} />
        </dd>
        <dt>Status</dt>
        <dd>
          {String(data.status)}, {String(data.attempts)} {data.attempts === 1 ? 'attempt' : 'attempts'},{' '}
          {duration(data.durationMs as number)}
        </dd>
        {usage ? (
          <>
            <dt>Uncached input</dt>
            <dd>{whole(usage.uncached)}</dd>
            <dt>Cache read</dt>
            <dd>{whole(usage.cacheRead)}</dd>
            <dt>Cache write</dt>
            <dd>{whole(usage.cacheWrite)}</dd>
            <dt>Output</dt>
            <dd>
              {whole(usage.output)}
              {usage.reasoning > 0 && `, ${whole(usage.reasoning)} of it reasoning`}
            </dd>
          </>
        ) : (
          <>
            <dt>Tokens</dt>
            <dd>not reported</dd>
          </>
        )}
        <dt>Cost</dt>
        <dd>
          {money(data.costNanoUsd as number | null)}{' '}
          {typeof data.costReason === 'string' && <span className="muted">{data.costReason}</span>}
        </dd>
        <dt>Prompt</dt>
        <dd>
          {String(data.items)} items, {String(data.keptItems)} kept from the request before
          {difference && (
            <span className="tone-bad">
              {' '}
              ✕ the cache breaks at item {difference.index} ({difference.kind})
            </span>
          )}
        </dd>
      </dl>
      {typeof data.error === 'string' && <Text label="Error" text={data.error} blob={undefined} />}
      {output.map((item) => (
        <Text key={item.hash} label={`Output: ${item.type}`} text={null} blob={item.hash} />
      ))}
    </>
  )
}

/** Inert text; what is longer than its event is fetched when asked for. */
function Text({ label, text, blob }: { label: string; text: string | null; blob: unknown }) {
  const desk = useDesk()
  const whole = useMutation({ mutationFn: (hash: string) => desk.events.blob({ hash, length: 262_144 }) })
  const shown = whole.data
    ? whole.data.binary
      ? `(binary, ${bytes(whole.data.totalBytes)})`
      : pretty(whole.data.text)
    : text
  return (
    <div className="drawer-text">
      <h3>{label}</h3>
      {shown !== null && (
        <ScrollText label={label} className="block">
          <InertText text={shown} />
        </ScrollText>
      )}
      {typeof blob === 'string' && !whole.data && (
        <button type="button" className="button" disabled={whole.isPending} onClick={() => whole.mutate(blob)}>
          {text === null ? 'Show' : 'Show all of it'}
        </button>
      )}
      {whole.error && <p className="tone-bad">✗ {errorText(whole.error)}</p>}
    </div>
  )
}

function Raw({ events }: { events: readonly EventRow[] }) {
  const [isOpen, setOpen] = useState(false)
  const text = JSON.stringify(events, null, 2)
  return (
    <div className="drawer-text">
      <p>
        <button type="button" className="button quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? '▾' : '▸'} Raw events
        </button>
        <button type="button" className="button quiet" onClick={() => void navigator.clipboard.writeText(text)}>
          Copy
        </button>
      </p>
      {isOpen && (
        <ScrollText label="Raw events" className="block">
          <InertText text={text} />
        </ScrollText>
      )}
    </div>
  )
}

function pretty(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
