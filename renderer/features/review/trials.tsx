import { useMutation, useQuery } from '@tanstack/react-query'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import type { TrialRow } from '../../../kernel/wire/operator-trials.ts'
import { InertText } from '../../components/inert-text.tsx'
import { errorText } from '../../components/states.tsx'
import { Simulated } from '../../components/status.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { money, share, signed, whole } from '../../lib/format.ts'

function useTrials({ agent, proposal }: Pick<ProposalDetail, 'agent' | 'proposal'>) {
  const desk = useDesk()
  return useQuery({
    queryKey: ['proposals', 'trials', agent, proposal],
    queryFn: () => desk.trials.list({ agent, proposal }),
    // Events tell when an arm begins and ends; in between its figures move.
    refetchInterval: ({ state }) => (state.data?.some(isRunning) ? 2_000 : false),
  })
}

const isRunning = ({ state }: TrialRow) => state === 'running' || state === 'starting'

/** Old and new beside each other, from one fork each. One run shows that it works, and no more. */
export function Trials({ detail }: { detail: ProposalDetail }) {
  const trials = useTrials(detail)
  return (trials.data ?? []).map((trial) => <Trial key={trial.trial} trial={trial} />)
}

function Trial({ trial }: { trial: TrialRow }) {
  const desk = useDesk()
  const stop = useMutation({ mutationFn: () => desk.trials.stop({ trial: trial.trial }) })
  const isOpen = isRunning(trial)
  const arms = [trial.arms.find((arm) => arm.arm === 'before'), trial.arms.find((arm) => arm.arm === 'after')]
  const row = (name: string, of: (arm: TrialRow['arms'][number]) => string) => (
    <tr key={name}>
      <th scope="row">{name}</th>
      {arms.map((arm, index) => (
        <td key={index === 0 ? 'before' : 'after'} className="figure">
          {arm ? of(arm) : '—'}
        </td>
      ))}
    </tr>
  )
  return (
    <div className="trial" data-testid="trial">
      <div className="check-line">
        <strong>trial {trial.trial}</strong> <span className={isOpen ? 'tone-run' : 'muted'}>{trial.state}</span>
        <Simulated isSimulated={trial.simulated} />
        {isOpen && (
          <button type="button" className="button small" disabled={stop.isPending} onClick={() => stop.mutate()}>
            Stop the trial
          </button>
        )}
      </div>
      {trial.reason !== null && (
        <p className="tone-wait">
          <InertText text={trial.reason} />
        </p>
      )}
      <table className="table replay-table">
        <caption className="muted">
          n=1 of each: it shows that it runs, not that it is better · forked at event {trial.forkedAt} · spent{' '}
          {money(trial.spentNanoUsd)}
          {trial.capNanoUsd !== null && ` of ${money(trial.capNanoUsd)}`}
          {trial.capTokens !== null && ` · at most ${whole(trial.capTokens)} tokens`}
        </caption>
        <thead>
          <tr>
            <th />
            <th className="figure">active</th>
            <th className="figure">candidate</th>
          </tr>
        </thead>
        <tbody>
          {row('ended', (arm) => arm.ended ?? arm.state)}
          {row('steps', (arm) => whole(arm.steps))}
          {row('failed calls', (arm) => whole(arm.failedCalls))}
          {row('gained', (arm) => signed(arm.progressDelta))}
          {row('cost', (arm) => money(arm.costNanoUsd))}
          {row('cached share', (arm) => share(arm.cachedShare))}
        </tbody>
      </table>
      {stop.error && <p className="tone-bad">✗ {errorText(stop.error)}</p>}
    </div>
  )
}
