import { KernelError } from '../errors.ts'
import type { EventData, EventKind } from '../wire/events.ts'
import { sha256 } from './chain.ts'
import { type CallPlace, costTables } from './cost-rollups.ts'
import { latestArtifactVersion, lineage } from './lineage.ts'
import type { DraftRow } from './messages.ts'
import { spendNames, spendOf, spendValues } from './spend.ts'
import type { Connection } from './sqlite.ts'
import { createSums } from './sums.ts'

/** Arguments of a repeated call are shown, not replayed. */
const shownArguments = 2_000

/** Tools whose time is kept at hand. */
const toolsAtHand = 1_000
const activationsAtHand = 1_000
const noActivation: Active = { activation: 0, revision: '' }
const noSpend = spendNames.map(() => 0)

interface Active {
  activation: number
  revision: string
}

interface Step extends Active {
  key: string
  /** Its row's, and what the row begins with. */
  place: readonly [task: string, turn: number, step: number]
  first: readonly [agent: string | null, activation: number, revision: string, at: number]
}

type Projection<K extends EventKind> = (seq: number, row: DraftRow, data: EventData<K>, step: Step | null) => void

/**
 * Keeps the derived tables in step with the log, inside the transaction that adds the events, which ends with `flush`:
 * charts and reports read these and never the log. Events of a check are no work of the task and count only as spend.
 *
 * A full verification derives the same tables again by this code, so what changes here needs a migration that derives
 * anew what is stored. `isReplay`: into tables of its own, from events that were accepted once.
 */
export function createRollups(db: Connection, { isReplay = false } = {}) {
  const models = createSums(db, { table: 'model_rollup', key: ['agent', 'task', 'model'], sums: spendNames })
  const minutes = createSums(db, { table: 'minute_rollup', key: ['minute', 'agent', 'task'], sums: spendNames })
  const steps = createSums(db, {
    table: 'step_rollup',
    key: ['task', 'turn', 'step'],
    first: ['agent', 'activation', 'revision', 'at'],
    made: { progress: '(SELECT value FROM progress WHERE task = ?)' },
    sums: ['tool_calls', 'tool_errors', ...spendNames],
  })
  const activations = createSums(db, {
    table: 'activation_rollup',
    key: ['task', 'activation'],
    first: ['agent', 'revision'],
    made: {
      progress_from: '(SELECT value FROM progress WHERE task = ?)',
      progress_to: '(SELECT value FROM progress WHERE task = ?)',
    },
    sums: ['steps', ...spendNames],
  })
  const tools = createSums(db, {
    table: 'tool_rollup',
    key: ['agent', 'task', 'name'],
    sums: ['calls', 'errors', 'interrupted', 'output_bytes'],
  })
  const operations = createSums(db, {
    table: 'tool_operations',
    key: ['agent', 'task', 'name', 'operation'],
    sums: ['calls'],
  })
  const repeats = createSums(db, {
    table: 'repeated_calls',
    key: ['task', 'name', 'arguments_hash'],
    first: ['arguments'],
    sums: ['count'],
  })
  const costs = costTables(db)
  const sums = [models, minutes, steps, activations, tools, operations, repeats]
  const run = {
    stepOf: db.prepare('SELECT activation, revision FROM step_rollup WHERE task = ? AND turn = ? AND step = ?'),
    activeAs: db.prepare(
      'SELECT activation, revision FROM activations WHERE agent = ? AND revision = ? ORDER BY seq DESC LIMIT 1',
    ),
    active: db.prepare('SELECT activation, revision FROM activations WHERE agent = ? ORDER BY seq DESC LIMIT 1'),
    toolCallOf: db.prepare(
      'UPDATE step_rollup SET tool_calls = tool_calls + 1 WHERE task = ? AND turn = ? AND step = ?',
    ),
    policyWork: db.prepare('UPDATE step_rollup SET policy_work = 1 WHERE task = ? AND turn = ? AND step = ?'),
    toolTime: db.prepare('SELECT duration_ms FROM tool_rollup WHERE agent = ? AND task = ? AND name = ?').pluck(),
    setToolTime: db.prepare('UPDATE tool_rollup SET duration_ms = ? WHERE agent = ? AND task = ? AND name = ?'),
    made: db.prepare('SELECT 1 FROM repeated_calls WHERE task = ? AND name = ? AND arguments_hash = ?'),
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
  /** Of each agent and revision, until the pointer of any moves. */
  const active = new Map<string, Active>()
  /** Fractions of a millisecond are added one by one, in order: any other way of adding them up gives another last digit. */
  const toolTimes = new Map<string, { place: readonly string[]; ms: number; isWritten: boolean }>()

  function flush(): void {
    for (const table of sums) table.flush()
    costs.flush()
    for (const time of toolTimes.values()) {
      if (!time.isWritten) run.setToolTime.run(time.ms, ...time.place)
      time.isWritten = true
    }
    if (toolTimes.size > toolsAtHand) toolTimes.clear()
  }

  /** The step that the event is of, made where this is its first event. */
  function touchStep(row: DraftRow): Step | null {
    const [at, agent, task, , , turn, step, , revision] = row
    if (task === null || turn === null || step === null) return null
    const key = `${turn} ${step} ${agent} ${task}`
    if (current?.key === key) return current
    const place = [task, turn, step] as const
    // It may be another agent's, and not yet be written.
    if (steps.has(place)) steps.flush()
    const found = run.stepOf.get(...place) as Active | undefined
    const of = found ?? activationOf(agent, revision)
    current = { ...of, key, place, first: [agent, of.activation, of.revision, at] }
    if (found === undefined) {
      steps.add(place, current.first, [0, 0, ...noSpend])
      activations.add([task, of.activation], [agent, of.revision], [1, ...noSpend])
    }
    return current
  }

  /** Of the generation that did it, which during a replacement need not be the active one any more. */
  function activationOf(agent: string | null, revision: string | null): Active {
    const key = JSON.stringify([agent, revision])
    const known = active.get(key)
    if (known !== undefined) return known
    const found = (revision === null ? undefined : run.activeAs.get(agent, revision)) ?? run.active.get(agent)
    const of = (found as Active | undefined) ?? { activation: 0, revision: revision ?? '' }
    if (active.size >= activationsAtHand) active.clear()
    active.set(key, of)
    return of
  }

  function modelCalled(seq: number, row: DraftRow, data: EventData<'model.called'>, step: Step | null): void {
    const [at, agent, task, runKind, , turn, stepNumber, , revision] = row
    const spent = spendValues(spendOf(data))
    models.add([agent ?? '', task ?? '', data.model], [], spent)
    minutes.add([Math.floor(at / 60_000), agent ?? '', task ?? ''], [], spent)
    const of = step ?? (runKind === 'check' ? noActivation : activationOf(agent, revision))
    costs.modelCalled(placeOf(seq, row, of, step), data, spent)
    if (task === null || runKind === 'check') return
    if (step !== null) steps.add(step.place, step.first, [0, 0, ...spent])
    activations.add([task, of.activation], [agent, of.revision], [0, ...spent])
    const broken = data.firstDifference
    if (broken === null || (broken.kind !== 'model' && broken.after === null)) return
    steps.flush()
    run.breakOfStep.run(seq, broken.index, broken.kind, task, turn, stepNumber)
  }

  /** Between steps, and in a check, nothing is known of the call before. */
  function placeOf(seq: number, row: DraftRow, of: Active, step: Step | null): CallPlace {
    const [at, agent, task, runKind, , turn, number] = row
    return {
      ...{ seq, at, agent: agent ?? '', task: task ?? '', turn, step: step === null ? null : number },
      ...{ purpose: runKind === 'check' ? 'check' : 'task', activation: of.activation, revision: of.revision },
    }
  }

  function toolCalled(seq: number, row: DraftRow, data: EventData<'tool.called'>, of: Step | null): void {
    const [, agent, task, , , turn, step] = row
    tools.add([agent ?? '', task ?? '', data.name], [], [1, 0, 0, 0])
    if (of !== null) {
      steps.add(of.place, of.first, [1, 0, ...noSpend])
      // Of its own policy: what names the working copy, or asks the kernel about it.
      if (data.arguments.includes('/policy')) isPolicyWork(of)
    } else if (task !== null && turn !== null && step !== null) {
      steps.flush()
      run.toolCallOf.run(task, turn, step)
    }
    const identity = data.argumentsBlob ?? sha256(data.arguments)
    const key = [task, data.name, identity]
    const isRepeat = task !== null && (repeats.has(key) || run.made.get(...key) !== undefined)
    costs.toolCalled(placeOf(seq, row, of ?? noActivation, of), data.name, identity, isRepeat)
    if (task !== null) repeats.add([task, data.name, identity], [data.arguments.slice(0, shownArguments)], [1])
  }

  function isPolicyWork(of: Step): void {
    steps.flush()
    run.policyWork.run(...of.place)
  }

  function toolFinished(_seq: number, row: DraftRow, data: EventData<'tool.finished'>, of: Step | null): void {
    const failed = data.outcome === 'error' ? 1 : 0
    const interrupted = data.outcome === 'interrupted' ? 1 : 0
    const place = [row[1] ?? '', row[2] ?? '', data.name] as const
    tools.add(place, [], [0, failed, interrupted, data.outputBytes])
    addToolTime(place, data.durationMs ?? 0)
    const asked = [...new Set(data.operations)]
    if (of !== null && failed > 0) steps.add(of.place, of.first, [0, failed, ...noSpend])
    if (of !== null && asked.some((operation) => operation.startsWith('policy.'))) isPolicyWork(of)
    for (const operation of asked) operations.add([...place, operation], [], [1])
  }

  function addToolTime(place: readonly string[], ms: number): void {
    const key = JSON.stringify(place)
    const time = toolTimes.get(key) ?? { place, ms: (run.toolTime.get(...place) as number | undefined) ?? 0 }
    toolTimes.set(key, { place, ms: time.ms + ms, isWritten: false })
  }

  function progressed(seq: number, row: DraftRow, data: EventData<'task.progressed'>, step: Step | null): void {
    const [, agent, task, , , , , , revision] = row
    if (task === null) throw new KernelError('invalid', 'task.progressed needs the task in its header')
    // What is not written yet began with the progress until here.
    flush()
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
    active.clear()
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
    /** Writes what the events so far add up to; before a commit. */
    flush,
    /** Forgets what it remembers of rows that were rolled back. */
    reset(): void {
      current = null
      active.clear()
      toolTimes.clear()
      costs.reset()
      for (const table of sums) table.clear()
    },
  }
}
