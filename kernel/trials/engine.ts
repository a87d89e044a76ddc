import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import type { Guardian } from '../guardian/guardian.ts'
import type { History } from '../history/history.ts'
import type { Gateway } from '../models/models.ts'
import type { KeptTask, Tasks } from '../tasks/tasks.ts'
import { draft, type EventData, type EventDraft, type EventKind, type ModelChoice } from '../wire/events.ts'
import { type TrialArm, type TrialObservation, type TrialPlan, type TrialResult, trialArms } from '../wire/trials.ts'
import { armRow, figuresOf, trialRow, trialTotals } from './figures.ts'
import { type TrialRecord, TrialRecords } from './record.ts'
import type { Trials } from './trials.ts'

export interface TrialParts {
  history: History
  guardian: Pick<Guardian, 'trial' | 'active'>
  tasks: Pick<Tasks, 'forks'>
  gateway: Pick<Gateway, 'hold' | 'release' | 'requirePrice'>
  /** Where a model answers now, and what it costs. */
  resolve(choice: ModelChoice, seed: number): Promise<ModelChoice>
  /** How long a trial waits for a safe point of the task, ms. Default 10 minutes. */
  safePointMs?: number
}

/** What runs in this process. */
interface Running {
  stop: AbortController
  /** The arm in hand. */
  task: string | null
  done: Promise<void>
}

/** @see Trials */
export async function createTrials(parts: TrialParts): Promise<Trials> {
  const { history, guardian, gateway } = parts
  const { forks } = parts.tasks
  const records = await TrialRecords.open(history)
  const running = new Map<string, Running>()
  const closing = new AbortController()
  /** Starts are taken one at a time, so that no two have one number. */
  let queue: Promise<unknown> = Promise.resolve()

  // Of no agent and of no task: nothing that is forked can see it.
  async function append<K extends EventKind>(kind: K, data: EventData<K>, actor: EventDraft['actor']): Promise<number> {
    const [event] = await history.append([draft(kind, data, { actor, run: 'trial' })])
    return event?.seq ?? 0
  }

  const observe = (trial: string, arm: TrialArm, observation: TrialObservation): Promise<number> =>
    append('trial.observed', { trial, arm, observation }, 'kernel')

  async function close(trial: string, result: TrialResult): Promise<void> {
    failpoint('trial:before-closed')
    await append('trial.closed', { trial, result }, 'kernel')
  }

  /** Its forks' names; an agent that has one of them moves it on. */
  async function freeNames(): Promise<{ trial: string; names: Record<TrialArm, string> }> {
    for (let n = records.all().length + 1; ; n += 1) {
      const trial = `TR-${n}`
      const names = { before: `${trial}.before`, after: `${trial}.after` }
      const taken = await Promise.all(trialArms.map((arm) => guardian.active(names[arm])))
      if (records.get(trial) === undefined && taken.every((found) => found === null)) return { trial, names }
    }
  }

  async function begin(request: Parameters<Trials['start']>[0]): Promise<{ trial: string; seq: number }> {
    if (closing.signal.aborted) throw new KernelError('unavailable', 'the app is ending: start it again first')
    const { agent, proposal, capNanoUsd, capTokens, maxSteps } = request
    if (capNanoUsd === null && capTokens === null)
      throw new KernelError('over-budget', 'a trial needs a cap of its own: in USD, in tokens, or both')
    for (const cap of [capNanoUsd, capTokens])
      if (cap !== null && cap < 2)
        throw new KernelError('over-budget', 'a cap of nothing lets no call through: give more')
    const { before, after } = guardian.trial.subject(request)
    const other = records.all().find(({ plan, result }) => result === null && plan.agent === agent)
    if (other !== undefined)
      throw new KernelError('conflict', `${other.trial} of ${other.plan.proposal} is running: wait for it, or stop it`)
    const { task, model, seed } = await forks.subject(agent)
    await gateway.requirePrice(agent, await parts.resolve(model, seed), capNanoUsd)
    const { trial, names } = await freeNames()
    await gateway.hold(trial, agent, { nanoUsd: capNanoUsd, tokens: capTokens })
    try {
      const plan = { agent, proposal, revisions: { before, after }, task, capNanoUsd, capTokens, maxSteps }
      const planned: TrialPlan = { ...plan, simulated: model.simulated }
      const seq = await append('trial.planned', { trial, plan: planned }, 'operator')
      failpoint('trial:planned')
      const one: Running = { stop: new AbortController(), task: null, done: Promise.resolve() }
      running.set(trial, one)
      one.done = carryOut(trial, planned, names, one).finally(() => {
        gateway.release(trial)
        running.delete(trial)
      })
      return { trial, seq }
    } catch (error) {
      gateway.release(trial)
      throw error
    }
  }

  /** To its end, which is an event, never a throw; only the end of the app leaves it as it is. */
  async function carryOut(
    trial: string,
    plan: TrialPlan,
    names: Record<TrialArm, string>,
    one: Running,
  ): Promise<void> {
    try {
      const arms = await fork(trial, plan, names, one.stop.signal)
      for (const arm of trialArms) {
        if (closing.signal.aborted) return
        if (one.stop.signal.aborted) break
        if (!(await runArm(trial, arm, arms[arm], one))) return
      }
      for (const arm of trialArms) await forks.discard(arms[arm])
      await close(trial, one.stop.signal.aborted ? stopped : { state: 'finished', reason: null })
    } catch (error) {
      if (closing.signal.aborted) return
      const text = error instanceof Error ? error.message : String(error)
      // What cannot be closed now is closed at the next start.
      await abandon(trial, one.stop.signal.aborted ? stopped : { state: 'failed', reason: text }).catch(() => {})
    }
  }

  async function fork(
    trial: string,
    { agent, proposal, revisions, task, capNanoUsd, capTokens, maxSteps }: TrialPlan,
    names: Record<TrialArm, string>,
    signal: AbortSignal,
  ): Promise<Record<TrialArm, string>> {
    const kept = await keep(task, signal)
    failpoint('trial:kept')
    try {
      await guardian.trial.fork({ trial, proposal, parent: { agent, seq: kept.upTo }, names, revisions })
      const arms: Record<TrialArm, string> = { before: '', after: '' }
      for (const arm of trialArms) {
        const half = (cap: number | null) => (cap === null ? null : Math.floor(cap / 2))
        const limits = { hold: trial, budgetNanoUsd: half(capNanoUsd), budgetTokens: half(capTokens), maxSteps }
        arms[arm] = await forks.create(kept, names[arm], limits)
        await observe(trial, arm, { of: 'fork', agent: names[arm], task: arms[arm], forkedAt: kept.upTo })
      }
      return arms
    } finally {
      await kept.forget()
    }
  }

  async function keep(task: string, signal: AbortSignal): Promise<KeptTask> {
    const ms = parts.safePointMs ?? 600_000
    const late = AbortSignal.timeout(ms)
    try {
      return await forks.keep(task, AbortSignal.any([signal, late, closing.signal]))
    } catch (error) {
      if (!late.aborted || signal.aborted || closing.signal.aborted) throw error
      throw new KernelError('unavailable', `${task} came to no safe point within ${Math.round(ms / 1000)} s`)
    }
  }

  /** False: the app ends. */
  async function runArm(trial: string, arm: TrialArm, task: string, one: Running): Promise<boolean> {
    one.task = task
    const end = await forks.run(task)
    one.task = null
    if (end === null) return false
    failpoint('trial:before-observed')
    await observe(trial, arm, { of: 'end', ...end, ...(await figuresOf(history, task)) })
    return true
  }

  /** Whatever it has come to, nothing of it is left but what history says. */
  async function abandon(trial: string, result: TrialResult): Promise<void> {
    const record = records.get(trial)
    if (record === undefined || record.result !== null) return
    const { plan } = record
    const reason = result.reason ?? result.state
    await forks.forgetKept(plan.task)
    for (const task of await forks.of(trial)) await forks.abandon(task, reason)
    for (const arm of trialArms) {
      const found = record.arms[arm]
      if (found === undefined || found.end !== null) continue
      await observe(trial, arm, { of: 'end', outcome: 'failed', reason, ...(await figuresOf(history, found.task)) })
    }
    await close(trial, result)
  }

  return {
    async list({ agent, proposal }) {
      const wanted = records
        .all()
        .filter(
          ({ plan }) =>
            (agent === undefined || plan.agent === agent) && (proposal === undefined || plan.proposal === proposal),
        )
      return Promise.all(wanted.reverse().map((record) => row(record)))
    },
    start(request) {
      const started = queue.then(() => begin(request))
      queue = started.catch(() => {})
      return started
    },
    async stop(trial) {
      const record = records.get(trial)
      if (record === undefined) throw new KernelError('not-found', `there is no trial ${trial}`)
      const one = running.get(trial)
      if (one === undefined) throw new KernelError('conflict', `${trial} is over (${record.result?.state ?? 'left'})`)
      one.stop.abort()
      if (one.task !== null) await forks.stop(one.task)
      return { seq: history.head()?.seq ?? 0 }
    },
    running: () => running.size,
    async totals({ agent, task }) {
      const wanted = records
        .all()
        .filter(
          ({ plan }) => (agent === undefined || plan.agent === agent) && (task === undefined || plan.task === task),
        )
      return trialTotals(await Promise.all(wanted.map((record) => row(record))))
    },
    async recover() {
      const left = records.all().filter(({ result }) => result === null)
      for (const { trial } of left) await abandon(trial, { state: 'failed', reason: 'the app ended while it ran' })
      return left.length
    },
    async settled() {
      await Promise.all([...running.values()].map(({ done }) => done))
    },
    async close() {
      closing.abort()
      await queue
      records.close()
    },
  }

  async function row(record: TrialRecord) {
    const current = running.get(record.trial)?.task ?? null
    return trialRow(record, await Promise.all(trialArms.map((arm) => armRow(history, record, arm, current))))
  }
}

const stopped: TrialResult = { state: 'stopped', reason: 'stopped by the operator' }
