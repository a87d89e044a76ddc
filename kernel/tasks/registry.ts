import { isAbsolute, join } from 'node:path'
import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import type { ProviderName, TreeFile } from '../sandbox/sandbox.ts'
import { draft, type EventData, type ModelChoice } from '../wire/events.ts'
import type { RunRequest, TaskSummary } from '../wire/operator.ts'
import { cachedShareOf } from '../wire/statistics.ts'
import { consented } from './endpoint-address.ts'
import { keptPack, taskFolders } from './folders.ts'
import { createForks } from './forks.ts'
import { requireBox } from './generations.ts'
import { blockedIn, type Pack, readPack } from './pack.ts'
import { type TaskRecord, TaskRecords } from './projection.ts'
import { type BudgetLimits, raisedBudgets } from './raised-budgets.ts'
import { closeOpenWork } from './recovery.ts'
import { inSafeMode, Run } from './run.ts'
import type { RunParts } from './run-parts.ts'
import type { TaskState, Tasks } from './tasks.ts'

export interface TasksParts extends RunParts {
  /** Relative packs are looked up here. */
  packsRoot: string
  /** The starting policy of an agent created at first use. */
  seed: () => Promise<TreeFile[]>
  /** @throws KernelError `invalid`. */
  chooseModel: (request: RunRequest) => ModelChoice
  /** @throws KernelError where there is no such key for this model, or it is for another origin; it may be locked. */
  requireKey: (model: ModelChoice) => Promise<void>
  /** What a person wrote, with keys masked. */
  typed: (text: string, what: string) => string
}

type Figures = Pick<TaskSummary, 'progress' | 'totals'> & { ran: { activation: number; revision: string } | undefined }

export async function createTasks(parts: TasksParts): Promise<Tasks> {
  const records = await TaskRecords.open(parts.history)
  const runs = new Map<string, Run>()
  /** Why a task that is not over could not be taken up. */
  const left = new Map<string, string>()
  const figuresAt = new Map<string, { seq: number; figures: Figures }>()
  let isClosed = false
  /** Requests are taken one at a time, so that two cannot have one number or one agent. */
  let queue: Promise<unknown> = Promise.resolve()

  function runOf(task: string): Run {
    const run = runs.get(task)
    if (run !== undefined) return run
    const record = need(task)
    throw new KernelError(
      'conflict',
      record.finished === null ? `${task} is not running here` : `${task} has finished (${record.finished.outcome})`,
    )
  }

  function need(task: string): TaskRecord {
    const record = records.get(task)
    if (record === undefined) throw new KernelError('not-found', `there is no task ${task}`)
    if (record.isTrial) throw new KernelError('conflict', `${task} is an arm of a trial: it is no task of its own`)
    return record
  }

  function start(record: TaskRecord, pack: Pack): void {
    const { task, agent, created, isStarted } = record
    const run = new Run(parts, { task, agent, pack, created, started: isStarted })
    left.delete(task)
    runs.set(task, run)
    void run.ended.then(() => {
      if (run.state === 'finished') runs.delete(task)
    })
  }

  /** A task of an earlier kernel, or one that was left. Where it cannot be had now, it stays as it is. */
  async function takeUp(record: TaskRecord): Promise<void> {
    try {
      const pack = record.isStarted
        ? await keptPack(taskFolders(parts.boxesDir, record.task))
        : await readPack(record.created.pack ?? '')
      if (!isClosed) start(record, pack)
    } catch (error) {
      left.set(record.task, (error as Error).message)
    }
  }

  /** In turn with requests to run: an agent has one running task. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = queue.then(() => {
      if (isClosed) throw new KernelError('unavailable', 'the app is ending: start it again first')
      return work()
    })
    queue = done.catch(() => {})
    return done
  }

  /** A task that nothing runs: it is over, or was left. */
  function isLeft(task: string): boolean {
    const run = runs.get(task)
    return need(task).finished === null && (run === undefined || run.state === 'interrupted')
  }

  /** Applied at once: the next call of the task reserves against it. */
  function raiseBudget(task: string, to: BudgetLimits): Promise<number> {
    return inTurn(async () => {
      const drafts = raisedBudgets(need(task), to)
      const events = await parts.history.append(drafts)
      const { budgetNanoUsd: limitNanoUsd, budgetTokens: limitTokens } = need(task).created.limits
      if (parts.gateway.budget(task) !== null) parts.gateway.raiseBudget(task, { limitNanoUsd, limitTokens })
      return events.at(-1)?.seq ?? 0
    })
  }

  function stopLeft(task: string): Promise<number> {
    return inTurn(async () => {
      await runs.get(task)?.ended
      if (!isLeft(task)) return runOf(task).stop()
      const record = need(task)
      const { agent } = record
      if (record.isStarted) await closeOpenWork(parts.history, { ...record, model: record.created.model })
      const { progress } = await parts.history.totals({ task })
      const [event] = await parts.history.append([
        draft(
          'task.finished',
          { outcome: 'stopped', reason: 'stopped by the operator', progress },
          { actor: 'operator', agent, task, run: 'task' },
        ),
      ])
      runs.delete(task)
      left.delete(task)
      return event?.seq ?? 0
    })
  }

  function resumeLeft(task: string): Promise<number> {
    return inTurn(async () => {
      await runs.get(task)?.ended
      if (!isLeft(task)) return runOf(task).resume()
      const record = need(task)
      // What could not be recorded when it was left, such as what a call has cost, is recorded now.
      if (record.isStarted) await closeOpenWork(parts.history, { ...record, model: record.created.model })
      await takeUp(record)
      const reason = left.get(task)
      if (reason !== undefined) throw new KernelError('unavailable', `${task} cannot go on: ${reason}`)
      return parts.history.head()?.seq ?? 0
    })
  }

  async function create(request: RunRequest): Promise<{ task: string; agent: string; seq: number }> {
    const pack = await readPack(isAbsolute(request.pack) ? request.pack : join(parts.packsRoot, request.pack))
    const endpoints = consented(request.pack, pack.endpoints, request.endpoints)
    const sandbox = await boxFor(request, pack)
    const agent = request.agent ?? (await freeName(pack))
    const busy = records.all().find((record) => record.agent === agent && record.finished === null)
    if (busy !== undefined)
      throw new KernelError(
        'conflict',
        `agent ${agent} has a task that is not over, ${busy.task}: stop it first, or name another agent`,
      )
    const trial = parts.guardian.trial.of(agent)
    if (trial !== null) throw new KernelError('forbidden', `${agent} is an arm of trial ${trial}: it does nothing else`)
    const safe = parts.guardian.safeMode(agent)
    if (safe !== null) throw new KernelError('conflict', inSafeMode(agent, safe.reason))
    const model = parts.chooseModel(request)
    await parts.requireKey(model)
    const approve = request.approve ?? 'none'
    for (const [name, budget] of [
      ['dollars', request.budgetNanoUsd],
      ['tokens', request.budgetTokens],
    ] as const)
      if (budget === 0)
        throw new KernelError('invalid', `a budget of 0 ${name} lets no call through: give more, or leave it out`)
    // Those of the simulator have theirs from its cards, once it runs.
    const isNew = (await parts.guardian.active(agent)) === null
    if (!model.simulated) await parts.gateway.requirePrice(isNew ? null : agent, model, request.budgetNanoUsd ?? null)
    if (approve === 'all' && !model.simulated && request.unattended !== true) {
      throw new KernelError('forbidden', 'approving every proposal unread with a real model needs --unattended')
    }
    if (isNew) await parts.guardian.createAgent(agent, await parts.seed())
    const created: EventData<'task.created'> = {
      title: pack.name,
      pack: pack.dir,
      instruction: parts.typed(pack.instruction, `the instruction of ${request.pack}`),
      model,
      sandbox,
      limits: {
        budgetNanoUsd: request.budgetNanoUsd ?? null,
        budgetTokens: request.budgetTokens ?? null,
        maxSteps: request.maxSteps ?? pack.maxSteps,
        maxMs: pack.timeoutMs,
      },
      goal: pack.goal === null ? null : { ...pack.goal, source: 'measured' },
      seed: request.seed ?? 0,
      propose: request.propose ?? true,
      approve,
      workdir: pack.workdir,
      ...(endpoints.length === 0 ? {} : { endpoints }),
    }
    const task = records.nextId()
    failpoint('task:before-created')
    const [event] = await parts.history.append([
      draft('task.created', created, { actor: 'operator', agent, task, run: 'task' }),
    ])
    failpoint('task:created')
    start(need(task), pack)
    return { task, agent, seq: event?.seq ?? 0 }
  }

  /** The provider asked for, else the first that can be had; where the pack needs Docker, that one. */
  async function boxFor(request: RunRequest, pack: Pack): Promise<ProviderName> {
    const report = requireBox(await parts.reports(), request.sandbox)
    const blocked = blockedIn(pack, report.name)
    if (blocked !== null) throw new KernelError('unavailable', `${request.pack} ${blocked}`)
    return report.name
  }

  async function freeName(pack: Pack): Promise<string> {
    const last = pack.name.split('/').at(-1) ?? ''
    const base =
      last
        .replaceAll(/[^A-Za-z0-9._-]/g, '-')
        .replace(/^[^A-Za-z0-9]+/, '')
        .slice(0, 50) || 'agent'
    const taken = new Set(records.all().map((record) => record.agent))
    for (let n = 1; ; n += 1) {
      const name = `${base}-${n}`
      if (!taken.has(name) && (await parts.guardian.active(name)) === null) return name
    }
  }

  /** From history's roll-ups; asked for again only when the task has had an event since. */
  async function figuresOf(record: TaskRecord): Promise<Figures> {
    const { task, lastSeq: seq } = record
    const known = figuresAt.get(task)
    if (known?.seq === seq) return known.figures
    const [{ progress, ...totals }, activations] = await Promise.all([
      parts.history.totals({ task }),
      parts.history.activations(task),
    ])
    const figures = { progress, totals: { ...totals, cachedShare: cachedShareOf(totals) }, ran: activations.at(-1) }
    figuresAt.set(task, { seq, figures })
    return figures
  }

  function stateOf(record: TaskRecord): TaskState {
    const { task, agent, created, lastEventAt } = record
    const state =
      record.finished !== null
        ? 'finished'
        : (runs.get(task)?.state ?? (record.isPaused && !left.has(task) ? 'paused' : 'interrupted'))
    return {
      task,
      agent,
      state,
      approve: created.approve,
      lastEventAt,
      simulated: created.model.simulated,
      model: created.model,
    }
  }

  async function summary(record: TaskRecord): Promise<TaskSummary> {
    const { created, finished } = record
    const run = runs.get(record.task)
    const [{ progress, totals, ran }, active] = await Promise.all([
      figuresOf(record),
      parts.guardian.active(record.agent),
    ])
    const at = (finished === null ? null : ran) ?? active
    return {
      ...{ task: record.task, agent: record.agent, title: created.title, pack: created.pack },
      state: stateOf(record).state,
      reason: finished?.reason ?? run?.reason ?? left.get(record.task) ?? record.pauseReason,
      outcome: finished?.outcome ?? null,
      activation: at?.activation ?? 0,
      revision: at?.revision ?? '',
      model: created.model,
      sandbox: created.sandbox,
      propose: created.propose,
      approve: created.approve,
      seed: created.seed,
      limits: created.limits,
      progress,
      totals,
      createdAt: record.createdAt,
      lastEventAt: record.lastEventAt,
      finishedAt: record.finishedAt,
      now: run?.now() ?? null,
      ...(run === undefined ? {} : { workedMs: run.workedMs }),
    }
  }

  const forks = createForks({ parts, records, inTurn, runOf: (task) => runs.get(task) })

  return {
    forks,
    run: (request) => inTurn(() => create(request)),
    states: () => records.all().map(stateOf),
    list: () => Promise.all(records.all().map(summary)),
    get: async (task) => ({ ...(await summary(need(task))), instruction: need(task).created.instruction }),
    pause: async (task, by, reason) => ({ seq: await runOf(task).pause(by, reason) }),
    resume: async (task) => ({ seq: await (isLeft(task) ? resumeLeft(task) : runOf(task).resume()) }),
    stop: async (task) => ({ seq: await (isLeft(task) ? stopLeft(task) : runOf(task).stop()) }),
    raiseBudget: async (task, to) => ({ seq: await raiseBudget(task, to) }),
    snapshots: async (task) => runOf(task).snapshots(),
    snapshot: async (task, name) => runOf(task).takeSnapshot(name),
    restore: async (task, name) => ({ seq: await runOf(task).restoreSnapshot(name) }),
    steer: async (task, text) => ({ seq: await runOf(task).say('task.steered', text) }),
    answer: async (task, text) => ({ seq: await runOf(task).say('task.answered', text) }),
    frame: async (task) => {
      need(task)
      return {
        text:
          (await runs
            .get(task)
            ?.frame()
            .catch(() => null)) ?? null,
        at: parts.clock.now(),
      }
    },
    progress: async (task) => (await parts.history.totals({ task: need(task).task })).progress,
    async released(agent) {
      await Promise.all([...runs.values()].filter((run) => run.agent === agent).map((run) => run.released()))
    },
    async recover() {
      const recovered = {
        openCallsClosed: 0,
        turnsInterrupted: 0,
        reservationsCharged: 0,
        tasks: [] as string[],
        resting: [] as string[],
      }
      for (const record of records.all()) {
        if (record.finished !== null) continue
        const closed = await closeOpenWork(parts.history, { ...record, model: record.created.model })
        recovered.openCallsClosed += closed.calls
        recovered.turnsInterrupted += closed.turns
        recovered.reservationsCharged += closed.charged
        recovered.tasks.push(record.task)
        if (record.isPaused) recovered.resting.push(record.task)
      }
      return recovered
    },
    async proceed() {
      for (const record of records.all()) {
        if (record.finished === null && !runs.has(record.task)) await takeUp(record)
      }
    },
    async ended(task) {
      await runs.get(task)?.ended
      return summary(need(task))
    },
    async close() {
      isClosed = true
      await queue
      await Promise.all([...[...runs.values()].map((run) => run.quit()), forks.close()])
    },
  }
}
