import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { SandboxProvider } from '../sandbox/sandbox.ts'
import { draft, type EventData, type Progress } from '../wire/events.ts'
import { taskFolders } from './folders.ts'
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
  created: EventData<'task.created'>
  /** Of an arm of a trial. */
  fork?: unknown
}

/** What history says of the task so far. */
export interface MeterState {
  /** The last step, and the turn that it was in; null before the first. */
  lastStep: { turn: number; step: number } | null
  lastTurn: number
  /** How long its turns have run, ms. */
  workedMs: number
  progress: Progress | null
  /** What a completion was accepted for; null: none was. */
  accepted: string | null
}

/** Steps, limits and progress of one task, as the kernel counts them. Progress is asked of the world, never of the executor. */
export class Meter {
  progress: Progress | null = null
  /** What `task.complete` was accepted for; null until then. */
  accepted: string | null = null
  readonly #parts: MeterParts
  readonly #task: Measured
  #pack: Pack | null = null
  #world: World | null = null
  #restarting: Promise<void> | null = null
  #isClosed = false
  #turn = 0
  #turnFrom: number | null = null
  #workedMs = 0
  #lastStep: MeterState['lastStep'] = null
  /** A step has begun here: of a fork, the last one before is another task's. */
  #hasStepped = false

  constructor(parts: MeterParts, task: Measured) {
    this.#parts = parts
    this.#task = task
  }

  /** @throws KernelError `unavailable` where the world does not start. */
  async open(pack: Pack, state: MeterState): Promise<void> {
    this.#pack = pack
    this.#lastStep = state.lastStep
    this.#turn = state.lastTurn
    this.#workedMs = state.workedMs
    this.progress = state.progress
    this.accepted = state.accepted
    if (pack.world === null) return
    // Opened again after a world that did not answer: two would write to one journal.
    await this.#world?.close()
    this.#world = await this.#startWorld()
    await this.measure()
  }

  get hasWorld(): boolean {
    return this.#world !== null
  }

  /** The turn and step that an event of this moment belongs to. */
  get place(): { turn: number | null; step: number | null } {
    const isForks = this.#task.fork !== undefined && !this.#hasStepped
    return (isForks ? null : this.#lastStep) ?? { turn: null, step: null }
  }

  /** Number of the turn that begins now; its time counts until `endTurn`. Pauses and waits do not count. */
  beginTurn(): number {
    this.#turn += 1
    this.#turnFrom = this.#parts.clock.monotonic()
    return this.#turn
  }

  endTurn(): void {
    this.#workedMs = this.#worked()
    this.#turnFrom = null
  }

  get turn(): number {
    return this.#turn
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
    const step = this.#steps + 1
    this.#lastStep = { turn: this.#turn, step }
    this.#hasStepped = true
    return step
  }

  limitReached(): { budget: 'steps' | 'time'; limit: number; used: number; reason: string } | null {
    const { maxSteps, maxMs } = this.#task.created.limits
    const steps = this.#steps
    if (maxSteps !== null && steps >= maxSteps)
      return { budget: 'steps', limit: maxSteps, used: steps, reason: `the limit of ${maxSteps} steps is reached` }
    const worked = this.workedMs
    if (maxMs !== null && worked >= maxMs) {
      const reason = `the limit of ${Math.round(maxMs / 1000)} s of work is reached`
      return { budget: 'time', limit: maxMs, used: worked, reason }
    }
    return null
  }

  /**
   * Asks the world; appends what changed, under the step that brought it.
   * @throws KernelError `unavailable`, details { lacks: 'world' }: it is gone and does not start again; its last words are in the text.
   */
  async measure(): Promise<void> {
    if (this.#world === null) return
    const probe = await this.#probe().catch((error: unknown) => {
      if (!(error instanceof KernelError) || error.code !== 'unavailable') throw error
      const text = `its world will not come back: ${error.message}`
      throw new KernelError('unavailable', text, { cause: error, details: { lacks: 'world' } })
    })
    if (this.progress !== null && this.progress.value === probe.value && this.progress.goal === probe.goal) return
    this.progress = { value: probe.value, goal: probe.goal, unit: probe.unit, source: 'measured' }
    await this.#parts.history.append([draft('task.progressed', this.progress, this.#header)])
  }

  /** `task.complete`: accepted where the world says so; with no world the operator decides. */
  async complete(summary: string): Promise<{ accepted: boolean; message: string }> {
    if (this.#world === null) {
      await this.#accept(summary)
      return { accepted: true, message: 'noted: the operator decides' }
    }
    await this.measure()
    const { value, goal, unit, done } = await this.#probe()
    const measured = `measured ${value} of ${goal} ${unit}`
    if (!done) return { accepted: false, message: `not complete: ${measured}` }
    await this.#accept(measured)
    return { accepted: true, message: `complete: ${measured}` }
  }

  /** On disk before anybody is told: a kill between this and the end finds it. */
  async #accept(reason: string): Promise<void> {
    await this.#parts.history.append([draft('task.claimed', { reason }, this.#header)])
    this.accepted = reason
  }

  async frame(): Promise<string | null> {
    return this.#world === null ? null : this.#world.frame()
  }

  /** The world's whole state, for the grader; null where there is none, or it no longer answers. */
  async save(): Promise<string | null> {
    return (await this.#world?.save().catch(() => null)) ?? null
  }

  /** As `save`, for a snapshot: it throws where the world does not answer. */
  async state(): Promise<string | null> {
    return this.#world === null ? null : this.#openWorld().save()
  }

  async load(state: string): Promise<void> {
    await this.#openWorld().load(state)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#restarting?.catch(() => {})
    await this.#world?.close()
    this.#world = null
  }

  get #header() {
    const { agent, task, fork } = this.#task
    const run = fork === undefined ? 'task' : 'trial'
    return { actor: 'kernel', agent, task, run, ...this.place } as const
  }

  get #steps(): number {
    return this.#lastStep?.step ?? 0
  }

  /** How long its turns have run, ms. */
  get workedMs(): number {
    return Math.round(this.#worked())
  }

  #worked(): number {
    return this.#workedMs + (this.#turnFrom === null ? 0 : this.#parts.clock.monotonic() - this.#turnFrom)
  }

  /** A world that died goes on where it was: its journal holds all that it acknowledged. */
  async #probe(): Promise<WorldProbe> {
    const world = this.#openWorld()
    try {
      return await world.probe()
    } catch (error) {
      if (!(error instanceof KernelError) || error.code !== 'unavailable') throw error
      await this.#restart(world)
      return this.#openWorld().probe()
    }
  }

  /** Once for all who found it dead: two at a time would write to one journal. */
  #restart(dead: World): Promise<void> {
    if (this.#restarting === null && this.#world !== dead) return Promise.resolve()
    this.#restarting ??= this.#replace(dead).finally(() => {
      this.#restarting = null
    })
    return this.#restarting
  }

  async #replace(dead: World): Promise<void> {
    await dead.close()
    const next = await this.#startWorld()
    this.#world = next
  }

  #openWorld(): World {
    if (this.#world === null || this.#isClosed) throw new KernelError('cancelled', `${this.#task.task} has ended`)
    return this.#world
  }

  #startWorld(): Promise<World> {
    const { task, created } = this.#task
    if (this.#pack === null || this.#isClosed) throw new KernelError('cancelled', `${task} has ended`)
    return startWorld(this.#parts.provider, this.#pack, taskFolders(this.#parts.boxesDir, task), task, created.seed)
  }
}
