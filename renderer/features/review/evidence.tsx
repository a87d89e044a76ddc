import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { ScrollText } from '../../components/scroll-text.tsx'
import { CheckVerdict } from '../../components/status.tsx'
import { duration } from '../../lib/format.ts'

/** What the kernel measured, then what the agent claims: never the other way round, never in one voice. */
export function Evidence({ detail }: { detail: ProposalDetail }) {
  return (
    <aside className="review-evidence" aria-label="Evidence">
      <section className="measured" data-testid="measured">
        <h2>Measured by kernel</h2>
        {detail.problems.map((problem) => (
          <p key={`${problem.path} ${problem.problem}`} className="tone-bad">
            ✗ <InertText className="mono" text={problem.path} /> <InertText text={problem.problem} />
          </p>
        ))}
        <ul>
          {detail.checks.map((check) => (
            <li key={check.seq} className="check" data-testid="check">
              <div className="check-line">
                <CheckVerdict verdict={check.verdict} /> <strong>{check.check}</strong>
                <span className="muted check-time">{duration(check.durationMs)}</span>
              </div>
              <p className="check-summary">
                <InertText text={check.summary} />
              </p>
              <Details details={check.details} />
            </li>
          ))}
          {detail.pendingChecks.map((check) => (
            <li key={check} className="check muted">
              ◐ {check}: not measured yet
            </li>
          ))}
        </ul>
        {detail.checks.length === 0 && detail.pendingChecks.length === 0 && <p className="muted">No check was run.</p>}
      </section>
      <section className="claimed" data-testid="claimed">
        <h2>Claimed by {detail.by === 'executor' ? 'agent' : 'operator'}</h2>
        <blockquote>
          <Quote label="claim" text={detail.claim} />
          <Quote label="why" text={detail.why} />
          {detail.expects !== null && <Quote label="expects" text={detail.expects} />}
        </blockquote>
        {detail.evidence.length > 0 && <p className="muted">It points to events {detail.evidence.join(', ')}.</p>}
      </section>
    </aside>
  )
}

function Quote({ label, text }: { label: string; text: string }) {
  return (
    <p>
      <span className="muted">{label}: </span>
      <InertText className="claim-text" text={text} />
    </p>
  )
}

function Details({ details }: { details: unknown }) {
  if (details === null || details === undefined) return null
  if (typeof details === 'object' && Object.keys(details).length === 0) return null
  return (
    <details>
      <summary>details</summary>
      <ScrollText label="Details" className="block">
        <InertText text={JSON.stringify(details, null, 2)} />
      </ScrollText>
    </details>
  )
}
