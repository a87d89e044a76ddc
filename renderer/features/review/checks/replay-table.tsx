import type { ContextReplay } from '../../../../kernel/wire/operator-replay.ts'
import { InertText } from '../../../components/inert-text.tsx'
import { money, share, tokens } from '../../../lib/format.ts'

/** What base and candidate would have sent at recorded steps: an estimate, and said to be one. */
export function ReplayTable({ replay }: { replay: ContextReplay }) {
  const { before, after, steps, prefixBreak, fidelity, exceptions } = replay
  const rows: [string, string, string][] = [
    ['input a step', round(before.inputTokensPerStep), round(after.inputTokensPerStep)],
    ['cached share', share(before.cachedShare), share(after.cachedShare)],
    ['cost a step', money(before.costNanoUsdPerStep), money(after.costNanoUsdPerStep)],
    [`input, next ${replay.ahead}`, round(before.inputTokensPerStepAhead), round(after.inputTokensPerStepAhead)],
  ]
  return (
    <>
      <table className="table replay-table">
        <caption className="muted">
          estimate over n={steps.length} recorded steps of {replay.task}
          {replay.simulated && ' · simulated'}
        </caption>
        <thead>
          <tr>
            <th />
            <th className="figure">before</th>
            <th className="figure">after</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, old, fresh]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className="figure">{old}</td>
              <td className="figure">{fresh}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="check-fact">
        {prefixBreak ? (
          <span className="tone-wait">
            ▲ The cached prefix breaks at {prefixBreak.kind === 'item' ? `item ${prefixBreak.index}` : prefixBreak.kind}{' '}
            {prefixBreak.at === 'activation' ? 'once, when it takes over' : 'at every step'}:{' '}
            {tokens(prefixBreak.rewarmTokens)} tokens anew ({money(prefixBreak.rewarmNanoUsd)})
          </span>
        ) : (
          'The cached prefix stays.'
        )}
      </p>
      {replay.costReason !== null && <p className="check-fact muted">No cost: {replay.costReason}</p>}
      <p className="check-fact muted">
        Replay of the base equals what was recorded in {fidelity.equal} of {fidelity.compared} requests.
      </p>
      {exceptions.map((each) => (
        <p
          key={`${each.step} ${each.side} ${each.error}`}
          className={each.undecided ? 'check-fact muted' : 'check-fact tone-bad'}
        >
          {each.undecided ? '?' : '✗'} step {each.step}, {each.side}: <InertText text={each.error} />
        </p>
      ))}
    </>
  )
}

function round(count: number | null): string {
  return tokens(count === null ? null : Math.round(count))
}
