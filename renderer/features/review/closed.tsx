import { useMutation } from '@tanstack/react-query'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { errorText } from '../../components/states.tsx'
import { Age } from '../../components/time.tsx'
import { many } from '../../lib/arming.ts'
import { useDesk } from '../../lib/desk.tsx'
import { hrefOf } from '../../lib/route.ts'

/** A proposal that takes no verdict says why, where things stand, and what can be done. */
export function Closed({ detail }: { detail: ProposalDetail }) {
  const waits = detail.state === 'checking'
  return (
    <div className="verdict-row" data-testid="no-verdict">
      {waits ? (
        <span className="tone-run">
          ◐ checking for <Age since={detail.madeAt} />: a verdict is possible when the checks are done
          {detail.pendingChecks.length > 0 && ` (${many(detail.pendingChecks.length, 'check')} to go)`}
        </span>
      ) : (
        <Standing detail={detail} />
      )}
      {detail.reason && (
        <span className="muted">
          reason: “<InertText text={detail.reason} />”
        </span>
      )}
      {detail.activation !== null && (
        <a href={hrefOf({ screen: 'revisions', agent: detail.agent })}>r{detail.activation} in Revisions</a>
      )}
      {detail.state === 'stale' && <AskAgain detail={detail} />}
      {detail.derivedTo !== null && (
        <a
          className="button"
          href={hrefOf({ screen: 'review', agent: detail.agent, proposal: detail.derivedTo })}
          data-testid="newer"
        >
          Review {detail.derivedTo} in its place
        </a>
      )}
    </div>
  )
}

/** What was decided, or why nothing can be. */
function Standing({ detail }: { detail: ProposalDetail }) {
  const { state } = detail
  if (state === 'approved' || state === 'activating')
    return <span className="tone-run">◐ Approved: activating at the next step boundary…</span>
  if (state === 'rejected') return <span className="tone-bad">✗ Rejected</span>
  if (state === 'returned') return <span>↩ Returned to the agent with {many(detail.comments.length, 'comment')}</span>
  if (state === 'probation' || state === 'active')
    return <span className="tone-ok">✓ Approved: {state === 'active' ? 'active' : 'active, on probation'}</span>
  if (state === 'failed-checks') return <FailedChecks detail={detail} />
  return (
    <>
      <span className="muted">No verdict: </span>
      <InertText text={detail.blocked ?? `the proposal is ${state}`} />
    </>
  )
}

/** That a check found a fault is one thing, that it could not be run another. */
function FailedChecks({ detail }: { detail: ProposalDetail }) {
  const names = (verdict: string) =>
    detail.checks
      .filter((check) => check.verdict === verdict)
      .map((check) => check.check)
      .join(', ')
  const [failed, open] = [names('fail'), names('unresolved')]
  return (
    <>
      {failed !== '' && <span className="tone-bad">✗ Failed its checks: {failed}</span>}
      {open !== '' && <span className="tone-wait">? Could not be decided, which is no failure: {open}</span>}
      {failed === '' && open === '' && <span className="tone-bad">✗ Failed its checks</span>}
    </>
  )
}

/** A stale proposal cannot be returned: the agent is told in its task. */
function AskAgain({ detail }: { detail: ProposalDetail }) {
  const desk = useDesk()
  const { task, proposal, active } = detail
  const ask = useMutation({
    mutationFn: (to: string) =>
      desk.tasks.steer({
        task: to,
        text: `${proposal} was made against a revision that is not active any more. If the change is still right, make it again on the active one (r${active.activation}) and propose it.`,
      }),
  })
  if (task === null) return null
  return (
    <>
      <button
        type="button"
        className="button"
        data-testid="ask-again"
        disabled={ask.isPending || ask.isSuccess}
        onClick={() => ask.mutate(task)}
      >
        {ask.isSuccess ? 'Asked' : 'Ask the agent to make it again on the active revision'}
      </button>
      {ask.error && <span className="tone-bad">✗ {errorText(ask.error)}</span>}
    </>
  )
}
