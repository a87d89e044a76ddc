import { KernelError } from '../errors.ts'
import type { Generation } from '../executor/executor.ts'
import { failpoint } from '../failpoints.ts'
import { draft, type EventData, type EventDraft } from '../wire/events.ts'
import { staled } from './checking.ts'
import { type Core, unless } from './core.ts'
import type { ActivationTarget } from './guardian.ts'
import type { ActivationRecord } from './state.ts'

type Stage = EventData<'revision.activation-failed'>['stage']

/** A change of the active revision that has been authorised. */
export interface Change {
  agent: string
  revision: string
  cause: 'proposal' | 'rollback' | 'last-good'
  proposal: string | null
  /** Events of the same commit, ahead of revision.activated. */
  alongside: EventDraft[]
  /** The activation that it replaces, and no other. */
  expected: ActivationRecord
}

/** At least, of probation after an override. */
const overrideSteps = 10

/** How it ended: null, or why the old revision goes on. */
export type Failure = { stage: Stage; error: string } | null

class StageError extends Error {
  readonly stage: Stage

  constructor(stage: Stage, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.stage = stage
  }
}

/**
 * Makes authorised revisions active. The pointer and `revision.activated` move in one commit, or the old one goes on
 * and `revision.activation-failed` says why: at every moment exactly one revision is active.
 */
export function createActivation(core: Core) {
  const { ledger } = core
  const { history } = core.parts
  /** Targets that have said they are ending: they hand over no more. */
  const ending = new WeakSet<ActivationTarget>()

  const runningTask = (agent: string): ActivationTarget | undefined => {
    const target = core.targets.get(agent)
    return target === undefined || ending.has(target) ? undefined : target
  }

  async function run(change: Change): Promise<Failure> {
    const { agent, revision, proposal } = change
    try {
      failpoint('activation:authorised')
      for (;;) {
        core.requireOpen()
        const target = runningTask(agent)
        const isDone = target === undefined ? await activateAtRest(change) : await replace(change, target)
        if (isDone) return null
      }
    } catch (error) {
      // Left as it is: approved, and taken up again at the next start.
      if (core.closing.aborted) throw error
      const stage = error instanceof StageError ? error.stage : 'commit'
      const text = error instanceof Error ? error.message : String(error)
      const task = proposal === null ? null : ledger.proposal(agent, proposal).task
      const data = { revision, proposal, stage, error: text }
      await history.append([draft('revision.activation-failed', data, { actor: 'kernel', agent, task })])
      return { stage, error: text }
    }
  }

  /** Beside the running generation, which hands over at a step boundary. False: its task ended first. */
  async function replace(change: Change, target: ActivationTarget): Promise<boolean> {
    const next = await start(change, target)
    failpoint('activation:started')
    const progress = { stage: 'drain' as Stage, isDone: false, hasEnded: false, isGivenUp: false }
    void next.ended.then(() => {
      progress.hasEnded = true
    })
    let settle: () => void = () => {}
    const done = new Promise<void>((resolve) => {
      settle = resolve
    })
    const handOver = target.swap(next, async () => {
      if (progress.isGivenUp) throw new KernelError('conflict', 'this activation was given up')
      if (progress.hasEnded) throw new KernelError('unavailable', 'the new executor ended before it could take over')
      progress.stage = 'commit'
      await commit(change, { task: target.task, run: 'task' }, () => true)
      progress.isDone = true
      settle()
    })
    try {
      // What the run does after the commit (stopping the old one) is its own affair.
      await unless(core.closing, Promise.race([handOver, done]))
      return true
    } catch (error) {
      if (progress.isDone) return true
      progress.isGivenUp = true
      await next.stop('it did not take over').catch(() => {})
      const taskEnded = error instanceof KernelError && error.code === 'conflict' && progress.stage === 'drain'
      if (!taskEnded) throw new StageError(progress.stage, error)
      ending.add(target)
      return false
    }
  }

  async function start({ agent, revision, expected }: Change, target: ActivationTarget): Promise<Generation> {
    const activation = expected.activation + 1
    const starting = core.parts.executors().start({ agent, run: 'task', revision, activation, task: target.context() })
    try {
      return await unless(core.closing, starting)
    } catch (error) {
      if (core.closing.aborted) void starting.then((late) => late.stop('the app is ending')).catch(() => {})
      const isHandshake = error instanceof KernelError && error.details?.stage === 'handshake'
      throw new StageError(isHandshake ? 'handshake' : 'start', error)
    }
  }

  /** While no task runs. False: one began in between, and has to hand over itself. */
  async function activateAtRest(change: Change): Promise<boolean> {
    const { agent, revision, cause } = change
    // What has been active before goes back without a box: a rollback must be possible where none can be had.
    if (cause === 'proposal') {
      const report = await unless(core.closing, core.parts.executors().boot(revision, agent)).catch(
        (error: unknown) => {
          throw new StageError('start', error)
        },
      )
      if (!report.passed) throw new StageError(report.stage === 'start' ? 'start' : 'handshake', report.summary)
    }
    failpoint('activation:started')
    return commit(change, {}, () => runningTask(agent) === undefined)
  }

  /** False, with nothing done, unless `holds` still does. @throws KernelError `conflict` where another revision has become active. */
  async function commit(change: Change, place: Partial<EventDraft>, holds: () => boolean): Promise<boolean> {
    const { agent, revision, cause, proposal, expected } = change
    return ledger.locked(agent, async () => {
      core.requireOpen()
      if (!holds()) return false
      const active = ledger.mustBeActive(agent)
      if (active.activation !== expected.activation)
        throw new KernelError('conflict', `r${active.activation} has become active meanwhile`)
      failpoint('activation:before-commit')
      const data = {
        activation: active.activation + 1,
        revision,
        previous: active.revision,
        cause,
        proposal,
        probationSteps: cause === 'proposal' ? probationSteps(core, agent, proposal) : 0,
      }
      await history.appendIfActive(agent, active.revision, [
        ...change.alongside,
        draft('revision.activated', data, { actor: 'kernel', agent, revision, ...place }),
        ...staled(core, agent, revision, proposal),
      ])
      failpoint('activation:after-commit')
      return true
    })
  }

  return {
    /** Called under the agent's lock, right after the authorisation is on disk; the change itself goes on in the background. */
    begin(change: Change, what: string): Promise<Failure> {
      const { agent, proposal } = change
      const work = run(change)
      core.changing.set(agent, { proposal, what })
      core.background(agent, () => work.finally(() => core.changing.delete(agent)))
      return work
    },
  }
}

/** What was approved without all of its checks is watched in any case. */
function probationSteps({ ledger, profile }: Core, agent: string, proposal: string | null): number {
  const { steps } = profile.probation
  const isOverride = proposal !== null && ledger.proposal(agent, proposal).overrides.length > 0
  return isOverride ? Math.max(steps, overrideSteps) : steps
}

export type Activation = ReturnType<typeof createActivation>
