import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { Executors, Generation, TaskContext, TurnEnd } from '../executor/executor.ts'
import { failpoint } from '../failpoints.ts'
import type { ActivationTarget, Guardian } from '../guardian/guardian.ts'
import type { History } from '../history/history.ts'
import type { Gateway } from '../models/models.ts'
import type { Notices } from '../notices.ts'
import type { SandboxProvider } from '../sandbox/sandbox.ts'
import { type Actor, draft, type EventData, type EventDraft, type EventKind, type ModelChoice } from '../wire/events.ts'
import { type Endpoint, endpointEnv, endpointNote } from './endpoint-address.ts'
import { createEndpoints, type Endpoints } from './endpoints.ts'
import { createFolders, taskFolders } from './folders.ts'
import { afterEnd, requireBox, startActive } from './generations.ts'
import { type Grade, grade } from './grader.ts'
import { Meter } from './meter.ts'
import type { Pack } from './pack.ts'
import { knownSpend, leftOpen, meterState } from './recovery.ts'

/** What a run is made of; constructed by kernel.ts. */
export interface RunParts {
  history: History
  gateway: Gateway
  guardian: Guardian
  executors: Executors
  provider: SandboxProvider
  clock: Clock
  notices: Notices
  boxesDir: string
  turnLimits: { maxSteps: number; maxMs: number }
  /** Where the model of this task answers now: a simulator's address changes from start to start. */
  resolveModel(choice: ModelChoice, seed: number): Promise<ModelChoice>
}

export interface RunSpec {
  task: string
  agent: string
  /** Of a task that was started: as it was kept then. */
  pack: Pack
  created: EventData<'task.created'>
  /** False until task.started: the folders and /policy are then laid (again). */
  started: boolean
}

export type RunState =
  | 'starting'
  | 'running'
  | 'pausing'
  | 'paused'
  | 'waiting'
  | 'stopping'
  | 'interrupted'
  | 'finished'

/** How a task ended. */
type Over = Pick<EventData<'task.finished'>, 'outcome' | 'reason'>

/** How long a replacement, a pause or a stop waits for the step in hand before it is interrupted. */
const drainMs = { replacement: 120_000, pause: 120_000, stop: 20_000, quit: 5_000 } as const
/** Turns in a row that fail, or bring no step, until the task has failed. A model that cannot be reached gets about ten minutes. */
const failedTurnsMax = { policy: 3, endpoint: 12 } as const
const failedTurnWaitMaxMs = 60_000

// Long because: the loop and the hand-over are one state machine; apart, their order could not be read.
/** One running task: the loop of turns, and the hand-over from generation to generation. It ends by events, never by a throw. */
export class Run implements ActivationTarget {
  readonly task: string
  readonly agent: string
  readonly approve: 'none' | 'rules' | 'all'
  state: RunState = 'starting'
  reason: string | null = null
  /** Resolves when the loop has ended and all of it is released: finished, or left for later. */
  readonly ended: Promise<void>

  readonly #parts: RunParts
  readonly #spec: RunSpec
  readonly #meter: Meter
  readonly #endpoints: Endpoints
  #pack: Pack
  #generation: Generation | null = null
  /** What the loop makes of the next safe point. Only a resume goes back from `pause`, and nothing from `stop`. */
  #wanted: 'run' | 'pause' | 'stop' = 'run'
  #isQuitting = false
  /** Raised when a quit has waited long enough for the grader. */
  readonly #hurry = new AbortController()
  #isStarted: boolean
  /** The loop has ended, or is ending: nothing that is asked for changes that. */
  #isOver = false
  #wake: () => void = () => {}
  #swap: { next: Generation; commit: () => Promise<void>; settle: (error: unknown) => void } | null = null
  #question: string | null = null
  #model: ModelChoice

  constructor(parts: RunParts, spec: RunSpec) {
    this.#parts = parts
    this.#spec = spec
    this.task = spec.task
    this.agent = spec.agent
    this.approve = spec.created.approve
    this.#pack = spec.pack
    this.#isStarted = spec.started
    this.#model = spec.created.model
    this.#meter = new Meter(parts, spec)
    this.#endpoints = createEndpoints({
      dir: this.#folders().endpoints,
      endpoints: spec.created.endpoints ?? [],
      clock: parts.clock,
      used: (use) => this.#append('endpoint.used', use, 'kernel'),
      answers: (endpoint, why) => this.#endpointAnswers(endpoint, why),
    })
    this.ended = this.#live()
  }

  // ---- what the operator and the guardian ask for ----

  context(): TaskContext {
    const { created } = this.#spec
    return {
      task: this.task,
      brief: {
        task: this.task,
        instruction: created.instruction + endpointNote(created.endpoints ?? []),
        workdir: this.#pack.workdir,
        model: { name: created.model.name, api: created.model.api, ...this.#parts.gateway.describe(this.#model) },
        propose: created.propose,
        limits: created.limits,
      },
      model: this.#model,
      box: this.box(),
      complete: (summary) => this.#meter.complete(summary),
      ask: async (question) => {
        await this.#append('task.asked', { question }, 'executor', this.#meter.place)
        this.#question = question
      },
      nextStep: () => this.#meter.nextStep(),
    }
  }

  box(): TaskContext['box'] {
    const folders = this.#folders()
    const { world, workdir } = this.#pack
    const { sandbox, endpoints = [] } = this.#spec.created
    return {
      sandbox,
      label: this.task,
      mounts: {
        root: folders.root,
        policy: folders.policy,
        ...(world === null ? {} : { socket: folders.socket, program: folders.commands }),
        ...(endpoints.length === 0 ? {} : { endpoints: folders.endpoints }),
      },
      workdir,
      env: endpointEnv(endpoints),
    }
  }

  async swap(next: Generation, commit: () => Promise<void>): Promise<void> {
    if (this.#isOver || this.#isQuitting || this.#wanted === 'stop')
      throw new KernelError('conflict', `${this.task} is ending: activate again for the next task`)
    if (this.#swap !== null) throw new KernelError('conflict', `${this.task} is already changing to another revision`)
    const handedOver = new Promise<void>((resolve, reject) => {
      this.#swap = { next, commit, settle: (error) => (error === null ? resolve() : reject(error)) }
    })
    this.#wake()
    this.#drain('replacement')
    await handedOver
  }

  async pause(by: 'operator' | 'kernel', reason: string): Promise<number> {
    if (this.state !== 'starting' && this.state !== 'running' && this.state !== 'waiting')
      throw new KernelError('conflict', `${this.task} is ${this.state}: only a running task can be paused`)
    const seq = await this.#append('task.paused', { by, reason }, by)
    // A stop, or the task's end, may have come meanwhile: it holds.
    if (this.#wanted === 'run' && !this.#isOver && !this.#isQuitting) {
      this.#wanted = 'pause'
      this.state = 'pausing'
      this.reason = reason
      this.#wake()
      this.#drain('pause')
    }
    return seq
  }

  async resume(): Promise<number> {
    if (this.state !== 'paused')
      throw new KernelError('conflict', `${this.task} is ${this.state}: only a paused task can be resumed`)
    const seq = await this.#append('task.resumed', { by: 'operator' }, 'operator')
    if (this.#wanted === 'pause' && !this.#isOver && !this.#isQuitting) {
      this.#wanted = 'run'
      this.state = 'starting'
      this.reason = null
      this.#wake()
    }
    return seq
  }

  async stop(): Promise<number> {
    if (this.state === 'finished') throw new KernelError('conflict', `${this.task} has finished`)
    if (!this.#isOver) {
      this.#wanted = 'stop'
      this.state = 'stopping'
      this.reason = stoppedBy
      this.#wake()
      this.#drain('stop')
    }
    return this.#parts.history.head()?.seq ?? 0
  }

  /** The kernel closes: the task stays as it is and goes on at the next start. */
  async quit(): Promise<void> {
    this.#isQuitting = true
    if (!this.#isOver) this.state = 'stopping'
    this.#wake()
    this.#drain('quit')
    const hurry = setTimeout(() => this.#hurry.abort(), drainMs.quit)
    await this.ended
    clearTimeout(hurry)
  }

  /** Any word of the operator's answers an open question. */
  async say(kind: 'task.steered' | 'task.answered', text: string): Promise<number> {
    if (this.state === 'finished') throw new KernelError('conflict', `${this.task} has finished`)
    const seq = await this.#append(kind, { text }, 'operator')
    this.#question = null
    this.#wake()
    return seq
  }

  async frame(): Promise<string | null> {
    return this.#meter.frame()
  }

  now(): { what: string; since: number } | null {
    return this.#generation?.now() ?? null
  }

  // ---- the loop ----

  async #live(): Promise<void> {
    await Promise.resolve()
    let detach = () => {}
    try {
      await this.#open()
      detach = this.#parts.guardian.attach(this.agent, this)
      const over = await this.#turns()
      if (over === null) this.#leave(null)
      else await this.#finish(over)
    } catch (error) {
      await this.#fail(error)
    } finally {
      this.#isOver = true
      detach()
      await this.#release()
    }
  }

  /** What cannot go on for want of a box, a world, an endpoint or a disk is not over: it goes on later. */
  async #fail(error: unknown): Promise<void> {
    const text = error instanceof Error ? error.message : String(error)
    const isWanting = error instanceof KernelError && error.code === 'unavailable'
    if (isWanting && this.#wanted !== 'stop') return this.#leave(text)
    const over: Over =
      this.#wanted === 'stop' ? { outcome: 'stopped', reason: stoppedBy } : { outcome: 'failed', reason: text }
    await this.#finish(over).catch((late: Error) => this.#leave(`${text}; and it could not be closed: ${late.message}`))
  }

  #leave(reason: string | null): void {
    this.#isOver = true
    this.state = 'interrupted'
    this.reason = reason
  }

  async #open(): Promise<void> {
    const { history, gateway, guardian, provider } = this.#parts
    const { created } = this.#spec
    const report = await provider.report()
    requireBox(report)
    const wasStarted = this.#isStarted
    if (!wasStarted) {
      this.#pack = await createFolders(this.#folders(), this.#pack)
      await guardian.layPolicy(this.agent, this.box(), this.task)
      failpoint('task:before-started')
      await history.append([
        this.#draft('sandbox.created', { provider: provider.name, detail: report.detail }),
        this.#draft('task.started', {}),
      ])
      this.#isStarted = true
    }
    this.#model = await this.#parts.resolveModel(created.model, created.seed)
    const totals = await history.totals({ task: this.task })
    gateway.openBudget(this.task, {
      limitNanoUsd: created.limits.budgetNanoUsd,
      limitTokens: created.limits.budgetTokens,
      spentNanoUsd: totals.costNanoUsd ?? (await knownSpend(history, this.task)),
      spentTokens: totals.uncached + totals.cacheRead + totals.cacheWrite + totals.output,
    })
    await this.#meter.open(this.#pack, await meterState(history, this.agent, this.task))
    if (!wasStarted) return
    const { pausedFor, question } = await leftOpen(history, this.agent, this.task)
    this.#question = question
    if (pausedFor === null || this.#wanted !== 'run') return
    this.#wanted = 'pause'
    this.reason = pausedFor
  }

  /** Turns until the task is over; null: leave it as it is. */
  async #turns(): Promise<Over | null> {
    let failed = 0
    for (;;) {
      if (this.#swap !== null) await this.#handOver()
      if (this.#wanted === 'stop') return { outcome: 'stopped', reason: stoppedBy }
      if (this.#isQuitting) return null
      if (this.#wanted === 'pause') {
        await this.#idle('paused')
        continue
      }
      if (this.#question !== null) {
        await this.#idle('waiting')
        continue
      }
      const limit = this.#meter.limitReached()
      if (limit !== null) return { outcome: 'budget', reason: limit.reason }
      if (this.#generation === null) {
        await this.#endpoints.open()
        const next = await startActive(this.#parts, this.agent, this.context())
        if (next.kind === 'give-up') return { outcome: 'failed', reason: next.reason }
        if (next.kind === 'again') await this.#sleep(next.delayMs)
        else this.#generation = next.generation
        // Something may have been asked for meanwhile.
        continue
      }
      const generation = this.#generation
      this.state = 'running'
      const end = await this.#turn(generation)
      const over = await this.#after(end, generation)
      if (over === 'failed-turn') {
        failed += 1
        const said = end.reason ?? 'it ended without a step'
        const isEndpoint = await this.#endpointFailed()
        if (failed >= failedTurnsMax[isEndpoint ? 'endpoint' : 'policy'])
          return { outcome: 'failed', reason: `${failed} turns in a row failed; the last said: ${said}` }
        this.reason = `a turn failed and is tried again: ${said}`
        await this.#sleep(Math.min(failedTurnWaitMaxMs, 1000 * 2 ** failed))
      } else if (over === 'go-on') {
        failed = 0
      } else {
        return over
      }
    }
  }

  async #turn(generation: Generation): Promise<TurnEnd> {
    const turn = this.#meter.beginTurn()
    const end = await generation.runTurn({ turn, ...this.#parts.turnLimits }).finally(() => this.#meter.endTurn())
    await this.#meter.measure()
    return end
  }

  async #after(end: TurnEnd, generation: Generation): Promise<Over | 'go-on' | 'failed-turn'> {
    const { accepted, hasWorld } = this.#meter
    if (accepted !== null) return { outcome: hasWorld ? 'completed' : 'claimed', reason: accepted }
    switch (end.outcome) {
      case 'budget':
        return { outcome: 'budget', reason: end.reason ?? 'a limit was reached' }
      case 'failed':
        return 'failed-turn'
      case 'interrupted': {
        this.#generation = null
        const next = await afterEnd(this.#parts, this.agent, this.task, generation)
        if (next.kind === 'give-up') return { outcome: 'failed', reason: next.reason }
        if (next.kind === 'again') await this.#sleep(next.delayMs)
        return 'go-on'
      }
      case 'yielded':
      case 'completed':
      case 'cancelled':
        if (end.steps > 0) this.reason = null
        // A policy that returns at once, again and again, would fill history and do no work.
        return end.steps > 0 || this.#isAsked || this.#question !== null ? 'go-on' : 'failed-turn'
    }
  }

  /** Whether the last call of this turn got no answer for a reason that may pass. */
  async #endpointFailed(): Promise<boolean> {
    const attempt = await this.#parts.history.latest({ agent: this.agent }, 'model.attempted', { task: this.task })
    if (attempt === null || attempt.turn !== this.#meter.turn || attempt.data.status !== 'failed') return false
    const { httpStatus } = attempt.data
    return httpStatus === null || httpStatus === 408 || httpStatus === 429 || httpStatus >= 500
  }

  async #handOver(): Promise<void> {
    const swap = this.#swap
    if (swap === null) return
    this.#swap = null
    try {
      await swap.commit()
    } catch (error) {
      swap.settle(error)
      return
    }
    const old = this.#generation
    this.#generation = swap.next
    swap.settle(null)
    await old?.stop(`replaced by r${swap.next.activation}`)
  }

  /** Waits, with no executor running, for something to change. */
  async #idle(state: 'paused' | 'waiting'): Promise<void> {
    await this.#rest()
    const wanted = this.#wanted
    const question = this.#question
    const isAsIs = () =>
      this.#wanted === wanted && this.#question === question && this.#swap === null && !this.#isQuitting
    if (isAsIs()) this.state = state
    while (isAsIs()) await new Promise<void>((resolve) => (this.#wake = resolve))
  }

  async #rest(): Promise<void> {
    const generation = this.#generation
    this.#generation = null
    await generation?.stop('at rest')
    await this.#endpoints.close()
  }

  #endpointAnswers({ name, address }: Endpoint, why: string | null): void {
    const { notices } = this.#parts
    const id = `endpoint.${this.task}.${name}`
    if (why === null) return notices.clear(id)
    const text = `${this.task}: its endpoint ${name} (${address}) does not answer (${why}). The task goes on without it`
    notices.raise({ id, severity: 'warning', text, fix: `Start the service at ${address}`, task: this.task })
  }

  /** A wait that whatever is asked for cuts short. */
  async #sleep(ms: number): Promise<void> {
    if (ms <= 0 || this.#isAsked) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  get #isAsked(): boolean {
    return this.#wanted !== 'run' || this.#isQuitting || this.#swap !== null
  }

  /** Asks for the next safe point; a generation that does not come to one in time is ended by force. What comes of it shows in its turn. */
  #drain(reason: keyof typeof drainMs): void {
    const generation = this.#generation
    const { turn } = this.#meter
    if (generation === null) return
    const drained = generation.drain(reason, drainMs[reason]).then(async ({ interrupted }) => {
      if (interrupted && this.#meter.turn === turn) await generation.cancel(`no safe point was reached: ${reason}`)
    })
    drained.catch(() => {})
  }

  async #finish({ outcome, reason }: Over): Promise<void> {
    this.#isOver = true
    this.state = 'stopping'
    this.#refuseSwap()
    await this.#rest()
    const drafts: EventDraft[] = []
    const graded = this.#isStarted ? await this.#grade() : null
    if (graded !== null) drafts.push(this.#draft('task.graded', graded))
    const actor = outcome === 'stopped' ? 'operator' : 'kernel'
    drafts.push(this.#draft('task.finished', { outcome, reason, progress: this.#meter.progress }, { actor }))
    if (this.#isStarted) drafts.push(this.#draft('sandbox.destroyed', { reason: 'the task has finished' }))
    await this.#parts.history.append(drafts)
    this.state = 'finished'
    this.reason = reason
  }

  /** A grade that cannot be had is an event that says why, and keeps no task from ending. */
  async #grade(): Promise<Grade | null> {
    const { provider } = this.#parts
    try {
      // Nothing of the agent's goes on while its work is measured.
      await provider.killAll(this.task)
      const world = await this.#meter.save()
      return await grade(provider, this.#pack, this.#folders(), this.task, world, this.#hurry.signal)
    } catch (error) {
      const why = this.#hurry.signal.aborted ? 'the app was closed while the grader ran' : (error as Error).message
      return { reward: null, details: { exitCode: null, output: '' }, error: why }
    }
  }

  #refuseSwap(): void {
    this.#swap?.settle(new KernelError('conflict', `${this.task} has ended: the change waits for the next task`))
    this.#swap = null
  }

  async #release(): Promise<void> {
    this.#refuseSwap()
    await this.#rest().catch(() => {})
    await this.#meter.close().catch(() => {})
    await this.#parts.provider.killAll(this.task).catch(() => 0)
    this.#parts.gateway.closeBudget(this.task)
  }

  #folders() {
    return taskFolders(this.#parts.boxesDir, this.task)
  }

  #draft<K extends EventKind>(kind: K, data: EventData<K>, header: Partial<EventDraft> = {}): EventDraft<K> {
    return draft(kind, data, { actor: 'kernel', agent: this.agent, task: this.task, run: 'task', ...header })
  }

  async #append<K extends EventKind>(
    kind: K,
    data: EventData<K>,
    actor: Actor,
    place: Partial<EventDraft> = {},
  ): Promise<number> {
    const [event] = await this.#parts.history.append([this.#draft(kind, data, { ...place, actor })])
    if (event === undefined) throw new KernelError('internal', `${kind} was not appended`)
    return event.seq
  }
}

const stoppedBy = 'stopped by the operator'
