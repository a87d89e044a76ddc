import { useQuery } from '@tanstack/react-query'
import type { ReviewerHealth as Health } from '../../../kernel/wire/operator-review.ts'
import { InertText } from '../../components/inert-text.tsx'
import { Loaded } from '../../components/states.tsx'
import { Risk } from '../../components/status.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { duration, share, whole } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'
import './reviewer-health.css'
import { warningsOf } from './reviewer-warnings.ts'

const days = 30

/** Whether reviews are still read: how fast, how thoroughly, and what came of them. */
export function ReviewerHealth() {
  const desk = useDesk()
  const query = useQuery({ queryKey: ['reviewer'], queryFn: () => desk.reviewer.health({ days }) })
  return (
    <section className="panel health" aria-label="Your reviews" data-testid="reviewer-health">
      <header>
        <h2>Your reviews</h2>
        <span className="muted">of all agents, the last {days} days</span>
      </header>
      <Loaded query={query} what="how your reviews went" rows={3}>
        {(health) => <Body health={health} />}
      </Loaded>
    </section>
  )
}

function Body({ health }: { health: Health }) {
  if (health.decisions + health.ruleHits + health.expired === 0)
    return <p className="health-body muted">Nothing has been decided in this time.</p>
  const warnings = warningsOf(health)
  const busiest = Math.max(0, ...health.perHour.map(({ decisions }) => decisions))
  return (
    <div className="health-body">
      {warnings.length > 0 && (
        <ul>
          {warnings.map((warning) => (
            <li key={warning} className="tone-wait">
              ▲ {warning}
            </li>
          ))}
        </ul>
      )}
      <dl className="health-figures">
        <Figure name="Decisions" value={whole(health.decisions)} note={verdicts(health.byVerdict)} />
        <Figure name="Busiest hour" value={whole(busiest)} note="decisions" />
        <Figure name="Diff open, median" value={duration(health.medianOpenMs)} note="a decision" />
        <Figure name="Per changed line" value={duration(health.medianMsPerChangedLine)} note="median" />
        <Figure name="By rules" value={whole(health.ruleHits)} note="without you" />
        <Figure name="Expired" value={whole(health.expired)} note="undecided" />
      </dl>
      {health.byTier.length > 0 && (
        <ul className="health-tiers">
          {health.byTier.map(({ risk, decided, approved }) => (
            <li key={risk}>
              <Risk tier={risk} /> {approved} of {decided} approved ({share(approved / decided)})
            </li>
          ))}
        </ul>
      )}
      <Items title="Approved without opening a file" items={health.approvedUnread} />
      <Items title="Approved, later rolled back" items={health.laterRolledBack} />
    </div>
  )
}

function Figure({ name, value, note }: { name: string; value: string; note: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong> <span className="muted">{note}</span>
      </dd>
    </div>
  )
}

const itemsShown = 20

function Items({
  title,
  items,
}: {
  title: string
  items: { agent: string; proposal: string; reason?: string | null }[]
}) {
  if (items.length === 0) return null
  return (
    <section>
      <h3>
        {title} ({items.length})
      </h3>
      <ul>
        {items.slice(0, itemsShown).map(({ agent, proposal, reason }) => (
          <li key={`${agent} ${proposal}`}>
            <a href={hrefOf({ screen: 'review', agent, proposal })}>{proposal}</a>{' '}
            <span className="muted">of {agent}</span>
            {reason && (
              <>
                {': '}
                <InertText text={reason} />
              </>
            )}
          </li>
        ))}
        {items.length > itemsShown && <li className="muted">and {items.length - itemsShown} more</li>}
      </ul>
    </section>
  )
}

function verdicts(by: Record<string, number>): string {
  return Object.entries(by)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(', ')
}
