import { useMutation } from '@tanstack/react-query'
import { memo } from 'react'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { errorText } from '../../components/states.tsx'
import { CheckVerdict, Simulated } from '../../components/status.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { duration, money } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'
import { CheckDetails, CheckProblems, type OnLine } from './checks/check-details.tsx'
import { blockingFirst, hadNothing } from './checks/details.ts'
import { CommentList } from './comment-box.tsx'
import { Predecessor } from './predecessor.tsx'
import { TrackRecord } from './track-record.tsx'
import { Trials } from './trials.tsx'
import type { Notes } from './use-review.ts'

interface Props {
  detail: ProposalDetail
  review: Notes
  /** False once a verdict was given. */
  isOpen: boolean
}

/** What the kernel measured, then what the agent claims: never the other way round, never in one voice. */
export const Evidence = memo(function Evidence({ detail, review, isOpen }: Props) {
  const onLine: OnLine = (path, line, side = 'after') => review.open(path, { side, line })
  return (
    <aside className="review-evidence" aria-label="Evidence">
      <section className="measured" data-testid="measured">
        <details className="accordion" open={!isNarrow()}>
          <summary>
            <h2>Measured by kernel</h2>
            <Tally detail={detail} />
          </summary>
          {detail.problems.map((problem) => (
            <p key={`${problem.path} ${problem.problem}`} className="tone-bad">
              ✗ <InertText className="mono" text={problem.path} /> <InertText text={problem.problem} />
            </p>
          ))}
          <ul>
            {blockingFirst(detail.checks).map((check) => (
              <li key={check.seq} className="check" data-testid="check" data-check={check.check}>
                <div className="check-line">
                  {hadNothing(check) ? <NothingToCheck /> : <CheckVerdict verdict={check.verdict} />}{' '}
                  <strong>{check.check}</strong>
                  <a className="muted check-time" href={hrefOf({ screen: 'history', seq: check.seq })}>
                    {duration(check.durationMs)}
                  </a>
                </div>
                <CheckProblems check={check} onLine={onLine} />
                <p className="check-summary">
                  <InertText text={check.summary} />
                </p>
                {isOpen && detail.unresolved.includes(check.check) && <Override check={check.check} review={review} />}
                <CheckDetails check={check} onLine={onLine} />
              </li>
            ))}
            {detail.pendingChecks.map((check) => (
              <li key={check} className="check muted">
                ◐ {check}: not measured yet
              </li>
            ))}
          </ul>
          {detail.checks.length === 0 && detail.pendingChecks.length === 0 && (
            <p className="muted">No check was run.</p>
          )}
          <Trials detail={detail} />
          <TrackRecord agent={detail.agent} />
        </details>
      </section>
      <CommentList review={review} isOpen={isOpen} />
      <Sent detail={detail} review={review} />
      <Predecessor detail={detail} />
      <Claimed detail={detail} isOpen={isOpen} />
    </aside>
  )
})

/** In one column the diff comes first to the eye: there this is folded, with its tally. */
function isNarrow(): boolean {
  return window.matchMedia('(max-width: 1100px)').matches
}

function Tally({ detail }: { detail: ProposalDetail }) {
  const idle = detail.checks.filter(hadNothing).length
  const count = (verdict: string) => detail.checks.filter((check) => check.verdict === verdict).length
  const [passed, failed, open] = [count('pass') - idle, count('fail'), count('unresolved')]
  return (
    <span className="tally">
      <span className="tone-ok">✓ {passed}</span>
      {failed > 0 && <span className="tone-bad">✗ {failed}</span>}
      {open > 0 && <span className="tone-wait">? {open}</span>}
      {idle > 0 && <span className="tone-muted">○ {idle}</span>}
    </span>
  )
}

/** What passes only because it found nothing to look at is not shown as passed. */
function NothingToCheck() {
  return (
    <span className="status-word tone-muted">
      <span aria-hidden="true">○</span> nothing to check
    </span>
  )
}

/** An unresolved check is not passed: whoever approves says why, and the revision goes on probation. */
function Override({ check, review }: { check: string; review: Notes }) {
  return (
    <label className="override">
      <span className="tone-wait">Not decided. To approve all the same, say why:</span>
      <textarea
        className="field"
        rows={2}
        maxLength={4000}
        data-testid={`override-${check}`}
        aria-label={`Why ${check} is overridden`}
        value={review.draft.overrides[check] ?? ''}
        onChange={(event) =>
          review.change(({ overrides }) => ({ overrides: { ...overrides, [check]: event.target.value } }))
        }
      />
    </label>
  )
}

/** What was said line by line when it was decided. */
function Sent({ detail, review }: { detail: ProposalDetail; review: Notes }) {
  if (detail.comments.length === 0) return null
  return (
    <section className="evidence-block" aria-label="Comments">
      <h2>Comments of the operator</h2>
      <ul>
        {detail.comments.map((comment) => (
          <li key={`${comment.path} ${comment.side} ${comment.line} ${comment.text}`} className="comment-row">
            <button
              type="button"
              className="link mono"
              onClick={() => review.open(comment.path, { side: comment.side, line: comment.line })}
            >
              <InertText text={`${comment.path}:${comment.line}`} /> {comment.side}
            </button>
            <InertText className="claim-text" text={comment.text} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Claimed({ detail, isOpen }: { detail: ProposalDetail; isOpen: boolean }) {
  const triggers = new Map(detail.triggers.map((each) => [each.seq, each]))
  return (
    <section className="claimed" data-testid="claimed">
      <h2>Claimed by {detail.by === 'executor' ? 'agent' : 'operator'}</h2>
      <blockquote>
        <Quote label="claim" text={detail.claim} />
        <Quote label="why" text={detail.why} />
        {detail.expects !== null && <Quote label="expects" text={detail.expects} />}
      </blockquote>
      {detail.evidence.length > 0 && (
        <>
          <h3>Events that it points to</h3>
          <ul className="triggers">
            {detail.evidence.map((seq) => {
              const event = triggers.get(seq)
              return (
                <li key={seq}>
                  <a href={hrefOf({ screen: 'history', seq })}>event {seq}</a>{' '}
                  {event ? (
                    <>
                      {event.kind} <InertText className="muted" text={event.text} />
                    </>
                  ) : (
                    <span className="muted">not loaded</span>
                  )}
                </li>
              )
            })}
          </ul>
        </>
      )}
      {detail.opinions.map((opinion) => (
        <div key={opinion.seq} className="opinion">
          <h3>
            Opinion of {opinion.model} <Simulated isSimulated={opinion.simulated} />
          </h3>
          <p className="claim-text">
            <InertText text={opinion.text} />
          </p>
          <p className="muted">
            {money(opinion.costNanoUsd)} · <TimeAgo at={opinion.at} /> · claimed, never a verdict
          </p>
        </div>
      ))}
      {isOpen && detail.state === 'ready' && <AskOpinion detail={detail} />}
    </section>
  )
}

function AskOpinion({ detail }: { detail: ProposalDetail }) {
  const desk = useDesk()
  const { agent, proposal } = detail
  const ask = useMutation({ mutationFn: () => desk.reviewer.opinion({ agent, proposal }) })
  return (
    <>
      <button type="button" className="button small" disabled={ask.isPending} onClick={() => ask.mutate()}>
        {ask.isPending ? 'Asking…' : 'Ask another model'}
      </button>
      {ask.error && <p className="tone-bad">✗ {errorText(ask.error)}</p>}
    </>
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
