import { KernelError } from '../errors.ts'
import type { Generation, TaskContext, TurnEnd } from '../executor/executor.ts'
import { failpoint } from '../failpoints.ts'
import type { ActivationTarget } from '../guardian/guardian.ts'
import { type Actor, draft, type EventData, type EventDraft, type EventKind, type ModelChoice } from '../wire/events.ts'
import type { SnapshotRef } from '../wire/executor.ts'
import { type Endpoint, endpointEnv, instructionOf } from './endpoint-address.ts'
import { createEndpoints, type Endpoints } from './endpoints.ts'
import { FailedTurns } from './failed-turns.ts'
import { taskFolders } from './folders.ts'
import { afterEnd, afterFailedTurns, type Next, startActive, within } from './generations.ts'
import { gradeFinal } from './grader.ts'
import { Backoff, type Hold, holdNotice, holdNoticeId, Nap, resumesByItself } from './hold.ts'
import { Meter } from './meter.ts'
import { openRun } from './opening.ts'
import type { Pack } from './pack.ts'
import { leftOpen } from './recovery.ts'
import { drainMs, type Over, quitMs, type RunParts, type RunSpec, type RunState } from './run-parts.ts'
import { type Kept, Visit } from './safe-point.ts'
import { RunSandbox } from './task-sandbox.ts'

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
  readonly #sandbox: RunSandbox
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
  /** Why the kernel itself keeps it paused; null: it does not. */
  #hold: Hold | null = null
  /** The end of the generation that was replaced last. */
  #parting: Promise<void> = Promise.resolve()
  readonly #backoff = new Backoff()
  readonly #nap = new Nap()
  readonly #visits: Visit[] = []
  readonly #failedTurns: FailedTurns
  /** The turn that a shared budget has ended. */
  #shortOfBudget: { turn: number; reason: string } | null = null
  /** Aborts a start in progress. */
  #start = new AbortController()
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
    this.#failedTurns = new FailedTurns(parts.history, spec)
    this.#sandbox = new RunSandbox(parts, {
      agent: spec.agent,
      task: spec.task,
      run: this.#kind,
      box: this.box(),
      jobsDir: this.#folders().jobs,
      world: this.#meter,
    })
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
    const { created, fork } = this.#spec
    return {
      task: this.task,
      ...(fork === undefined ? {} : { continues: { task: fork.task, upTo: fork.upTo } }),
      safePoint: () => this.#visited(),
      brief: {
        task: fork?.task ?? this.task,
        instruction: instructionOf(created),
        workdir: this.#pack.workdir,
        model: { name: created.model.name, api: created.model.api, ...this.#parts.gateway.describe(this.#model) },
        propose: created.propose,
        limits: created.limits,
      },
      model: this.#model,
      box: this.box(),
      sandbox: this.#sandbox,
      complete: (summary) => this.#meter.complete(summary),
      ask: async (question) => {
        await this.#append('task.asked', { question }, 'executor', this.#meter.place)
        this.#question = question
      },
      nextStep: () => this.#meter.nextStep(),
      refused: (reason) => this.#failedTurns.refused(this.#meter.turn, reason),
      waitsForBudget: (reason) => {
        this.#shortOfBudget = { turn: this.#meter.turn, reason }
      },
    }
  }

  box(): TaskContext['box'] {
    return boxOf(this.#parts.boxesDir, this.task, this.#spec.created, this.#pack)
  }

  async swap(next: Generation, commit: () => Promise<void>): Promise<void> {
    if (this.#isOver || this.#isQuitting || this.#wanted === 'stop')
      throw new KernelError('conflict', `${this.task} is ending: activate again for the next task`)
    if (this.#swap !== null) throw new KernelError('conflict', `${this.task} is already changing to another revision`)
    const handedOver = new Promise<void>((resolve, reject) => {
      this.#swap = { next, commit, settle: (error) => (error === null ? resolve() : reject(error)) }
    })
    this.#nap.wake()
    this.#drain('replacement')
    await handedOver
  }

  /** Asked again while it waits for the safe point, the step in hand is interrupted. */
  async pause(by: 'operator' | 'kernel', reason: string): Promise<number> {
    if (this.state === 'pausing') {
      await this.#generation?.cancel('interrupted by the operator')
      return this.#parts.history.head()?.seq ?? 0
    }
    const hold = this.#hold
    if (hold !== null && !this.#isOver) {
      // From here on nothing resumes it by itself, also not what is about to.
      this.#letGo()
      const seq = await this.#append('task.paused', { by, reason }, by).catch((error: unknown) => {
        this.#keepFor(hold)
        this.#nap.wake()
        throw error
      })
      this.reason = reason
      this.#nap.wake()
      return seq
    }
    if (this.state !== 'starting' && this.state !== 'running' && this.state !== 'waiting')
      throw new KernelError('conflict', `${this.task} is ${this.state}: only a running task can be paused`)
    const seq = await this.#append('task.paused', { by, reason }, by)
    // A stop, or the task's end, may have come meanwhile: it holds.
    if (this.#wanted === 'run' && !this.#isOver && !this.#isQuitting) {
      this.#wanted = 'pause'
      this.state = 'pausing'
      this.reason = reason
      this.#interruptWait()
      this.#drain('pause')
    }
    return seq
  }

  async resume(): Promise<number> {
    if (this.state !== 'paused')
      throw new KernelError('conflict', `${this.task} is ${this.state}: only a paused task can be resumed`)
    const safe = this.#parts.guardian.safeMode(this.agent)
    if (safe !== null) throw new KernelError('conflict', inSafeMode(this.agent, safe.reason))
    return this.#resume('operator')
  }

  /** The operator has let the agent out of safe mode. */
  async released(): Promise<void> {
    if (this.#hold?.cause === 'safe-mode' && !this.#isOver) await this.#resume('operator')
  }

  async stop(): Promise<number> {
    if (this.state === 'finished') throw new KernelError('conflict', `${this.task} has finished`)
    if (!this.#isOver) {
      this.#wanted = 'stop'
      this.state = 'stopping'
      this.reason = stoppedBy
      this.#interruptWait()
      this.#drain('stop')
    }
    return this.#parts.history.head()?.seq ?? 0
  }

  /** The kernel closes: the task stays as it is and goes on at the next start. */
  async quit(): Promise<void> {
    this.#isQuitting = true
    if (!this.#isOver) this.state = 'stopping'
    this.#interruptWait()
    this.#drain('quit')
    const hurry = setTimeout(() => this.#hurry.abort(), drainMs.quit)
    await within(this.ended, quitMs)
    clearTimeout(hurry)
  }

  /**
   * Keeps sandbox and world for a fork, at the next safe point: nothing of the task's runs then, and all that it has done
   * is in history. @throws KernelError `conflict` where the task ends first, `cancelled` (the signal).
   */
  async keepForFork(name: string, signal: AbortSignal): Promise<Kept> {
    const visit = new Visit(async () => {
      const last = (await this.#parts.history.read({ agent: this.agent }, { order: 'desc', limit: 1 })).events[0]
      const { turn, place } = this.#meter
      const lastStep = place.turn === null || place.step === null ? null : { turn: place.turn, step: place.step }
      const world = await this.#meter.state()
      await this.#sandbox.keep(name)
      return { upTo: last?.seq ?? 0, world, lastTurn: turn, lastStep }
    })
    if (this.#isOver || this.#isQuitting) visit.refuse(this.task)
    this.#visits.push(visit)
    const leave = (): void => visit.cancel()
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
    // One that rests is looked in on at once.
    this.#nap.wake()
    return visit.done.finally(() => signal.removeEventListener('abort', leave))
  }

  /** Serves who has asked for a safe point. */
  async #visited(): Promise<void> {
    for (const visit of this.#visits.splice(0)) await visit.serve()
  }

  async snapshots(): Promise<SnapshotRef[]> {
    this.#requireState(['running', 'waiting', 'paused'], 'has its snapshots at hand')
    return this.#sandbox.snapshots()
  }

  async takeSnapshot(name: string): Promise<SnapshotRef> {
    this.#requireState(['running', 'waiting', 'paused'], 'can be kept')
    return this.#sandbox.snapshot(name, this.#byOperator)
  }

  async restoreSnapshot(name: string): Promise<number> {
    this.#requireState(['paused'], 'can be restored: pause it first')
    await this.#sandbox.restore(name, this.#byOperator)
    await this.#meter.measure()
    return this.#parts.history.head()?.seq ?? 0
  }

  get #byOperator() {
    return { actor: 'operator', agent: this.agent, task: this.task, run: 'task' } as const
  }

  #requireState(states: readonly RunState[], what: string): void {
    if (states.includes(this.state)) return
    throw new KernelError('conflict', `${this.task} is ${this.state}: only a ${states.join(' or ')} task ${what}`)
  }

  /** Any word of the operator's answers an open question. */
  async say(kind: 'task.steered' | 'task.answered', text: string): Promise<number> {
    if (this.state === 'finished') throw new KernelError('conflict', `${this.task} has finished`)
    const seq = await this.#append(kind, { text }, 'operator')
    this.#question = null
    this.#nap.wake()
    return seq
  }

  async frame(): Promise<string | null> {
    return this.#meter.frame()
  }

  get workedMs(): number {
    return this.#meter.workedMs
  }

  now(): { what: string; since: number } | null {
    return this.#generation?.now() ?? null
  }

  // ---- the loop ----

  async #live(): Promise<void> {
    await Promise.resolve()
    let detach = () => {}
    try {
      const isOpen = await this.#openWhenWanted()
      if (isOpen) detach = this.#parts.guardian.attach(this.agent, this)
      const over = isOpen ? await this.#turns() : null
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
    if (this.#isQuitting && this.#wanted !== 'stop') return this.#leave(null)
    const text = error instanceof Error ? error.message : String(error)
    const isWanting = error instanceof KernelError && error.code === 'unavailable'
    if (isWanting && this.#wanted !== 'stop' && this.#kind === 'task') return this.#leave(text)
    const over: Over =
      this.#wanted === 'stop' ? { outcome: 'stopped', reason: stoppedBy } : { outcome: 'failed', reason: text }
    await this.#finish(over).catch((late: Error) => this.#leave(`${text}; and it could not be closed: ${late.message}`))
  }

  #leave(reason: string | null): void {
    this.#isOver = true
    this.state = 'interrupted'
    this.reason = reason
  }

  /**
   * A paused task that lacks something now (a key, its world) stays paused for its own reason; a resume looks again.
   * False: the kernel closes first.
   */
  async #openWhenWanted(): Promise<boolean> {
    for (;;) {
      try {
        await this.#open()
        return true
      } catch (error) {
        const isWanting = error instanceof KernelError && error.code === 'unavailable'
        if (!isWanting || !this.#isStarted || this.#isAsked) throw error
        const { paused } = await leftOpen(this.#parts.history, this.agent, this.task)
        if (paused === null || resumesByItself(paused.cause) || this.#isAsked) throw error
        this.#keepPaused(paused)
        this.state = 'paused'
        while (this.#wanted === 'pause' && !this.#isQuitting) await this.#nap.sleep(null)
        if (this.#wanted === 'stop') throw error
        if (this.#isQuitting) return false
      }
    }
  }

  #keepPaused({ cause, reason }: EventData<'task.paused'>): void {
    this.#wanted = 'pause'
    this.reason = reason
    if (cause !== undefined) this.#keepFor({ cause, reason })
  }

  async #open(): Promise<void> {
    const opened = await openRun(this.#parts, this.#spec, this.#meter, this.#sandbox, {
      box: () => this.box(),
      started: () => {
        this.#isStarted = true
      },
    })
    this.#pack = opened.pack
    this.#model = opened.model
    this.#question = opened.question
    const { paused } = opened
    if (paused !== null && this.#wanted === 'run') this.#keepPaused(paused)
  }

  /** Turns until the task is over; null: leave it as it is. */
  async #turns(): Promise<Over | null> {
    for (;;) {
      try {
        const over = await this.#round()
        if (over !== 'go-on') return over
      } catch (error) {
        const { code, details, message } = error as Partial<KernelError>
        if (details?.lacks === 'world') await this.#holdFor({ cause: 'world', reason: message ?? '' })
        // A start that was given up for what is asked for now.
        else if (code !== 'cancelled' || !this.#isAsked) throw error
      }
    }
  }

  async #round(): Promise<Over | 'go-on' | null> {
    await this.#visited()
    if (this.#swap !== null) await this.#handOver()
    if (this.#wanted === 'stop') return { outcome: 'stopped', reason: stoppedBy }
    if (this.#isQuitting) return null
    if (this.#wanted === 'pause') return this.#idle('paused')
    if (this.#accepted !== null) return this.#accepted
    if (this.#question !== null) {
      if (this.#kind === 'trial') return { outcome: 'stopped', reason: `it asked the operator: ${this.#question}` }
      return this.#idle('waiting')
    }
    const limit = this.#meter.limitReached()
    if (limit !== null) return { outcome: 'budget', reason: limit.reason }
    if (this.#generation === null) {
      await this.#endpoints.open()
      await this.#meter.measure()
      this.#start = new AbortController()
      // Something may have been asked for meanwhile.
      return this.#follow(await startActive(this.#parts, this.agent, this.#kind, this.context(), this.#start.signal))
    }
    const generation = this.#generation
    this.state = 'running'
    return this.#after(await this.#turn(generation), generation)
  }

  get #accepted(): Over | null {
    const { accepted, hasWorld } = this.#meter
    return accepted === null ? null : { outcome: hasWorld ? 'completed' : 'claimed', reason: accepted }
  }

  /** What a failure of the executor led to. */
  async #follow(next: Next): Promise<Over | 'go-on'> {
    switch (next.kind) {
      case 'run':
        this.#generation = next.generation
        return 'go-on'
      case 'again':
        await this.#sleep(next.delayMs)
        return 'go-on'
      case 'safe-mode':
        await this.#holdFor({ cause: 'safe-mode', reason: inSafeMode(this.agent, next.reason) })
        return 'go-on'
      case 'give-up':
        return { outcome: 'failed', reason: next.reason }
    }
  }

  async #turn(generation: Generation): Promise<TurnEnd> {
    const turn = this.#meter.beginTurn()
    const end = await generation.runTurn({ turn, ...this.#parts.turnLimits }).finally(() => this.#meter.endTurn())
    await this.#meter.measure()
    return end
  }

  async #after(end: TurnEnd, generation: Generation): Promise<Over | 'go-on'> {
    const accepted = this.#accepted
    if (accepted !== null) return accepted
    switch (end.outcome) {
      case 'budget':
        if (this.#shortOfBudget?.turn !== this.#meter.turn)
          return { outcome: 'budget', reason: end.reason ?? 'a limit was reached' }
        if (this.#kind === 'trial') return { outcome: 'budget', reason: this.#shortOfBudget.reason }
        await this.#holdFor({ cause: 'budget', reason: this.#shortOfBudget.reason })
        return 'go-on'
      case 'failed':
        return this.#failed(end, generation)
      case 'interrupted':
        this.#generation = null
        return this.#follow(await afterEnd(this.#parts, this.agent, this.task, generation))
      case 'yielded':
      case 'completed':
      case 'cancelled':
        // A policy that returns at once, again and again, would fill history and do no work.
        if (end.steps === 0 && !this.#isAsked && this.#question === null) return this.#failed(end, generation)
        if (end.steps === 0) return 'go-on'
        this.reason = null
        this.#failedTurns.reset()
        this.#backoff.reset()
        return 'go-on'
    }
  }

  async #failed(end: TurnEnd, generation: Generation): Promise<Over | 'go-on'> {
    const said = end.reason ?? 'it ended without a step'
    const verdict = await this.#failedTurns.judge(this.#meter.turn)
    switch (verdict.do) {
      case 'hold':
        await this.#holdFor(verdict.hold)
        return 'go-on'
      case 'again':
        this.reason = `a turn failed and is tried again: ${said}`
        await this.#sleep(verdict.delayMs)
        return 'go-on'
      case 'blame': {
        await this.#rest()
        const detail = `${verdict.turns} turns in a row failed; the last said: ${said}`
        return this.#follow(await afterFailedTurns(this.#parts, this.agent, this.task, generation, detail))
      }
    }
  }

  // ---- what the kernel itself pauses for ----

  async #holdFor(hold: Hold): Promise<void> {
    if (this.#isAsked) return
    // Nobody would let a trial go on.
    if (this.#kind === 'trial') throw new KernelError('conflict', hold.reason)
    await this.#append('task.paused', { by: 'kernel', reason: hold.reason, cause: hold.cause }, 'kernel')
    if (this.#isAsked) return
    this.#wanted = 'pause'
    this.reason = hold.reason
    this.#keepFor(hold)
  }

  #keepFor(hold: Hold): void {
    this.#hold = hold
    const notice = holdNotice(this.task, hold)
    if (notice !== null) this.#parts.notices.raise(notice)
  }

  #letGo(): void {
    this.#hold = null
    this.#parts.notices.clear(holdNoticeId(this.task))
  }

  async #resume(by: 'operator' | 'kernel'): Promise<number> {
    const hold = this.#hold
    const seq = await this.#append('task.resumed', { by }, by)
    // A pause by the operator that came meanwhile takes the place of the hold, and stands.
    if (this.#wanted === 'pause' && this.#hold === hold && !this.#isOver && !this.#isQuitting) {
      this.#wanted = 'run'
      this.state = 'starting'
      this.reason = null
      this.#letGo()
      this.#nap.wake()
    }
    return seq
  }

  /** Where the model answers now may be elsewhere than before. */
  async #isAnswering(): Promise<boolean> {
    const { created } = this.#spec
    try {
      const model = await this.#parts.resolveModel(created.model, created.seed)
      if ((await this.#parts.endpointProblem(model)) !== null) return false
      this.#model = model
      return true
    } catch {
      return false
    }
  }

  /** Resolves with true when the budgets that it shares have room for its next call, with false when it is woken. */
  async #hasRoomAgain(): Promise<boolean> {
    const woken = new AbortController()
    const hasRoom = this.#parts.gateway.whenRoom(this.task, this.agent, woken.signal).then(() => true)
    try {
      return await Promise.race([hasRoom, this.#nap.sleep(null).then(() => false)])
    } finally {
      woken.abort()
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
    swap.settle(null)
    failpoint('hand-over:before-stop')
    await this.#parting
    // It is fenced: nothing that it still says counts, so its successor need not wait until its box is gone.
    this.#parting = old?.stop(`replaced by r${swap.next.activation}`).catch(() => {}) ?? Promise.resolve()
    // The operator has chosen what runs instead.
    if (this.#hold?.cause === 'safe-mode') await this.#resume('kernel')
  }

  /** Waits, with no executor running, for something to change. An endpoint is asked from time to time whether it answers again. */
  async #idle(state: 'paused' | 'waiting'): Promise<'go-on'> {
    const wanted = this.#wanted
    const question = this.#question
    await this.#rest()
    const isAsIs = () =>
      this.#wanted === wanted &&
      this.#question === question &&
      this.#swap === null &&
      !this.#isQuitting &&
      this.#visits.length === 0
    if (isAsIs()) this.state = state
    while (isAsIs()) {
      const hold = this.#hold
      if (hold?.cause === 'budget') {
        if ((await this.#hasRoomAgain()) && isAsIs() && this.#hold === hold) await this.#resume('kernel')
        continue
      }
      await this.#nap.sleep(hold?.cause === 'endpoint' ? this.#backoff.nextMs() : null)
      if (hold?.cause !== 'endpoint' || !isAsIs() || this.#hold !== hold) continue
      const isBack = await Promise.race([this.#isAnswering(), this.#nap.sleep(null).then(() => false)])
      if (isBack && isAsIs() && this.#hold === hold) await this.#resume('kernel')
    }
    return 'go-on'
  }

  async #rest(): Promise<void> {
    const generation = this.#generation
    this.#generation = null
    await generation?.stop('at rest')
    await this.#parting
    await this.#sandbox.rest()
    await this.#endpoints.close()
  }

  #endpointAnswers({ name, address }: Endpoint, why: string | null): void {
    const { notices } = this.#parts
    const id = `endpoint.${this.task}.${name}`
    if (why === null) {
      notices.clear(id)
      return
    }
    const text = `${this.task}: its endpoint ${name} (${address}) does not answer (${why}). The task goes on without it`
    notices.raise({ id, severity: 'warning', text, fix: `Start the service at ${address}`, task: this.task })
  }

  /** A wait that whatever is asked for cuts short. */
  async #sleep(ms: number): Promise<void> {
    if (ms > 0 && !this.#isAsked) await this.#nap.sleep(ms)
  }

  /** What is waited for is not wanted any more: a delay, or an executor that is still starting. */
  #interruptWait(): void {
    this.#nap.wake()
    this.#start.abort()
  }

  get #isAsked(): boolean {
    return this.#wanted !== 'run' || this.#isQuitting || this.#swap !== null
  }

  /** Asks for the next safe point; a generation that does not come to one in time is ended by force. What comes of it shows in its turn. */
  #drain(reason: keyof typeof drainMs): void {
    const generation = this.#generation
    const { turn } = this.#meter
    if (generation === null) return
    const waitMs = this.#parts.drainMs?.[reason] ?? drainMs[reason]
    const drained = generation.drain(reason, waitMs).then(async ({ interrupted }) => {
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
    const folders = this.#folders()
    const { provider } = this.#parts
    failpoint('finish:before-grade')
    const graded = this.#isStarted
      ? await gradeFinal(
          provider,
          this.#pack,
          folders,
          this.#sandbox.place,
          () => this.#meter.save(),
          this.#hurry.signal,
        )
      : null
    failpoint('finish:graded')
    if (graded !== null) drafts.push(this.#draft('task.graded', graded))
    const actor = outcome === 'stopped' && reason === stoppedBy ? 'operator' : 'kernel'
    drafts.push(this.#draft('task.finished', { outcome, reason, progress: this.#meter.progress }, { actor }))
    if (this.#isStarted) drafts.push(this.#draft('sandbox.destroyed', { reason: 'the task has finished' }))
    await this.#parts.history.append(drafts)
    failpoint('finish:after-commit')
    // The folders of local boxes are left to be looked at; an engine's store is not for that.
    if (this.#sandbox.place.sandbox === 'docker') await provider.destroy(this.#sandbox.place).catch(() => {})
    this.state = 'finished'
    this.reason = reason
  }

  #refuseSwap(): void {
    this.#swap?.settle(new KernelError('conflict', `${this.task} has ended: the change waits for the next task`))
    this.#swap = null
  }

  async #release(): Promise<void> {
    this.#refuseSwap()
    for (const visit of this.#visits.splice(0)) visit.refuse(this.task)
    await this.#rest().catch(() => {})
    await this.#sandbox.close().catch(() => {})
    await this.#meter.close().catch(() => {})
    await this.#parts.provider.killAll(this.task).catch(() => 0)
    this.#parts.gateway.closeBudget(this.task)
    this.#parts.notices.clear(holdNoticeId(this.task))
  }

  get #kind(): 'task' | 'trial' {
    return this.#spec.fork === undefined ? 'task' : 'trial'
  }

  #folders() {
    return taskFolders(this.#parts.boxesDir, this.task)
  }

  #draft<K extends EventKind>(kind: K, data: EventData<K>, header: Partial<EventDraft> = {}): EventDraft<K> {
    return draft(kind, data, { actor: 'kernel', agent: this.agent, task: this.task, run: this.#kind, ...header })
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

/** The box that commands of a task run in. */
export function boxOf(
  boxesDir: string,
  task: string,
  { sandbox, endpoints = [] }: Pick<EventData<'task.created'>, 'sandbox' | 'endpoints'>,
  { world, workdir, image }: Pack,
): TaskContext['box'] {
  const folders = taskFolders(boxesDir, task)
  return {
    sandbox,
    label: task,
    mounts: {
      root: folders.root,
      policy: folders.policy,
      ...(world === null ? {} : { socket: folders.socket, program: folders.commands }),
      ...(endpoints.length === 0 ? {} : { endpoints: folders.endpoints }),
    },
    workdir,
    ...(image ? { image } : {}),
    env: endpointEnv(endpoints),
  }
}

export function inSafeMode(agent: string, reason: string): string {
  return `agent ${agent} is in safe mode, and no executor of it is started: ${reason}. Roll back, approve a mended proposal, or let it try again: exodesk leave-safe-mode --agent ${agent}`
}

const stoppedBy = 'stopped by the operator'
