import type { EventData } from '../../wire/events.ts'
import { sha256 } from '../chain.ts'
import { type CallPlace, costTables } from '../cost-rollups.ts'
import { spendOf, spendValues } from '../spend.ts'
import type { Connection } from '../sqlite.ts'

const rowsAtOnce = 2_000

interface Row {
  seq: number
  at: number
  agent: string | null
  task: string | null
  run: string | null
  turn: number | null
  step: number | null
  revision: string | null
  kind: 'model.called' | 'tool.called'
  data: string
  activation: number | null
  stepRevision: string | null
}

/** Fills the tables of schema 6 from the log, by the code that fills them from then on. Payloads that were removed are left out. */
export function deriveCosts(db: Connection): void {
  const costs = costTables(db)
  const page = db.prepare(`SELECT events.seq, events.at, events.agent, events.task, run, events.turn, events.step,
      events.revision, kind, data, step_rollup.activation, step_rollup.revision AS stepRevision
    FROM events LEFT JOIN step_rollup ON run IS NOT 'check' AND step_rollup.task = events.task
      AND step_rollup.turn = events.turn AND step_rollup.step = events.step
    WHERE events.seq > ? AND kind IN ('model.called', 'tool.called') AND data IS NOT NULL ORDER BY events.seq LIMIT ?`)
  const active = ['AND revision = ?', ''].map((filter) =>
    db.prepare(`SELECT activation, revision FROM activations WHERE agent = ? AND seq < ? ${filter}
      ORDER BY seq DESC LIMIT 1`),
  )
  type Active = { activation: number; revision: string }
  const activeAt = ({ agent, seq, revision }: Row): Active =>
    ((revision === null ? undefined : active[0]?.get(agent, seq, revision)) ??
      active[1]?.get(agent, seq) ?? {
        activation: 0,
        revision: revision ?? '',
      }) as Active
  const made = new Set<string>()

  const none = { activation: 0, revision: '' }
  const activeIn = (row: Row): Active => {
    if (row.activation !== null) return { activation: row.activation, revision: row.stepRevision ?? '' }
    return row.run === 'check' || row.kind === 'tool.called' ? none : activeAt(row)
  }

  function add(row: Row): void {
    const { seq, at, agent, task, turn, step, run } = row
    const of: CallPlace = {
      ...{ seq, at, agent: agent ?? '', task: task ?? '', turn, step: row.activation === null ? null : step },
      ...{ purpose: run === 'check' ? 'check' : 'task', ...activeIn(row) },
    }
    if (row.kind === 'model.called') {
      const data = JSON.parse(row.data) as EventData<'model.called'>
      costs.modelCalled(of, data, spendValues(spendOf(data)))
      return
    }
    const data = JSON.parse(row.data) as EventData<'tool.called'>
    const identity = data.argumentsBlob ?? sha256(data.arguments)
    const key = JSON.stringify([task, data.name, identity])
    costs.toolCalled(of, data.name, identity, task !== null && made.has(key))
    made.add(key)
  }

  for (let after = 0; ; ) {
    const rows = page.all(after, rowsAtOnce) as Row[]
    for (const row of rows) add(row)
    costs.flush()
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.seq
  }
}
