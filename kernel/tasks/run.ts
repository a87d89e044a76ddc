import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { Executors, Generation, TaskContext, TurnEnd } from '../executor/executor.ts'
import { failpoint } from '../failpoints.ts'
import type { ActivationTarget, Guardian } from '../guardian/guardian.ts'
import type { History } from '../history/history.ts'
import type { Gateway } from '../models/models.ts'
import type { ProviderReport, SandboxProvider } from '../sandbox/sandbox.ts'
import { type Actor, draft, type EventData, type EventDraft, type EventKind, type ModelChoice } from '../wire/events.ts'
import { createFolders, taskFolders } from './folders.ts'
import { afterEnd, startActive } from './generations.ts'
import { grade } from './grader.ts'
import { Meter } from './meter.ts'
import type { Pack } from './pack.ts'

/** What a run is made of; constructed by kernel.ts. */
export interface RunParts {
  history: History
  gateway: Gateway
  guardian: Guardian
  executors: Executors
  provider: SandboxProvider
  clock: Clock
  boxesDir: string
  turnLimits: { maxSteps: number; maxMs: number }
  /** Where the model of this task answers now: a simulator's address changes from start to start. */
  resolveModel(choice: ModelChoice, seed: number): Promise<ModelChoice>
}

export interface RunSpec {
  task: string
  agent: string
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
const failedTurnsMax = 3

// Long because: the loop and the hand-over are one state machine; apart, their order could not be read.
/** One running task: the loop of turns, and the hand-over from generation to generation. It ends by events, never by a throw. */
export class Run implements ActivationTarget {
  readonly task: string
  readonly agent: string
  readonly approve: 'none' | 'rules' | 'all'
  state: RunState = 'starting'
  reason: string | null = null
  /** Resolves when the loop has ended: finished, or left for the next start. */
  readonly ended: Promise<void>

  readonly #parts: RunParts
  readonly #spec: RunSpec
  readonly #meter: Meter
  #generation: Generation | null = null
  #wanted: 'run' | 'pause' | 'stop' | 'quit' = 'run'
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
    this.#model = spec.created.model
    this.#meter = new Meter(parts, spec)
    this.ended = this.#live()
  }

  // ---- what the operator and the guardian ask for ----

  context(): TaskContext {
    const { created, pack } = this.#spec
    return {
      task: this.task,
      brief: {
        task: this.task,
        instruction: created.instruction,
        workdir: pack.workdir,
        model: { name: created.model.name, api: created.model.api, ...this.#parts.gateway.describe(this.#model) },
        propose: created.propose,
        limits: created.limits,
      },
      model: this.#model,
      box: this.box(),
      complete: (summary) => this.#meter.complete(summary),
      ask: async (question) => {
        await this.#append('task.asked', { question }, 'executor')
        this.#question = question
      },
      nextStep: () => this.#meter.nextStep(),
    }
  }

  box(): TaskContext['box'] {
    const folders = this.#folders()
    const { pack } = this.#spec
    return {
      label: this.task,
      mounts: {
        root: folders.root,
        policy: folders.policy,
        ...(pack.world === null ? {} : { socket: folders.socket, program: folders.commands }),
      },
      workdir: pack.workdir,
    }
  }

  async swap(next: Generation, commit: () => Promise<void>): Promise<void> {
    if (this.state === 'finished' || this.state === 'stopping')
      throw new KernelError('conflict', `${this.task} is ending: activate again for the next task`)
    if (this.#swap !== null) throw new KernelError('conflict', `${this.task} is already changing to another revision`)
    const settled = new Promise<void>((resolve, reject) => {
      this.#swap = { next, commit, settle: (error) => (error === null ? resolve() : reject(error)) }
    })
    this.#wake()
    const current = this.#generation
    if (current !== null) await current.drain('replacement', drainMs.replacement)
    await settled
  }

  async pause(by: 'operator' | 'kernel', reason: string): Promise<number> {
    if (this.state !== 'running' && this.state !== 'waiting')
      throw new KernelError('conflict', `${this.task} is ${this.state}: only a running task can be paused`)
    const seq = await this.#append('task.paused', { by, reason }, by)
    this.reason = reason
    this.#ask('pause', 'pausing')
    return seq
  }

  async resume(): Promise<number> {
    if (this.state !== 'paused')
      throw new KernelError('conflict', `${this.task} is ${this.state}: only a paused task can be resumed`)
    const seq = await this.#append('task.resumed', { by: 'operator' }, 'operator')
    this.reason = null
    this.#wanted = 'run'
    this.#wake()
    return seq
  }

  async stop(): Promise<number> {
    if (this.state === 'finished') throw new KernelError('conflict', `${this.task} has finished`)
    this.reason = 'stopped by the operator'
    this.#ask('stop', 'stopping')
    return this.#parts.history.head()?.seq ?? 0
  }

  /** The kernel closes: the task stays as it is and goes on at the next start. */
  async quit(): Promise<void> {
    if (this.state === 'finished') return
    this.#ask('quit', 'stopping')
    await this.ended
  }

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
    let isOpen = false
    try {
      await this.#open()
      isOpen = true
      detach = this.#parts.guardian.attach(this.agent, this)
      const end = await this.#turns()
      if (end !== null) await this.#finish(end)
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error)
      // What could not be opened for want of a box or an endpoint is not over: it goes on at a later start.
      if (!isOpen && error instanceof KernelError && error.code === 'unavailable') this.#leave(text)
      else
        await this.#finish({ outcome: 'failed', reason: text }).catch((late: Error) =>
          this.#leave(`${text}; and it could not be closed: ${late.message}`),
        )
    } finally {
      detach()
      await this.#release()
    }
  }

  #leave(reason: string): void {
    this.state = 'interrupted'
    this.reason = reason
  }

  async #open(): Promise<void> {
    const { history, gateway, guardian, provider, boxesDir } = this.#parts
    const { created, pack, started } = this.#spec
    const report = await provider.report()
    requireBox(report)
    if (!started) {
      await createFolders(taskFolders(boxesDir, this.task), pack.environment, pack.world?.dir ?? null)
      await guardian.layPolicy(this.agent, this.box(), this.task)
      failpoint('task:before-started')
      await history.append([
        this.#draft('sandbox.created', { provider: provider.name, detail: report.detail }),
        this.#draft('task.started', {}),
      ])
    }
    this.#model = await this.#parts.resolveModel(created.model, created.seed)
    const totals = await history.totals({ task: this.task })
    gateway.openBudget(this.task, {
      limitNanoUsd: created.limits.budgetNanoUsd,
      limitTokens: created.limits.budgetTokens,
      spentNanoUsd: totals.costNanoUsd ?? 0,
      spentTokens: totals.uncached + totals.cacheRead + totals.cacheWrite + totals.output,
    })
    const lastTurn = await history.latest({ agent: this.agent }, 'turn.started', { task: this.task })
    await this.#meter.open(totals.steps, lastTurn?.turn ?? 0, totals.progress)
    if (started) await this.#takeUp()
  }

  /** A task that an earlier kernel had started: paused stays paused, and a question stays open. */
  async #takeUp(): Promise<void> {
    const latest = async <K extends EventKind>(kind: K) =>
      this.#parts.history.latest({ agent: this.agent }, kind, { task: this.task })
    const [paused, resumed, asked, answered] = await Promise.all([
      latest('task.paused'),
      latest('task.resumed'),
      latest('task.asked'),
      latest('task.answered'),
    ])
    if (paused !== null && paused.seq > (resumed?.seq ?? 0)) {
      this.#wanted = 'pause'
      this.reason = paused.data.reason
    }
    if (asked !== null && asked.seq > (answered?.seq ?? 0)) this.#question = asked.data.question
  }

  /** Turns until the task is over; null: leave it as it is. */
  async #turns(): Promise<Over | null> {
    let failed = 0
    for (;;) {
      if (this.#swap !== null) await this.#handOver()
      if (this.#wanted === 'quit') return null
      if (this.#wanted === 'stop') return { outcome: 'stopped', reason: this.reason ?? 'stopped by the operator' }
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
        const next = await startActive(this.#parts, this.agent, this.context())
        if (next.kind === 'give-up') return { outcome: 'failed', reason: next.reason }
        if (next.kind === 'again') await this.#sleep(next.delayMs)
        else this.#generation = next.generation
        // Something may have been asked for meanwhile.
        continue
      }
      const generation = this.#generation
      this.state = 'running'
      this.#meter.turn += 1
      const end = await generation.runTurn({ turn: this.#meter.turn, ...this.#parts.turnLimits })
      await this.#meter.measure()
      const over = await this.#after(end, generation)
      if (over === 'failed-turn') {
        failed += 1
        if (failed >= failedTurnsMax)
          return {
            outcome: 'failed',
            reason: `${failed} turns in a row failed; the last said: ${end.reason ?? 'nothing'}`,
          }
        await this.#sleep(1000 * 2 ** failed)
      } else if (over === 'go-on') {
        failed = 0
      } else {
        return over
      }
    }
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
        return 'go-on'
    }
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
    await old?.stop(`replaced by r${swap.next.activation}`)
    if (this.#wanted !== 'run') await this.#rest()
    swap.settle(null)
  }

  /** Waits, with no executor running, for something to change. */
  async #idle(state: 'paused' | 'waiting'): Promise<void> {
    await this.#rest()
    const wanted = this.#wanted
    const question = this.#question
    this.state = state
    while (this.#wanted === wanted && this.#question === question && this.#swap === null) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        if (this.#wanted !== wanted || this.#question !== question || this.#swap !== null) resolve()
      })
    }
  }

  async #rest(): Promise<void> {
    const generation = this.#generation
    this.#generation = null
    await generation?.stop('at rest')
  }

  /** A wait that a pause, a stop or a quit cuts short. */
  async #sleep(ms: number): Promise<void> {
    if (ms <= 0 || this.#wanted !== 'run') return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #ask(wanted: 'pause' | 'stop' | 'quit', state: RunState): void {
    this.#wanted = wanted
    this.state = state
    this.#wake()
    const generation = this.#generation
    if (generation !== null) void generation.drain(wanted, drainMs[wanted]).catch(() => {})
  }

  async #finish({ outcome, reason }: Over): Promise<void> {
    this.state = 'stopping'
    await this.#rest()
    this.#swap?.settle(new KernelError('conflict', `${this.task} has ended: the change waits for the next task`))
    this.#swap = null
    const { provider } = this.#parts
    const world = await this.#meter.save()
    await provider.killAll(this.task)
    const graded =
      !this.#meter.hasWorld && outcome === 'failed'
        ? null
        : await grade(provider, this.#spec.pack, this.#folders(), this.task, world).catch((error: Error) => ({
            reward: null,
            details: { exitCode: null, output: '' },
            error: error.message,
          }))
    const drafts: EventDraft[] = []
    if (graded !== null) drafts.push(this.#draft('task.graded', graded))
    drafts.push(this.#draft('task.finished', { outcome, reason, progress: this.#meter.progress }))
    drafts.push(this.#draft('sandbox.destroyed', { reason: 'the task has finished' }))
    await this.#parts.history.append(drafts)
    this.state = 'finished'
    this.reason = reason
  }

  async #release(): Promise<void> {
    await this.#rest().catch(() => {})
    this.#swap?.settle(new KernelError('conflict', `${this.task} has ended`))
    this.#swap = null
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

  async #append<K extends EventKind>(kind: K, data: EventData<K>, actor: Actor): Promise<number> {
    const [event] = await this.#parts.history.append([this.#draft(kind, data, { actor })])
    if (event === undefined) throw new KernelError('internal', `${kind} was not appended`)
    return event.seq
  }
}

/** @throws KernelError `unavailable`, with the reason and the one command that mends it. */
export function requireBox(report: ProviderReport): void {
  if (report.available) return
  const fix = report.fix === undefined ? '' : `. To mend it: ${report.fix}`
  throw new KernelError('unavailable', `no sandbox can be had: ${report.reason ?? report.detail}${fix}`)
}
