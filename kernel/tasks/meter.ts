import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { SandboxProvider } from '../sandbox/sandbox.ts'
import { draft, type EventData, type Progress } from '../wire/events.ts'
import { type TaskFolders, taskFolders } from './folders.ts'
import type { Pack } from './pack.ts'
import { startWorld, type World, type WorldProbe } from './world.ts'

interface MeterParts {
  history: History
  provider: SandboxProvider
  clock: Clock
  boxesDir: string
}

interface Measured {
  task: string
  agent: string
  pack: Pack
  created: EventData<'task.created'>
}

/** Steps, limits and progress of one task, as the kernel counts them. Progress is asked of the world, never of the executor. */
export class Meter {
  progress: Progress | null = null
  /** The turn that steps are counted in. */
  turn = 0
  /** What `task.complete` was accepted for; null until then. */
  accepted: string | null = null
  readonly #parts: MeterParts
  readonly #task: Measured
  readonly #startedAt: number
  #world: World | null = null
  #steps = 0

  constructor(parts: MeterParts, task: Measured) {
    this.#parts = parts
    this.#task = task
    this.#startedAt = parts.clock.monotonic()
  }

  get hasWorld(): boolean {
    return this.#world !== null
  }

  async open(steps: number, turn: number, progress: Progress | null): Promise<void> {
    this.#steps = steps
    this.turn = turn
    this.progress = progress
    if (this.#task.pack.world === null) return
    this.#world = await this.#startWorld()
    await this.measure()
  }

  /**
   * Number of the step that begins now; what the step before it brought is measured first.
   * @throws KernelError `over-budget`, details { budget, limit, used }.
   */
  async nextStep(): Promise<number> {
    await this.measure()
    const limit = this.limitReached()
    if (limit !== null) {
      const { reason, ...details } = limit
      throw new KernelError('over-budget', reason, { details })
    }
    this.#steps += 1
    return this.#steps
  }

  limitReached(): { budget: 'steps' | 'time'; limit: number; used: number; reason: string } | null {
    const { maxSteps, maxMs } = this.#task.created.limits
    if (maxSteps !== null && this.#steps >= maxSteps) {
      return {
        budget: 'steps',
        limit: maxSteps,
        used: this.#steps,
        reason: `the limit of ${maxSteps} steps is reached`,
      }
    }
    const used = Math.round(this.#parts.clock.monotonic() - this.#startedAt)
    if (maxMs !== null && used >= maxMs) {
      return { budget: 'time', limit: maxMs, used, reason: `the limit of ${Math.round(maxMs / 1000)} s is reached` }
    }
    return null
  }

  /** Asks the world; appends what changed, under the step that brought it. */
  async measure(): Promise<void> {
    if (this.#world === null) return
    const probe = await this.#probe()
    if (this.progress !== null && this.progress.value === probe.value && this.progress.goal === probe.goal) return
    this.progress = { value: probe.value, goal: probe.goal, unit: probe.unit, source: 'measured' }
    const { agent, task } = this.#task
    const [turn, step] = this.#steps === 0 ? [null, null] : [this.turn, this.#steps]
    await this.#parts.history.append([
      draft('task.progressed', this.progress, { actor: 'kernel', agent, task, run: 'task', turn, step }),
    ])
  }

  /** `task.complete`: accepted where the world says so; with no world the operator decides. */
  async complete(summary: string): Promise<{ accepted: boolean; message: string }> {
    if (this.#world === null) {
      this.accepted = summary
      return { accepted: true, message: 'noted: the operator decides' }
    }
    await this.measure()
    const { value, goal, unit, done } = await this.#probe()
    const measured = `measured ${value} of ${goal} ${unit}`
    if (!done) return { accepted: false, message: `not complete: ${measured}` }
    this.accepted = measured
    return { accepted: true, message: `complete: ${measured}` }
  }

  async frame(): Promise<string | null> {
    return this.#world === null ? null : this.#world.frame()
  }

  /** The world's whole state, for the grader; null where there is none, or it no longer answers. */
  async save(): Promise<string | null> {
    return (await this.#world?.save().catch(() => null)) ?? null
  }

  async close(): Promise<void> {
    await this.#world?.close()
    this.#world = null
  }

  /** A world that died goes on where it was: its journal holds all that it acknowledged. */
  async #probe(): Promise<WorldProbe> {
    if (this.#world === null) throw new KernelError('internal', `${this.#task.task} has no world`)
    try {
      return await this.#world.probe()
    } catch (error) {
      if (!(error instanceof KernelError) || error.code !== 'unavailable') throw error
      await this.#world.close()
      this.#world = await this.#startWorld()
      return this.#world.probe()
    }
  }

  #startWorld(): Promise<World> {
    const { pack, task, created } = this.#task
    const folders: TaskFolders = taskFolders(this.#parts.boxesDir, task)
    return startWorld(this.#parts.provider, pack, folders, task, created.seed)
  }
}
