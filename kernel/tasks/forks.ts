import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import type { TaskPlace } from '../sandbox/sandbox.ts'
import { draft } from '../wire/events.ts'
import { copyJournal, createForkFolders, keptPack, taskFolders } from './folders.ts'
import { requireBox } from './generations.ts'
import type { Pack } from './pack.ts'
import type { TaskRecord, TaskRecords } from './projection.ts'
import { closeOpenWork, meterState } from './recovery.ts'
import { boxOf, Run } from './run.ts'
import type { ForkSpec, RunParts } from './run-parts.ts'
import type { Kept } from './safe-point.ts'
import type { ForkEnd, ForkLimits, KeptTask, TaskForks } from './tasks.ts'
import { startWorld } from './world.ts'

interface ForksParts {
  parts: RunParts
  records: TaskRecords
  inTurn<T>(work: () => Promise<T>): Promise<T>
  runOf(task: string): Run | undefined
}

/** The kernel's own: an agent cannot name one so. */
const keptName = '.trial'

interface KeptState extends KeptTask, Kept {
  record: TaskRecord
  pack: Pack
  place: TaskPlace
}

/** An arm that has been made. */
interface Arm {
  record: TaskRecord
  pack: Pack
  fork: ForkSpec
  run: Run | null
}

/** @see TaskForks. An arm is a run like any other, in folders and a box of its own, whose failures nobody answers for. */
export function createForks({ parts, records, inTurn, runOf }: ForksParts): TaskForks & { close(): Promise<void> } {
  const { history, provider, guardian, boxesDir } = parts
  const arms = new Map<string, Arm>()
  const trialParts: RunParts = {
    ...parts,
    guardian: Object.assign(Object.create(guardian) as typeof guardian, {
      // Nothing is restarted and nothing rolled back: the arm has failed, and that is what was to be seen.
      generationFailed: async (_agent, { detail, kind }) => ({ action: 'give-up', reason: `${kind}: ${detail}` }),
    } satisfies Pick<typeof guardian, 'generationFailed'>),
  }

  function find(task: string): TaskRecord {
    const record = records.get(task)
    if (record === undefined) throw new KernelError('not-found', `there is no task ${task}`)
    return record
  }

  function arm(task: string): Arm {
    const found = arms.get(task)
    if (found === undefined) throw new KernelError('not-found', `there is no arm ${task}`)
    return found
  }

  const placeOf = ({ task, created }: TaskRecord, pack: Pack): TaskPlace => {
    const { workdir: _, ...place } = boxOf(boxesDir, task, created, pack)
    return place
  }

  /** Before anything is set aside. @throws KernelError where no copy can be made of it. */
  async function requireCopyable({ task, created, finished }: TaskRecord): Promise<void> {
    const another = 'run another task first'
    const [endpoint] = created.endpoints ?? []
    if (endpoint !== undefined)
      throw new KernelError(
        'conflict',
        `${task} uses ${endpoint.name} at ${endpoint.address}, which no copy can be made of: it cannot be tried apart`,
      )
    if (created.sandbox === 'docker' && finished !== null)
      throw new KernelError('conflict', `${task} is over and its container is gone: ${another}`)
    if (created.sandbox !== 'docker' && !existsSync(taskFolders(boxesDir, task).root))
      throw new KernelError('conflict', `the sandbox of ${task} is gone: ${another}`)
    requireBox(await parts.reports(), created.sandbox)
  }

  /** While none of it runs: its folders stand still, and its container is taken up for the moment of it. */
  async function keepAtRest(record: TaskRecord, place: TaskPlace): Promise<Kept> {
    const { agent, task, created } = record
    await requireCopyable(record)
    const [last] = (await history.read({ agent }, { order: 'desc', limit: 1 })).events
    const { lastStep, lastTurn } = await meterState(history, agent, task)
    const isContainer = created.sandbox === 'docker'
    if (isContainer) await provider.open(place)
    try {
      await provider.snapshot(place, keptName)
    } finally {
      if (isContainer) await provider.killAll(place.label)
    }
    return { upTo: last?.seq ?? 0, world: null, lastTurn, lastStep }
  }

  async function layWorld(kept: KeptState, task: string, pack: Pack): Promise<void> {
    if (pack.world === null) return
    const folders = taskFolders(boxesDir, task)
    if (kept.world === null) return copyJournal(taskFolders(boxesDir, kept.task), folders)
    const world = await startWorld(provider, pack, folders, task, kept.record.created.seed)
    try {
      await world.load(kept.world)
    } finally {
      await world.close()
    }
  }

  async function clear({ task, created }: TaskRecord): Promise<void> {
    const folders = taskFolders(boxesDir, task)
    const pack = await keptPack(folders).catch(() => null)
    if (pack !== null) await provider.destroy(placeOf({ task, created } as TaskRecord, pack)).catch(() => {})
    await rm(folders.base, { recursive: true, force: true })
  }

  return {
    async subject(agent) {
      const own = records.all().filter((record) => record.agent === agent && record.isStarted)
      const record = own.find(({ finished }) => finished === null) ?? own.at(-1)
      if (record === undefined)
        throw new KernelError('conflict', `agent ${agent} has no task that a trial could go on from: run one first`)
      await requireCopyable(record)
      return { task: record.task, model: record.created.model, seed: record.created.seed }
    },

    async keep(task, signal) {
      const record = find(task)
      const pack = await keptPack(taskFolders(boxesDir, task))
      const place = placeOf(record, pack)
      const run = runOf(task)
      const isLive = run !== undefined && run.state !== 'interrupted' && run.state !== 'finished'
      const kept = isLive ? await run.keepForFork(keptName, signal) : await keepAtRest(record, place)
      const forget = () => provider.forget(place, keptName)
      const state: KeptState = { ...kept, task, record, pack, place, forget }
      return state
    },

    async create(kept, agent, { hold, ...caps }: ForkLimits) {
      const { record, pack, place, lastStep, lastTurn, upTo } = kept as KeptState
      const { endpoints: _, ...rest } = record.created
      const created = {
        ...rest,
        limits: { ...rest.limits, ...caps, maxSteps: (lastStep?.step ?? 0) + caps.maxSteps },
        propose: false,
        approve: 'none' as const,
      }
      const header = { actor: 'kernel', agent, run: 'trial' } as const
      const task = await inTurn(async () => {
        const task = records.nextId()
        await history.append([draft('task.created', created, { ...header, task })])
        return task
      })
      failpoint('trial:created')
      // Nobody is graded in a trial.
      const own = await createForkFolders(taskFolders(boxesDir, task), { ...pack, tests: null })
      const made = find(task)
      await provider.clone(place, keptName, placeOf(made, own))
      await layWorld(kept as KeptState, task, own)
      failpoint('trial:laid')
      await guardian.layPolicy(agent, boxOf(boxesDir, task, created, own), task)
      const { name, detail } = requireBox(await parts.reports(), created.sandbox)
      await history.append([
        draft('sandbox.created', { provider: name, detail }, { ...header, task }),
        draft('task.started', {}, { ...header, task }),
      ])
      const fork = { task: kept.task, upTo, lastTurn, lastStep, hold }
      arms.set(task, { record: made, pack: own, fork, run: null })
      return task
    },

    async run(task) {
      const found = arm(task)
      const { agent, created } = found.record
      found.run = new Run(trialParts, { task, agent, pack: found.pack, created, started: true, fork: found.fork })
      await found.run.ended
      if (found.run.state !== 'finished') return null
      const { outcome, reason } = find(task).finished ?? { outcome: 'failed', reason: 'it has no end' }
      return { outcome, reason } satisfies ForkEnd
    },

    async stop(task) {
      await arms.get(task)?.run?.stop()
    },

    async discard(task) {
      arms.delete(task)
      await clear(find(task))
    },

    async abandon(task, reason) {
      const record = find(task)
      const { agent, created, finished } = record
      await closeOpenWork(history, { agent, task, model: created.model })
      if (finished === null) {
        const { progress } = await history.totals({ task })
        const header = { actor: 'kernel', agent, task, run: 'trial' } as const
        await history.append([draft('task.finished', { outcome: 'failed', reason, progress }, header)])
      }
      await clear(record)
    },

    of: async (trial) =>
      records
        .trials()
        .filter(({ agent }) => guardian.trial.of(agent) === trial)
        .map(({ task }) => task),

    async forgetKept(task) {
      const record = records.get(task)
      const pack = await keptPack(taskFolders(boxesDir, task)).catch(() => null)
      if (record === undefined || pack === null) return
      const place = placeOf(record, pack)
      const left = await provider.snapshots(place).catch(() => [])
      if (left.some(({ name }) => name === keptName)) await provider.forget(place, keptName)
    },

    async close() {
      await Promise.all([...arms.values()].map(({ run }) => run?.quit()))
    },
  }
}
