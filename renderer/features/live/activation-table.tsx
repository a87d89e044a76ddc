import type { ActivationPoint } from '../../../kernel/wire/operator.ts'
import { Simulated } from '../../components/status.tsx'
import { costPerUnit, money, share, signed, whole } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'

interface Props {
  agent: string
  activations: readonly ActivationPoint[]
  unit: string
  isSimulated: boolean
}

/** What each activation cost, gained, and cost per unit gained. */
export function ActivationTable({ agent, activations, unit, isSimulated }: Props) {
  const rows = activations.filter((row) => row.steps > 0)
  return (
    <div className="side-table">
      <div className="side-caption">
        <h2>By activation</h2>
        <Simulated isSimulated={isSimulated} />
      </div>
      <table className="table">
        <thead>
          <tr>
            <th>Active</th>
            <th className="figure">Steps</th>
            <th className="figure">Cost</th>
            <th className="figure">+{unit}</th>
            <th className="figure">Cost per {unit}</th>
            <th className="figure">Cached</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={row.activation}>
              <td>
                <a href={hrefOf({ screen: 'revisions', agent })}>r{row.activation}</a>
              </td>
              <td className="figure">{whole(row.steps)}</td>
              <td className="figure">{money(row.costNanoUsd)}</td>
              <td className="figure">{signed(row.progressDelta)}</td>
              <td className="figure" data-testid={`cost-per-unit-r${row.activation}`}>
                <strong>{money(perUnit(row))}</strong> <Change row={row} before={rows[index - 1]} />
              </td>
              <td className="figure">{share(row.cachedShare)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Against the activation before: −62 %. Numbers, no judgement. */
function Change({ row, before }: { row: ActivationPoint; before: ActivationPoint | undefined }) {
  const now = perUnit(row)
  const then = before ? perUnit(before) : null
  if (now === null || then === null || then === 0) return null
  const change = Math.round((now / then - 1) * 100)
  return (
    <span className={change <= 0 ? 'tone-ok' : 'tone-wait'} title={`against r${before?.activation}`}>
      {change <= 0 ? '↓' : '↑'} {Math.abs(change)} %
    </span>
  )
}

function perUnit(row: ActivationPoint): number | null {
  return costPerUnit(row.costNanoUsd, row.progressDelta)
}
