import { useState } from 'react'
import type { RevisionRow } from '../../../kernel/wire/operator.ts'
import { Empty, Loaded } from '../../components/states.tsx'
import { useAgents, useRevisions, useTasks } from '../../lib/desk.tsx'
import { useKeys } from '../../lib/keys.ts'
import { useListKeys } from '../../lib/list-keys.ts'
import { hrefOf } from '../../lib/route.ts'
import { Compare } from './compare.tsx'
import { ReviewerHealth } from './reviewer-health.tsx'
import './revisions.css'
import { RollbackDialog } from './rollback-dialog.tsx'
import { Timeline } from './timeline.tsx'

/** What is live, since when, by whose word; whether each change helped; and the way back. */
export function RevisionsScreen({ agent }: { agent: string | null }) {
  const agents = useAgents()
  return (
    <div className="revisions">
      <h1>Revisions</h1>
      <Loaded query={agents} what="the agents">
        {(list) => {
          const chosen = list.find((each) => each.agent === agent) ?? list[0]
          if (!chosen)
            return (
              <Empty title="No agent yet">
                <p className="muted">
                  An agent comes into being with its first task. Start one from{' '}
                  <a href={hrefOf({ screen: 'home' })}>Home</a>.
                </p>
              </Empty>
            )
          return (
            <>
              {list.length > 1 && (
                <nav className="revisions-agents" aria-label="Agents">
                  {list.map((each) => (
                    <a
                      key={each.agent}
                      className="chip"
                      href={hrefOf({ screen: 'revisions', agent: each.agent })}
                      aria-current={each.agent === chosen.agent ? 'page' : undefined}
                    >
                      {each.agent} r{each.activation}
                    </a>
                  ))}
                </nav>
              )}
              <Agent key={chosen.agent} agent={chosen.agent} />
              <ReviewerHealth />
            </>
          )
        }}
      </Loaded>
    </div>
  )
}

function Agent({ agent }: { agent: string }) {
  const query = useRevisions(agent)
  return (
    <Loaded query={query} what={`the revisions of ${agent}`} rows={6}>
      {(rows) => <Rows agent={agent} rows={[...rows].sort((a, b) => b.activation - a.activation)} />}
    </Loaded>
  )
}

function Rows({ agent, rows }: { agent: string; rows: RevisionRow[] }) {
  const tasks = useTasks().data?.filter((task) => task.agent === agent) ?? []
  const [picked, setPicked] = useState<number[]>([])
  const [target, setTarget] = useState<RevisionRow | null>(null)
  const active = rows.find((row) => row.state === 'active' || row.state === 'probation')
  const pick = (activation: number) =>
    setPicked((before) =>
      before.includes(activation) ? before.filter((each) => each !== activation) : [...before, activation].slice(-2),
    )
  const marked = useListKeys(rows.length, (index) => {
    const row = rows[index]
    if (row) pick(row.activation)
  })
  useKeys(
    {
      'Mod+Shift+b': () => {
        const row = rows[marked] ?? rows.find((each) => each.activation === picked[0])
        if (row && row.revision !== active?.revision) setTarget(row)
      },
    },
    target === null,
  )
  const pair = picked
    .map((activation) => rows.find((row) => row.activation === activation))
    .filter((row) => row !== undefined)
  const [older, newer] = pair.sort((a, b) => a.activation - b.activation)
  return (
    <>
      <Timeline
        agent={agent}
        rows={rows}
        active={active}
        marked={marked}
        picked={picked}
        unit={tasks.find((task) => task.progress)?.progress?.unit ?? 'unit'}
        isSimulated={tasks.some((task) => task.model.simulated)}
        onPick={pick}
        onRollback={setTarget}
      />
      {older && newer ? (
        <Compare older={older} newer={newer} />
      ) : (
        <p className="muted">Tick two activations to compare them. J and K move, Enter ticks.</p>
      )}
      {target && active && (
        <RollbackDialog agent={agent} target={target} active={active} onClose={() => setTarget(null)} />
      )}
    </>
  )
}
