import { isAbsolute, join } from 'node:path'
import { KernelError } from '../errors.ts'
import type { TreeFile } from '../sandbox/sandbox.ts'
import { draft, type EventData, type ModelChoice } from '../wire/events.ts'
import type { RunRequest, TaskSummary } from '../wire/operator.ts'
import { type Pack, readPack } from './pack.ts'
import { type TaskRecord, TaskRecords } from './projection.ts'
import { closeOpenWork } from './recovery.ts'
import { Run, type RunParts, requireBox } from './run.ts'
import type { Tasks } from './tasks.ts'

export interface TasksParts extends RunParts {
  /** Relative packs are looked up here. */
  packsRoot: string
  /** The starting policy of an agent created at first use. */
  seed: () => Promise<TreeFile[]>
  isSimulated: (model: string) => boolean
}

const defaultModel = 'sim-apprentice'
const openAi = { baseUrl: 'https://api.openai.com/v1', keyEnv: 'OPENAI_API_KEY' }

export async function createTasks(parts: TasksParts): Promise<Tasks> {
  const records = await TaskRecords.open(parts.history)
  const runs = new Map<string, Run>()
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
    return record
  }

  function start(record: TaskRecord, pack: Pack): Run {
    const run = new Run(parts, {
      task: record.task,
      agent: record.agent,
      pack,
      created: record.created,
      started: record.isStarted,
    })
    runs.set(record.task, run)
    return run
  }

  async function create(request: RunRequest): Promise<{ task: string; agent: string; seq: number }> {
    const pack = await readPack(isAbsolute(request.pack) ? request.pack : join(parts.packsRoot, request.pack))
    if (pack.blocked !== null) throw new KernelError('unavailable', `${request.pack} ${pack.blocked}`)
    requireBox(await parts.provider.report())
    if (request.sandbox !== undefined && request.sandbox !== parts.provider.name)
      throw new KernelError(
        'unavailable',
        `a ${request.sandbox} sandbox cannot be had here: this host runs tasks in ${parts.provider.name} boxes. Leave the sandbox out, or ask for ${parts.provider.name}`,
      )
    const agent = request.agent ?? freeName(pack)
    const busy = records.all().find((record) => record.agent === agent && record.finished === null)
    if (busy !== undefined)
      throw new KernelError(
        'conflict',
        `agent ${agent} has a task that is not over, ${busy.task}: stop it first, or name another agent`,
      )
    const model = chooseModel(request)
    const approve = request.approve ?? 'none'
    if (approve === 'all' && !model.simulated && request.unattended !== true) {
      throw new KernelError('forbidden', 'approving every proposal unread with a real model needs --unattended')
    }
    if ((await parts.guardian.active(agent)) === null) await parts.guardian.createAgent(agent, await parts.seed())
    const created: EventData<'task.created'> = {
      title: pack.name,
      pack: pack.dir,
      instruction: pack.instruction,
      model,
      sandbox: parts.provider.name,
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
    }
    const task = records.nextId()
    const [event] = await parts.history.append([
      draft('task.created', created, { actor: 'operator', agent, task, run: 'task' }),
    ])
    start(need(task), pack)
    return { task, agent, seq: event?.seq ?? 0 }
  }

  function freeName(pack: Pack): string {
    const base = (pack.name.split('/').at(-1) ?? 'agent').replaceAll(/[^A-Za-z0-9._-]/g, '-').slice(0, 50)
    const taken = new Set(records.all().map((record) => record.agent))
    let n = 1
    while (taken.has(`${base}-${n}`)) n += 1
    return `${base}-${n}`
  }

  function chooseModel(request: RunRequest): ModelChoice {
    const name = request.model ?? defaultModel
    if (parts.isSimulated(name) && request.baseUrl === undefined)
      return { name, api: 'responses', baseUrl: '', keyEnv: null, simulated: true }
    return {
      name,
      api: 'responses',
      baseUrl: request.baseUrl ?? openAi.baseUrl,
      keyEnv: request.keyEnv ?? (request.baseUrl === undefined ? openAi.keyEnv : null),
      simulated: false,
    }
  }

  async function summary(record: TaskRecord): Promise<TaskSummary> {
    const { created, finished } = record
    const run = runs.get(record.task)
    const [totals, activations, active] = await Promise.all([
      parts.history.totals({ task: record.task }),
      parts.history.activations(record.task),
      parts.guardian.active(record.agent),
    ])
    const ran = finished === null ? undefined : activations.at(-1)
    const { progress, ...figures } = totals
    const input = totals.uncached + totals.cacheRead + totals.cacheWrite
    return {
      task: record.task,
      agent: record.agent,
      title: created.title,
      pack: created.pack,
      state: finished !== null ? 'finished' : (run?.state ?? (record.isPaused ? 'paused' : 'interrupted')),
      reason: finished?.reason ?? run?.reason ?? record.pauseReason,
      outcome: finished?.outcome ?? null,
      activation: ran?.activation ?? active?.activation ?? 0,
      revision: ran?.revision ?? active?.revision ?? '',
      model: created.model,
      sandbox: created.sandbox,
      propose: created.propose,
      approve: created.approve,
      seed: created.seed,
      limits: created.limits,
      progress,
      totals: { ...figures, cachedShare: input === 0 ? null : totals.cacheRead / input },
      createdAt: record.createdAt,
      lastEventAt: record.lastEventAt,
      finishedAt: record.finishedAt,
      now: run?.now() ?? null,
    }
  }

  return {
    run(request) {
      const made = queue.then(() => create(request))
      queue = made.catch(() => {})
      return made
    },
    list: () => Promise.all(records.all().map(summary)),
    get: async (task) => ({ ...(await summary(need(task))), instruction: need(task).created.instruction }),
    pause: async (task, by, reason) => ({ seq: await runOf(task).pause(by, reason) }),
    resume: async (task) => ({ seq: await runOf(task).resume() }),
    stop: async (task) => ({ seq: await runOf(task).stop() }),
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
    async recover() {
      const recovered = { openCallsClosed: 0, turnsInterrupted: 0, tasks: [] as string[] }
      for (const record of records.all()) {
        if (record.finished !== null) continue
        const closed = await closeOpenWork(parts.history, record.agent, record.task)
        recovered.openCallsClosed += closed.calls
        recovered.turnsInterrupted += closed.turns
        recovered.tasks.push(record.task)
      }
      return recovered
    },
    async proceed() {
      for (const record of records.all()) {
        if (record.finished !== null || runs.has(record.task)) continue
        try {
          start(record, await readPack(record.created.pack ?? ''))
        } catch (error) {
          const reason = `its pack can no longer be read: ${(error as Error).message}`
          await parts.history.append([
            draft(
              'task.finished',
              { outcome: 'failed', reason, progress: null },
              { actor: 'kernel', agent: record.agent, task: record.task, run: 'task' },
            ),
          ])
        }
      }
    },
    async ended(task) {
      await runs.get(task)?.ended
      return summary(need(task))
    },
    async close() {
      await Promise.all([...runs.values()].map((run) => run.quit()))
    },
  }
}
