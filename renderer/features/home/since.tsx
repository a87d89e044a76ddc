import { useQuery } from '@tanstack/react-query'
import type { ProposalSummary, TaskSummary } from '../../../kernel/wire/operator.ts'
import type { Digest } from '../../../kernel/wire/operator-digest.ts'
import { errorText } from '../../components/states.tsx'
import { useDesk, useRevisions } from '../../lib/desk.tsx'
import { absoluteTime, money, sinceClock } from '../../lib/format.ts'
import { useLeft } from '../../lib/presence.ts'
import { hrefOf } from '../../lib/route.ts'

const dayMs = 86_400_000

/** What happened since the operator left, in one line; of the last day where that is not known. */
export function Since({ tasks, proposals }: { tasks: TaskSummary[]; proposals: ProposalSummary[] }) {
  const desk = useDesk()
  const left = useLeft()
  const query = useQuery({
    queryKey: ['digest', left],
    queryFn: () => desk.digest.since({ since: left ?? Date.now() - dayMs }),
    refetchInterval: 10_000,
  })
  const { data } = query
  const agents = new Set(tasks.map((task) => task.agent))
  const [agent] = agents
  const failedChecks = proposals.filter(
    ({ state, decidedAt }) => state === 'failed-checks' && (decidedAt ?? 0) > (data?.since ?? 0),
  ).length
  return (
    <section className="panel" aria-label="What happened" data-testid="since">
      <header>
        <h2>{left === null ? 'Last 24 h' : 'Since you left'}</h2>
        {left !== null && (
          <span className="muted" title={absoluteTime(left)}>
            {sinceClock(left, Date.now())}
          </span>
        )}
      </header>
      {query.error ? (
        <p className="home-since tone-bad">✗ It is not known: {errorText(query.error)}</p>
      ) : (
        <p className="home-since">
          {data && agent && agents.size === 1 && <Activations agent={agent} since={data.since} />}
          {data ? words(data, failedChecks).join(' · ') : '…'}
        </p>
      )}
    </section>
  )
}

/** Only what there is; that nothing happened is said. */
export function words(digest: Digest, failedChecks: number): string[] {
  const { finished, activated, rolledBack, rejected, expired, costNanoUsd, modelCalls, isSimulated } = digest
  const all = Object.values(finished).reduce((sum, each) => sum + each, 0)
  const outcomes = [
    ...some(finished.completed, 'completed'),
    ...some(finished.claimed, 'claimed complete'),
    ...some(finished.failed, 'failed'),
    ...some(finished.budget, 'out of budget'),
    ...some(finished.stopped, 'stopped'),
  ]
  const told = [
    ...(all === 0 ? [] : [`${all} ${all === 1 ? 'task' : 'tasks'} finished (${outcomes.join(', ')})`]),
    ...some(activated, 'activated'),
    ...some(rolledBack, 'rolled back'),
    ...some(rejected, 'rejected'),
    ...some(failedChecks, 'failed the checks'),
    ...some(expired, 'expired'),
    ...(modelCalls === 0 ? [] : [`+${money(costNanoUsd)}${isSimulated ? ' (simulated)' : ''}`]),
  ]
  return told.length === 0 ? ['nothing happened'] : told
}

function some(count: number, word: string): string[] {
  return count === 0 ? [] : [`${count} ${word}`]
}

function Activations({ agent, since }: { agent: string; since: number }) {
  const rows = useRevisions(agent).data ?? []
  const recent = rows.filter((row) => row.at > since).map((row) => row.activation)
  if (recent.length === 0) return null
  return (
    <>
      <a href={hrefOf({ screen: 'revisions', agent })}>
        r{Math.max(1, Math.min(...recent) - 1)} → r{Math.max(...recent)}
      </a>
      {' · '}
    </>
  )
}
