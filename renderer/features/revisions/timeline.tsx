import type { RevisionRow } from '../../../kernel/wire/operator.ts'
import type { Effect } from '../../../kernel/wire/operator-effects.ts'
import { InertText } from '../../components/inert-text.tsx'
import { RevisionStatus, Simulated } from '../../components/status.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { costPerUnit, money, share, shortHash, signed, whole } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'
import { breakEvenWords } from './break-even.tsx'
import { EffectCell } from './effects.tsx'

const causes = {
  seed: 'seed',
  proposal: 'proposal',
  rollback: 'rollback by operator',
  'last-good': 'back to the last good one',
} as const
const authorities = {
  seed: 'the import',
  operator: 'you',
  rule: 'a rule',
  flag: 'a flag of the run',
  'last-good': 'kernel, last good',
  trial: 'a trial, for its fork alone',
} as const

interface Props {
  agent: string
  rows: RevisionRow[]
  effects: ReadonlyMap<number, Effect>
  /** What others are compared with; null: the revision before each. */
  baseline: number | null
  active: RevisionRow | undefined
  marked: number
  picked: number[]
  unit: string
  isSimulated: boolean
  onPick: (activation: number) => void
  onRollback: (row: RevisionRow) => void
}

/** Newest first. A rollback is a new activation of older content: nothing is ever taken out of the list. */
export function Timeline(props: Props) {
  const { agent, rows, effects, baseline, active, marked, picked, unit, isSimulated, onPick, onRollback } = props
  return (
    <section className="panel" aria-label="Activations">
      <header>
        <h2>{agent}</h2>
        <span className="muted">
          {rows.length} {rows.length === 1 ? 'activation' : 'activations'} · cost and gain are sums over the steps, cost
          per {unit} and cached are ratios of sums
        </span>
        <Simulated isSimulated={isSimulated} />
      </header>
      <div className="revisions-scroll">
        <table className="table">
          <thead>
            <tr>
              <th>
                <span className="sr">Compare</span>
              </th>
              <th>Activation</th>
              <th>State</th>
              <th>Revision</th>
              <th>Cause</th>
              <th>Authorised by</th>
              <th>Effect</th>
              <th className="figure">Steps</th>
              <th className="figure">Cost</th>
              <th className="figure">Gained</th>
              <th className="figure">Cost per {unit}</th>
              <th className="figure">Cached</th>
              <th>
                <span className="sr">Roll back</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr
                key={row.activation}
                data-testid="revision-row"
                data-selected={index === marked || undefined}
                data-state={row.state}
              >
                <td>
                  <input
                    type="checkbox"
                    aria-label={`compare r${row.activation}`}
                    checked={picked.includes(row.activation)}
                    onChange={() => onPick(row.activation)}
                  />
                </td>
                <td>
                  <strong>r{row.activation}</strong>
                  <div className="revisions-since muted">
                    <TimeAgo at={row.at} />
                  </div>
                  {row.activation === baseline && <div className="muted">baseline</div>}
                </td>
                <td className="revisions-state">
                  <RevisionStatus state={row.state} />
                  {effects.get(row.activation)?.regressed && <div className="tone-wait">▲ regressed</div>}
                </td>
                <td>
                  <code title={row.revision}>{shortHash(row.revision)}</code>
                </td>
                <td className="revisions-cause">
                  <Cause agent={agent} row={row} />
                </td>
                <td>{authorities[row.authorisedBy]}</td>
                <td className="revisions-effect">
                  <EffectCell effect={effects.get(row.activation)} />
                  <Repaid effect={effects.get(row.activation)} />
                </td>
                <td className="figure">{whole(row.steps)}</td>
                <td className="figure">{money(row.costNanoUsd)}</td>
                <td className="figure">{signed(row.progressDelta)}</td>
                <td className="figure">
                  <strong>{money(costPerUnit(row.costNanoUsd, row.progressDelta))}</strong>
                </td>
                <td className="figure">{share(row.cachedShare)}</td>
                <td className="figure revisions-back">
                  {row.revision !== active?.revision && (
                    <button
                      type="button"
                      className="button"
                      data-testid="rollback"
                      aria-label={`Roll back to r${row.activation}…`}
                      onClick={() => onRollback(row)}
                    >
                      Roll back…
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

function Repaid({ effect }: { effect: Effect | undefined }) {
  if (!effect?.breakEven || effect.breakEven.savedNanoUsd === null) return null
  return <div className="muted">{breakEvenWords(effect.breakEven)}</div>
}

function Cause({ agent, row }: { agent: string; row: RevisionRow }) {
  return (
    <>
      {row.proposal ? (
        <a href={hrefOf({ screen: 'review', agent, proposal: row.proposal })}>{row.proposal}</a>
      ) : (
        <span>{causes[row.cause]}</span>
      )}
      {row.claim && (
        <span className="muted">
          {' '}
          claims “<InertText text={row.claim} />”
        </span>
      )}
      {row.reason && (
        <div className="tone-wait">
          ↩ <InertText text={row.reason} />
        </div>
      )}
    </>
  )
}
