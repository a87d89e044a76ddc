import { KernelError } from '../errors.ts'
import type { EventData, EventKind } from '../wire/events.ts'
import { sha256 } from './chain.ts'
import { latestArtifactVersion, lineage } from './lineage.ts'
import type { DraftRow } from './messages.ts'
import { spendOf, spendTables } from './spend.ts'
import type { Connection } from './sqlite.ts'

/** Arguments of a repeated call are shown, not replayed. */
const shownArguments = 2_000

interface Step {
  activation: number
  revision: string
  key: string
}

type Projection<K extends EventKind> = (seq: number, row: DraftRow, data: EventData<K>, step: Step | null) => void

/**
 * Keeps the derived tables in step with the log, inside the transaction that adds the event: charts and reports read
 * these and never the log. Events of a check are no work of the task and count only as spend.
 *
 * A full verification derives the same tables again by this code, so what changes here needs a migration that derives
 * anew what is stored. `isReplay`: into tables of its own, from events that were accepted once.
 */
export function createRollups(db: Connection, { isReplay = false } = {}) {
  const spend = spendTables(db)
  const run = {
    step: db.prepare(`INSERT OR IGNORE INTO step_rollup (task, turn, step, agent, activation, revision, at, progress)
      VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT value FROM progress WHERE task = ?))`),
    activation:
      db.prepare(`INSERT OR IGNORE INTO activation_rollup (task, activation, agent, revision, progress_from, progress_to)
      SELECT ?, ?, ?, ?, (SELECT value FROM progress WHERE task = ?), (SELECT value FROM progress WHERE task = ?)`),
    stepOfActivation: db.prepare('UPDATE activation_rollup SET steps = steps + 1 WHERE task = ? AND activation = ?'),
    stepOf: db.prepare('SELECT activation, revision FROM step_rollup WHERE task = ? AND turn = ? AND step = ?'),
    activeAs: db.prepare(
      'SELECT activation, revision FROM activations WHERE agent = ? AND revision = ? ORDER BY seq DESC LIMIT 1',
    ),
    active: db.prepare('SELECT activation, revision FROM activations WHERE agent = ? ORDER BY seq DESC LIMIT 1'),
    toolCall: db.prepare(`UPDATE step_rollup SET tool_calls = tool_calls + 1, policy_work = max(policy_work, ?)
      WHERE task = ? AND turn = ? AND step = ?`),
    toolEnd: db.prepare(`UPDATE step_rollup SET tool_errors = tool_errors + ?, policy_work = max(policy_work, ?)
      WHERE task = ? AND turn = ? AND step = ?`),
    tool: db.prepare(`INSERT INTO tool_rollup (agent, task, name, calls, errors, interrupted, output_bytes, duration_ms)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET calls = calls + excluded.calls,
      errors = errors + excluded.errors, interrupted = interrupted + excluded.interrupted,
      output_bytes = output_bytes + excluded.output_bytes, duration_ms = duration_ms + excluded.duration_ms`),
    operation: db.prepare(`INSERT INTO tool_operations (agent, task, name, operation, calls) VALUES (?, ?, ?, ?, 1)
      ON CONFLICT DO UPDATE SET calls = calls + 1`),
    repeat: db.prepare(`INSERT INTO repeated_calls (task, name, arguments_hash, arguments, count) VALUES (?, ?, ?, ?, 1)
      ON CONFLICT DO UPDATE SET count = count + 1`),
    break: db.prepare(
      'INSERT INTO cache_breaks (task, seq, step, item, kind, cost_nano_usd) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    breakOfStep: db.prepare(`UPDATE step_rollup SET break_seq = ?, break_index = ?, break_kind = ?
      WHERE task = ? AND turn = ? AND step = ?`),
    progress:
      db.prepare(`INSERT INTO progress (task, agent, seq, value, goal, unit, source) VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET seq = excluded.seq, value = excluded.value, goal = excluded.goal, unit = excluded.unit, source = excluded.source`),
    progressOfStep: db.prepare(`UPDATE step_rollup SET progress = ? WHERE (task, turn, step) =
      (SELECT task, turn, step FROM step_rollup WHERE task = ? ORDER BY turn DESC, step DESC LIMIT 1)`),
    progressOfActivation:
      db.prepare(`UPDATE activation_rollup SET progress_from = coalesce(progress_from, ?), progress_to = ?
      WHERE task = ? AND activation = ?`),
    activate: db.prepare('INSERT INTO activations (agent, seq, activation, revision) VALUES (?, ?, ?, ?)'),
    artifact: db.prepare(
      'INSERT INTO artifacts (agent, name, version, hash, size_bytes, at, seq) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
    fork: db.prepare('INSERT INTO forks (agent, parent, parent_seq) VALUES (?, ?, ?)'),
    before: db.prepare('SELECT 1 FROM events WHERE agent = ? AND seq <= ? LIMIT 1'),
    isFork: db.prepare('SELECT 1 FROM forks WHERE agent = ?'),
    tombstone: db.prepare('INSERT INTO tombstones (seq, by) VALUES (?, ?)'),
    blank: db.prepare('UPDATE events SET data = NULL WHERE seq = ? AND data IS NOT NULL'),
  }
  let current: Step | null = null

  /** The step that the event is of, made where this is its first event. */
  function touchStep(row: DraftRow): Step | null {
    const [at, agent, task, , , turn, step, , revision] = row
    if (task === null || turn === null || step === null) return null
    const key = `${turn} ${step} ${agent} ${task}`
    if (current?.key === key) return current
    const active = activationOf(agent, revision)
    const made = run.step.run(task, turn, step, agent, active.activation, active.revision, at, task).changes > 0
    if (made) {
      touchActivation(task, agent, active)
      run.stepOfActivation.run(task, active.activation)
      current = { ...active, key }
    } else {
      const found = run.stepOf.get(task, turn, step) as { activation: number; revision: string }
      current = { ...found, key }
    }
    return current
  }

  function touchActivation(task: string, agent: string | null, active: { activation: number; revision: string }): void {
    run.activation.run(task, active.activation, agent, active.revision, task, task)
  }

  /** Of the generation that did it, which during a replacement need not be the active one any more. */
  function activationOf(agent: string | null, revision: string | null): { activation: number; revision: string } {
    const found = (revision === null ? undefined : run.activeAs.get(agent, revision)) ?? run.active.get(agent)
    return (
      (found as { activation: number; revision: string } | undefined) ?? { activation: 0, revision: revision ?? '' }
    )
  }

  function modelCalled(seq: number, row: DraftRow, data: EventData<'model.called'>, step: Step | null): void {
    const [at, agent, task, runKind, , turn, stepNumber, , revision] = row
    const spent = spendOf(data)
    spend.model(agent ?? '', task ?? '', data.model, spent)
    spend.minute(Math.floor(at / 60_000), agent ?? '', task ?? '', spent)
    if (task === null || runKind === 'check') return
    const active = step ?? activationOf(agent, revision)
    if (step === null) touchActivation(task, agent, active)
    else spend.step(task, turn, stepNumber, spent)
    spend.activation(task, active.activation, spent)
    const broken = data.firstDifference
    if (broken === null) return
    run.break.run(task, seq, stepNumber, broken.index, broken.kind, data.costNanoUsd)
    run.breakOfStep.run(seq, broken.index, broken.kind, task, turn, stepNumber)
  }

  function toolCalled(_seq: number, row: DraftRow, data: EventData<'tool.called'>, of: Step | null): void {
    const [, agent, task, , , turn, step] = row
    run.tool.run(agent ?? '', task ?? '', data.name, 1, 0, 0, 0, 0)
    // Of its own policy: what names the working copy, or asks the kernel about it.
    run.toolCall.run(of !== null && data.arguments.includes('/policy') ? 1 : 0, task, turn, step)
    const identity = data.argumentsBlob ?? sha256(data.arguments)
    if (task !== null) run.repeat.run(task, data.name, identity, data.arguments.slice(0, shownArguments))
  }

  function toolFinished(_seq: number, row: DraftRow, data: EventData<'tool.finished'>, of: Step | null): void {
    const failed = data.outcome === 'error' ? 1 : 0
    const interrupted = data.outcome === 'interrupted' ? 1 : 0
    const [, agent, task, , , turn, step] = row
    run.tool.run(agent ?? '', task ?? '', data.name, 0, failed, interrupted, data.outputBytes, data.durationMs ?? 0)
    const operations = [...new Set(data.operations)]
    const isPolicyWork = operations.some((operation) => operation.startsWith('policy.'))
    if (of !== null && (failed > 0 || isPolicyWork)) run.toolEnd.run(failed, isPolicyWork ? 1 : 0, task, turn, step)
    for (const operation of operations) run.operation.run(agent ?? '', task ?? '', data.name, operation)
  }

  function progressed(seq: number, row: DraftRow, data: EventData<'task.progressed'>, step: Step | null): void {
    const [, agent, task, , , , , , revision] = row
    if (task === null) throw new KernelError('invalid', 'task.progressed needs the task in its header')
    run.progress.run(task, agent, seq, data.value, data.goal, data.unit, data.source)
    run.progressOfStep.run(data.value, task)
    const { activation } = step ?? activationOf(agent, revision)
    run.progressOfActivation.run(data.value, data.value, task, activation)
  }

  function artifactWritten(seq: number, row: DraftRow, data: EventData<'artifact.written'>): void {
    const agent = row[1]
    if (agent === null) throw new KernelError('invalid', 'artifact.written needs the agent in its header')
    const latest = latestArtifactVersion(db, agent, data.name)
    if (data.version !== latest + 1) {
      throw new KernelError(
        'conflict',
        `${data.name} is at version ${latest}, so the next is not ${data.version}: read it again`,
        {
          details: { latest },
        },
      )
    }
    run.artifact.run(agent, data.name, data.version, data.hash, data.sizeBytes, row[0], seq)
  }

  function forked(seq: number, row: DraftRow, data: EventData<'agent.forked'>): void {
    const agent = row[1]
    if (agent === null) throw new KernelError('invalid', 'agent.forked needs the new agent in its header')
    if (data.parent.seq >= seq)
      throw new KernelError('invalid', `seq ${data.parent.seq} is yet to come: fork at an earlier one`)
    const { parent } = data
    if (isReplay) return void run.fork.run(agent, parent.agent, parent.seq)
    if (run.before.get(parent.agent, parent.seq) === undefined) {
      throw new KernelError('not-found', `${parent.agent} has no event up to seq ${parent.seq} to be forked from`)
    }
    const isAncestor = lineage(db, parent.agent, parent.seq).some((stretch) => stretch.agent === agent)
    if (isAncestor || run.isFork.get(agent) || run.before.get(agent, parent.seq)) {
      throw new KernelError('conflict', `${agent} exists already: a fork needs a name of its own`)
    }
    run.fork.run(agent, data.parent.agent, data.parent.seq)
  }

  function tombstoned(seq: number, _row: DraftRow, data: EventData<'payload.tombstoned'>): void {
    if (data.seq >= seq) throw new KernelError('invalid', `there is no event ${data.seq} whose payload could go`)
    run.tombstone.run(data.seq, seq)
    run.blank.run(data.seq)
  }

  function activated(seq: number, row: DraftRow, data: EventData<'revision.activated'>): void {
    const agent = row[1]
    if (agent === null) throw new KernelError('invalid', 'revision.activated needs the agent in its header')
    run.activate.run(agent, seq, data.activation, data.revision)
  }

  const projections: { [K in EventKind]?: Projection<K> } = {
    'model.called': modelCalled,
    'tool.called': toolCalled,
    'tool.finished': toolFinished,
    'task.progressed': progressed,
    'artifact.written': artifactWritten,
    'agent.forked': forked,
    'payload.tombstoned': tombstoned,
    'revision.activated': activated,
  }

  return {
    /** Whether the payload of this kind is looked into. */
    needsData: (kind: string): boolean => Object.hasOwn(projections, kind) || kind === 'model.attempted',
    /** @param data The payload, parsed where `needsData` says so. */
    add(seq: number, row: DraftRow, data: unknown): void {
      const step = row[3] === 'check' ? null : touchStep(row)
      const project = projections[row[9] as EventKind] as Projection<EventKind> | undefined
      project?.(seq, row, data as EventData<EventKind>, step)
    },
    /** The revision that the agent's pointer names. */
    active(agent: string): string | null {
      return (run.active.get(agent) as { revision: string } | undefined)?.revision ?? null
    },
    /** Forgets what it remembers of rows that were rolled back. */
    reset(): void {
      current = null
    },
  }
}
