import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { type Actor, draft, type EventDraft } from '../wire/events.ts'
import type { DrainParams, InitializeResult, TurnRunParams, TurnRunResult } from '../wire/executor.ts'
import { announceBudget } from './budget.ts'
import type { Place } from './calls.ts'
import type { InboundCall } from './channel.ts'
import { afterAwake, endEvent, endWords, within } from './ends.ts'
import type { Generation, GenerationEnd, GenerationSpec, TurnEnd } from './executor.ts'
import { itemOf, toolOutputs } from './items.ts'
import { methodsOf, readMethods } from './methods/methods.ts'
import { PendingEvents } from './pending.ts'
import { ExecutorProcess } from './process.ts'
import type { ExecutorParts, Running, TaskMemory } from './running.ts'
import { ModelStream } from './stream.ts'
import { wireLimits } from './timings.ts'
import { Turn } from './turn.ts'
import { type Watchdog, watchPings, watchProgress } from './watchdog.ts'

export interface GenerationOptions {
  parts: ExecutorParts
  spec: GenerationSpec
  generation: number
  memory: TaskMemory
  label: string
}

/** A quit has 5 s for all of it. */
const quitCancelMs = 500

/**
 * One executor process from its start to its end. All that can go wrong with it is an event and an `ended`; every path out
 * (answer, crash, hang, stop) closes its open calls and its turn in one commit, once what it had in flight has settled.
 */
export class ExecutorGeneration implements Generation, Running {
  readonly parts: ExecutorParts
  readonly spec: GenerationSpec
  readonly generation: number
  readonly memory: TaskMemory
  readonly ended: Promise<GenerationEnd>
  startMs = 0
  #process!: ExecutorProcess
  #turn: Turn | null = null
  #step: number | null = null
  #queue: Promise<unknown> = Promise.resolve()
  #finishing: Promise<void> | null = null
  #resolveEnded: (end: GenerationEnd) => void = () => undefined
  #watchdogs: Watchdog[] = []
  #progress: ReturnType<typeof watchProgress> | null = null
  #lastActivity = 0
  readonly #streams = new Map<number, ModelStream>()
  readonly #pending: PendingEvents

  private constructor(options: GenerationOptions) {
    this.parts = options.parts
    this.spec = options.spec
    this.generation = options.generation
    this.memory = options.memory
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve
    })
    this.#pending = new PendingEvents(this.parts.history, this.spec.agent, this.spec.task.task)
  }

  get revision(): string {
    return this.spec.revision
  }
  get activation(): number {
    return this.spec.activation
  }

  /** Starts the process, shakes hands and records it. @throws KernelError: no box, or details { stage, exitCode, stderr }. */
  static async start(options: GenerationOptions): Promise<ExecutorGeneration> {
    const generation = new ExecutorGeneration(options)
    try {
      await generation.#start(options.label)
    } catch (error) {
      generation.#pending.close()
      throw error
    }
    return generation
  }

  async #start(label: string): Promise<void> {
    const { clock, history, provider, revisions, timings } = this.parts
    const { agent, revision, activation, task } = this.spec
    const folder = await revisions.materialise(revision)
    const from = clock.monotonic()
    this.#process = await ExecutorProcess.start({
      provider,
      profile: 'executor',
      label,
      folder,
      clock,
      channel: {
        methods: methodsOf(this, () => this.#inTurn()),
        onActivity: () => {
          this.#lastActivity = clock.now()
          this.#progress?.note()
        },
        onCredit: (call, credits) => this.#streams.get(call)?.grant(credits),
        onStruck: (problem) => {
          void this.#crashed({ exitCode: null, signal: null, outOfMemory: false }, problem)
        },
      },
    })
    let hello: InitializeResult
    const { signal } = this.spec
    const giveUp = (): void => void this.#process.kill().catch(() => undefined)
    signal?.addEventListener('abort', giveUp)
    try {
      signal?.throwIfAborted()
      hello = await this.#process.handshake({ agent, revision, activation, task: task.brief }, timings)
    } catch (error) {
      if (signal?.aborted) {
        await this.#process.kill()
        throw new KernelError('cancelled', 'the start was given up')
      }
      throw await this.#failedStart(error, Math.round(clock.monotonic() - from))
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
    this.startMs = Math.round(clock.monotonic() - from)
    failpoint('executor:before-started')
    const started = { activation, box: this.#process.box.id, startMs: this.startMs, tools: hello.tools }
    try {
      await history.append([draft('executor.started', started, this.place('kernel'))])
    } catch (error) {
      // What history does not know must not run.
      await this.#process.kill()
      throw error
    }
    this.#watchdogs.push(
      watchPings(this.#process.channel, clock, timings, (afterMs) => {
        void this.#finish({ kind: 'hung', watchdog: 'ping', afterMs })
      }),
    )
    // A failure of the store is told to whoever waits for this generation; here nobody does.
    this.#process.exited.then((exit) => this.#crashed(exit)).catch(() => undefined)
  }

  async #failedStart(error: unknown, afterMs: number): Promise<KernelError> {
    const failure = error instanceof KernelError ? error : new KernelError('internal', 'start failed', { cause: error })
    const isHung = failure.details?.timedOut === true
    await this.#process.kill()
    const exit = await this.#process.exited
    const stderr = this.#process.lastWords
    const event = isHung
      ? draft('executor.hung', { watchdog: 'initialize', afterMs }, this.place('kernel'))
      : draft(
          'executor.crashed',
          {
            exitCode: exit.exitCode,
            signal: exit.signal,
            outOfMemory: exit.outOfMemory,
            stderr: stderr || failure.message,
          },
          this.place('kernel'),
        )
    this.#finishing ??= this.parts.history.append([event]).then(() => undefined)
    await this.#finishing
    return new KernelError('unavailable', `the executor did not start: ${failure.message}`, {
      cause: error,
      details: { stage: 'handshake', exitCode: exit.exitCode, stderr, timedOut: isHung },
    })
  }

  // ---- Generation ----

  async runTurn(params: TurnRunParams): Promise<TurnEnd> {
    if (this.#turn !== null) throw new KernelError('conflict', 'a turn is running; one at a time')
    if (this.#finishing !== null) return { outcome: 'interrupted', reason: 'the executor has ended', steps: 0 }
    const { history, timings, clock } = this.parts
    const { channel } = this.#process
    const turn = new Turn(params, clock.monotonic())
    this.#turn = turn
    this.#step = null
    this.#pending.take()
    const cancelOvertime = afterAwake(clock, params.maxMs + timings.overtimeMs, () => {
      const reason = `the turn ran ${timings.overtimeMs} ms beyond its ${params.maxMs} ms`
      this.cancel(reason).catch(() => undefined)
    })
    try {
      const { maxSteps, maxMs } = params
      await history.append([draft('turn.started', { maxSteps, maxMs }, this.place('kernel'))])
      this.#progress = watchProgress(channel, timings, (afterMs) => {
        void this.#finish({ kind: 'hung', watchdog: 'progress', afterMs })
      })
      return await this.#answered(turn, channel.request('turn.run', params))
    } finally {
      cancelOvertime()
      this.#progress?.stop()
      this.#progress = null
      this.#turn = null
    }
  }

  async #answered(turn: Turn, request: Promise<TurnRunResult>): Promise<TurnEnd> {
    let answer: TurnRunResult
    try {
      answer = await request
    } catch (error) {
      if (this.#finishing !== null) {
        await this.#finishing
        return turn.done
      }
      answer = { outcome: 'failed', reason: error instanceof Error ? error.message : 'unknown', steps: 0 }
    }
    turn.isAnswered = true
    const end = turn.endOf(answer)
    try {
      const { settleMs } = this.parts.timings
      await this.#process.channel.abortCalls(new KernelError('cancelled', 'the turn has ended'), settleMs)
      const place = this.place('kernel')
      const finished = await this.memory.calls.finished(toolOutputs((answer.toolOutputs ?? []).map(itemOf)), place)
      await this.parts.history.append([...finished, this.#turnEnded(turn, end)])
    } finally {
      turn.finish(end)
    }
    return end
  }

  async drain(reason: DrainParams['reason'], waitMs: number): Promise<{ waitedMs: number; interrupted: boolean }> {
    const { clock, timings, history } = this.parts
    const turn = this.#turn
    const from = clock.monotonic()
    let interrupted = false
    if (turn !== null) {
      turn.sealed ??= new KernelError('cancelled', `no further step: ${reason}. Return from turn.run`)
      this.#tell(this.#process.channel.request('drain', { reason }, this.#control))
      if (!(await within(turn.done, waitMs))) {
        interrupted = true
        this.#interrupt(turn, `interrupted at ${reason}`)
        await within(turn.done, reason === 'quit' ? Math.min(quitCancelMs, timings.cancelMs) : timings.cancelMs)
      }
    }
    const drained = { waitedMs: Math.round(clock.monotonic() - from), interrupted }
    await history.append([draft('executor.drained', drained, this.place('kernel'))])
    return drained
  }

  async cancel(reason: string): Promise<void> {
    const turn = this.#turn
    if (turn === null) return
    this.#interrupt(turn, reason)
    if (!(await within(turn.done, this.parts.timings.cancelMs))) await this.#finish({ kind: 'stopped', reason })
  }

  stop(reason: string): Promise<void> {
    return this.#finish({ kind: 'stopped', reason })
  }

  now(): { what: string; since: number } | null {
    if (this.#turn === null || this.#finishing !== null) return null
    const calls = this.#process.channel.calls()
    const shown = calls.find(({ method }) => !readMethods.has(method)) ?? calls[0]
    return shown ? { what: shown.what, since: shown.since } : { what: 'deciding', since: this.#lastActivity }
  }

  // ---- Running ----

  place(actor: Actor): Place {
    const { agent, run, revision, task } = this.spec
    const turn = this.#turn?.params.turn ?? null
    const step = turn === null ? null : this.#step
    return { actor, agent, task: task.task, run, generation: this.generation, turn, step, revision }
  }

  turn(): number {
    return this.#turn?.params.turn ?? 0
  }

  step(): number | null {
    return this.#step
  }

  async beginStep(): Promise<number> {
    const turn = this.#inTurn()
    const { clock } = this.parts
    if (turn.steps >= turn.params.maxSteps || clock.monotonic() - turn.startedAt >= turn.params.maxMs) {
      turn.sealed ??= new KernelError('cancelled', 'this turn is used up: return from turn.run as yielded')
    }
    if (turn.sealed !== null) {
      turn.wasRefused = true
      throw turn.sealed
    }
    this.#step = await this.spec.task.nextStep()
    turn.steps += 1
    return this.#step
  }

  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work)
    this.#queue = done.catch(() => undefined)
    return done
  }

  async overBudget(error: KernelError): Promise<void> {
    if (this.#turn !== null) this.#turn.budget ??= error.message
    const { scope } = error.details ?? {}
    if (scope === 'agent' || scope === 'day') this.spec.task.waitsForBudget(error.message)
    await announceBudget(this, error)
  }

  takePendingEvents(): number {
    return this.#pending.take()
  }

  openStream(call: InboundCall, onStall: (error: KernelError) => void): ModelStream {
    const { timings } = this.parts
    const stream = new ModelStream({
      call: call.id,
      credits: wireLimits.streamCredits,
      chunkBytes: wireLimits.chunkBytes,
      coalesceMs: timings.coalesceMs,
      stallMs: timings.streamStallMs,
      send: (method, params) => this.#process.channel.notify(method, params),
      onStall,
    })
    this.#streams.set(call.id, stream)
    return stream
  }

  closeStream(call: InboundCall): void {
    this.#streams.delete(call.id)
  }

  // ---- ends ----

  #crashed(exit: { exitCode: number | null; signal: string | null; outOfMemory: boolean }, why = ''): Promise<void> {
    const stderr = [why, this.#process.lastWords].filter((text) => text !== '').join('\n')
    const { exitCode, signal, outOfMemory } = exit
    return this.#finish({ kind: 'crashed', exitCode, signal, outOfMemory, stderr })
  }

  /** The first end counts. */
  #finish(end: GenerationEnd): Promise<void> {
    if (this.#finishing === null) {
      this.#finishing = this.#close(end)
      // Whoever waits (`stop`, a running turn) is told that the store failed; a crash that nobody waits for must not end the kernel.
      this.#finishing.catch(() => undefined)
    }
    return this.#finishing
  }

  async #close(end: GenerationEnd): Promise<void> {
    for (const watchdog of this.#watchdogs) watchdog.stop()
    const { channel } = this.#process
    const turn = this.#turn
    try {
      const gone = new KernelError('cancelled', 'the executor has ended')
      await Promise.all([this.#process.kill(), channel.abortCalls(gone, this.parts.timings.settleMs)])
      // What an answered turn still delivers comes first: its outputs are known, so their calls are not interrupted.
      if (turn?.isAnswered) await turn.done
      const place = this.place('kernel')
      const drafts: EventDraft[] = [endEvent(end, { ...place, step: null }), ...this.memory.calls.interrupted(place)]
      const turnEnd = turn !== null && !turn.isAnswered ? turn.endWithout(endWords(end)) : null
      if (turn !== null && turnEnd !== null) drafts.push(this.#turnEnded(turn, turnEnd))
      failpoint('executor:before-ended')
      await this.parts.history.append(drafts)
      if (turnEnd !== null) turn?.finish(turnEnd)
    } finally {
      this.#pending.close()
      this.#resolveEnded(end)
    }
  }

  #turnEnded(turn: Turn, end: TurnEnd): EventDraft {
    const durationMs = Math.round(this.parts.clock.monotonic() - turn.startedAt)
    return draft('turn.ended', { ...end, durationMs }, { ...this.place('kernel'), step: null })
  }

  #interrupt(turn: Turn, reason: string): void {
    turn.cancelled ??= reason
    turn.sealed ??= new KernelError('cancelled', reason)
    void this.#process.channel.abortCalls(new KernelError('cancelled', reason), this.parts.timings.settleMs)
    this.#tell(this.#process.channel.request('turn.cancel', { turn: turn.params.turn, reason }, this.#control))
  }

  /** Advice to the executor: whether it was heard shows in what it does next. */
  #tell(request: Promise<unknown>): void {
    request.catch(() => undefined)
  }

  get #control(): { deadlineMs: number; isControl: boolean } {
    return { deadlineMs: this.parts.timings.answerMs, isControl: true }
  }

  #inTurn(): Turn {
    const turn = this.#turn
    if (turn === null || turn.isAnswered) throw new KernelError('cancelled', 'no turn is running')
    if (turn.cancelled !== null) throw new KernelError('cancelled', turn.cancelled)
    return turn
  }
}
