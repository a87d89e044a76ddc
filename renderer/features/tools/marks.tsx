import type { ToolRow } from '../../../kernel/wire/operator-tools.ts'
import { reachName } from './views.ts'

/** What its source says it reaches for, as chips; what its calls did beyond that stands out. */
export function Reach({ row }: { row: Pick<ToolRow, 'declared' | 'undeclared'> }) {
  if (row.declared.length + row.undeclared.length === 0) return <span className="muted">nothing seen</span>
  return (
    <>
      {row.declared.map((reach) => (
        <span key={reach} className="chip" title={`${reach}: its source names it`}>
          {reachName(reach)}
        </span>
      ))}
      {row.undeclared.map((reach) => (
        <span key={reach} className="chip tools-over" title={`${reach}: its calls did it; its source does not name it`}>
          ✗ {reachName(reach)}
        </span>
      ))}
    </>
  )
}

export function AuditMark({ row }: { row: Pick<ToolRow, 'audit'> }) {
  if (row.audit === 'audited') return <span className="tone-ok">✓ audited</span>
  if (row.audit === 'stale') return <span className="tone-stale">⟳ changed since</span>
  return <span className="tone-wait">○ not audited</span>
}
