import { useState } from 'react'
import type { RevisionRow } from '../../../kernel/wire/operator.ts'
import type { Effect } from '../../../kernel/wire/operator-effects.ts'
import { Empty, Loaded } from '../../components/states.tsx'
import { useAgents, useEffects, useRevisions, useTasks } from '../../lib/desk.tsx'
import { showChord, useKeys } from '../../lib/keys.ts'
import { useListKeys } from '../../lib/list-keys.ts'
import { hrefOf } from '../../lib/route.ts'
import { BreakEvenLine } from './break-even.tsx'
import { Compare } from './compare.tsx'
import { EffectTable } from './effects.tsx'
import { Multiples } from './multiples.tsx'
import { ReceiptBanner } from './receipt-banner.tsx'
import { RegressedCard } from './regressed-card.tsx'
import { ReviewerHealth } from './reviewer-health.tsx'
import './revisions.css'
import { type Receipt, RollbackDialog } from './rollback-dialog.tsx'
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
  const effects = useEffects(agent)
  const byActivation = new Map(effects.data?.map((effect) => [effect.activation, effect]))
  const [picked, setPicked] = useState<number[]>([])
  const [baseline, setBaseline] = useState<number | null>(null)
  const [target, setTarget] = useState<RevisionRow | null>(null)
  const [receipt, setReceipt] = useState<Receipt | null>(null)
  const active = rows.find((row) => row.state === 'active' || row.state === 'probation')
  const pick = (activation: number) =>
    setPicked((before) => {
      if (before.includes(activation)) return before.filter((each) => each !== activation)
      const others = baseline === null || baseline === activation ? before : [baseline]
      return [...others, activation].slice(-2)
    })
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
      d: () => {
        const row = rows[marked]
        if (row && active && row !== active) setPicked([row.activation, active.activation])
      },
      b: () => {
        const row = rows[marked]
        if (!row) return
        const next = row.activation === baseline ? null : row.activation
        setBaseline(next)
        if (next !== null) setPicked([next])
      },
    },
    target === null,
  )
  const pair = picked
    .map((activation) => rows.find((row) => row.activation === activation))
    .filter((row) => row !== undefined)
  const [older, newer] = pair.sort((a, b) => a.activation - b.activation)
  const regressed = active && byActivation.get(active.activation)?.regressed
  const back = rows.find((row) => row.revision !== active?.revision && row.state !== 'rolled-back')
  const shown = rows.filter((row) => byActivation.get(row.activation)?.breakEven)
  return (
    <>
      {receipt && (
        <ReceiptBanner agent={agent} receipt={receipt} onUndone={setReceipt} onClose={() => setReceipt(null)} />
      )}
      {active && regressed?.isOpen && (
        <RegressedCard
          agent={agent}
          activation={active.activation}
          regressed={regressed}
          onReview={back ? () => setTarget(back) : null}
        />
      )}
      <Timeline
        agent={agent}
        rows={rows}
        effects={byActivation}
        baseline={baseline}
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
        <p className="muted">
          Tick two activations to compare them. J and K move, Enter ticks, D compares with what is active, B sets a
          baseline, {showChord('Mod+Shift+b')} rolls back.
        </p>
      )}
      <Multiples rows={rows} />
      <section className="panel" aria-label="Effects">
        <header>
          <h2>Did each change help?</h2>
          <span className="muted">each with an interval of 95 % and the steps that it is over</span>
        </header>
        <Loaded query={effects} what="the effects" rows={4}>
          {() =>
            shown.length === 0 ? (
              <p className="compare-note muted">No proposal has become active yet, so there is nothing to measure.</p>
            ) : (
              shown.map((row) => <Effects key={row.activation} row={row} effect={byActivation.get(row.activation)} />)
            )
          }
        </Loaded>
      </section>
      {target && active && (
        <RollbackDialog
          agent={agent}
          target={target}
          active={active}
          onClose={() => setTarget(null)}
          onDone={(done) => {
            setReceipt(done)
            setTarget(null)
          }}
        />
      )}
    </>
  )
}

function Effects({ row, effect }: { row: RevisionRow; effect: Effect | undefined }) {
  if (!effect) return null
  return (
    <div className="effects-of">
      <EffectTable row={row} effect={effect} />
      {effect.breakEven && <BreakEvenLine activation={row.activation} breakEven={effect.breakEven} />}
    </div>
  )
}
