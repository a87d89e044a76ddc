import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { EventRow } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { ScrollText } from '../../components/scroll-text.tsx'
import { LoadError, Skeleton } from '../../components/states.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { lineOf } from '../../lib/event-line.ts'
import { absoluteTime, duration, money, shortHash, whole } from '../../lib/format.ts'
import { useKeys } from '../../lib/keys.ts'
import { hrefOf } from '../../lib/route.ts'
import { EventContent, hasContent } from './event-content.tsx'
import { isSimulated } from './event-row.tsx'
import { Fact } from './inspector-fact.tsx'
import { MarksPanel } from './marks-panel.tsx'
import { PastPanel } from './past-panel.tsx'

const tabs = ['Summary', 'Content', 'Raw'] as const

interface Props {
  seq: number
  query: string
  onClose: () => void
  onText: (text: string) => void
}

/** One event: what it says, what the agent was then, what the operator wrote beside it, and its place in the chain. */
export function Inspector({ seq, query, onClose, onText }: Props) {
  const desk = useDesk()
  const found = useQuery({ queryKey: ['history-event', seq], queryFn: () => desk.events.get({ seq }) })
  const [tab, setTab] = useState<(typeof tabs)[number]>('Summary')
  const copy = useMutation({
    mutationFn: () =>
      navigator.clipboard.writeText(`${location.href.split('#')[0]}${hrefOf({ screen: 'history', seq, query })}`),
  })
  useKeys({ escape: onClose, y: () => copy.mutate() })
  const event = found.data
  return (
    <aside className="history-inspector" aria-label={`Event ${seq}`} data-testid="inspector">
      <header>
        <h2>event {whole(seq)}</h2>
        {event && (
          <span className="muted history-when">
            {absoluteTime(event.at)} · by {event.actor}
          </span>
        )}
        <button type="button" className="button quiet" onClick={() => copy.mutate()} title="Copy a link to it (Y)">
          {copy.isSuccess ? 'Copied' : copy.error ? 'Not copied' : 'Copy link'}
        </button>
        <button type="button" className="button quiet" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </header>
      {found.error && <LoadError what={`event ${seq}`} error={found.error} retry={() => void found.refetch()} />}
      {found.isPending && <Skeleton rows={8} />}
      {event && (
        <>
          <div className="history-tabs" role="tablist" aria-label="Of the event">
            {tabs.map((name) => (
              <button
                key={name}
                type="button"
                role="tab"
                className="history-tab"
                aria-selected={tab === name}
                disabled={name === 'Content' && !hasContent(event)}
                onClick={() => setTab(name)}
              >
                {name}
              </button>
            ))}
          </div>
          {tab === 'Raw' ? (
            <ScrollText label="The event as stored" className="history-raw">
              <InertText text={JSON.stringify(event, null, 2)} />
            </ScrollText>
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it.
            <section className="history-inspected" aria-label={tab} tabIndex={0}>
              {tab === 'Summary' ? <Summary event={event} onText={onText} /> : <EventContent event={event} />}
            </section>
          )}
        </>
      )}
    </aside>
  )
}

function Summary({
  event,
  onText,
}: {
  event: EventRow & { hash: string; prevHash: string }
  onText: (text: string) => void
}) {
  const line = lineOf(event)
  const { agent, task, turn, step, revision, run } = event
  const place = [task, turn === null ? null : `turn ${turn}`, step === null ? null : `step ${step}`].filter(Boolean)
  return (
    <>
      <p className={`tone-${line.tone}`}>
        <span aria-hidden="true">{line.icon}</span> {event.kind}
      </p>
      <p>
        <InertText text={[line.word, line.text].filter(Boolean).join(' · ')} />
      </p>
      <dl className="history-facts">
        {agent && <Fact name="Agent">{agent}</Fact>}
        {place.length > 0 && (
          <Fact name="Place">
            {task ? <a href={hrefOf({ screen: 'live', task })}>{place.join(' · ')}</a> : place.join(' · ')}
            {run !== null && run !== 'task' && ` (${run})`}
          </Fact>
        )}
        {revision && (
          <Fact name="Revision">
            <button type="button" className="link mono" onClick={() => onText(`rev:${revision.slice(0, 12)}`)}>
              {shortHash(revision)}
            </button>
          </Fact>
        )}
        <Usage event={event} />
      </dl>
      <MarksPanel seq={event.seq} onText={onText} />
      {agent !== null && <PastPanel seq={event.seq} agent={agent} />}
      <section>
        <h3>Place in the chain</h3>
        <p className="mono history-proof">
          hash {event.hash}
          <br />
          previous {event.prevHash}
        </p>
      </section>
    </>
  )
}

function Usage({ event }: { event: EventRow }) {
  const { data, kind } = event
  const took = typeof data.durationMs === 'number' ? <Fact name="Took">{duration(data.durationMs)}</Fact> : null
  if (kind !== 'model.called') return took
  const usage = data.usage as Record<string, number> | null
  const of = (name: string) => (usage === null ? 'not reported' : whole(usage[name] ?? 0))
  return (
    <>
      <Fact name="Model">
        <InertText text={String(data.model)} />
      </Fact>
      <Fact name="Input, uncached">{of('uncached')}</Fact>
      <Fact name="Input, cache read">{of('cacheRead')}</Fact>
      <Fact name="Input, cache write">{of('cacheWrite')}</Fact>
      <Fact name="Output">{of('output')}</Fact>
      <Fact name="Cost">
        {typeof data.costNanoUsd === 'number' ? money(data.costNanoUsd) : `unknown: ${String(data.costReason ?? '')}`}
        {isSimulated(event) && ' simulated'}
      </Fact>
      {took}
    </>
  )
}
