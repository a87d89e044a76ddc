import { KernelError } from '../../errors.ts'
import type { KernelMethod, TurnRunResult } from '../../wire/executor.ts'
import type { InboundCall, Methods } from '../channel.ts'
import { afterAwake, within } from '../ends.ts'
import { ExecutorProcess } from '../process.ts'
import type { Part, ReplayParts } from './answers.ts'

/** What was wrong with a turn, in one sentence. */
export interface TurnFault {
  error: string
  timedOut: boolean
}

const shownWords = 400

/** A policy in a box as a boot check has it, whose turns are run one after the other, each with answers of its own. */
export class ReplayProcess {
  readonly #parts: ReplayParts
  readonly #part: Part
  readonly #label: string
  readonly #signal: AbortSignal
  #process: ExecutorProcess | null = null
  #methods: Methods | null = null
  #struck: string | null = null

  constructor(parts: ReplayParts, part: Part, label: string, signal: AbortSignal) {
    this.#parts = parts
    this.#part = part
    this.#label = label
    this.#signal = signal
  }

  /**
   * One `turn.run`, in the process of the turns before it where that still stands.
   *
   * @param enough once it resolves the turn has shown what was wanted: it is ended, and how it ends is no fault.
   * @returns what the policy answered, null after `enough`, or what was wrong.
   * @throws KernelError `unavailable`: no box can be had; `cancelled` once the signal aborts.
   */
  async turn(
    params: { turn: number; maxSteps: number; limitMs: number },
    methods: Methods,
    enough: Promise<void>,
  ): Promise<TurnRunResult | TurnFault | null> {
    const { turn, maxSteps, limitMs } = params
    const process = this.#process ?? (await this.#start(methods))
    this.#methods = methods
    let settle = (): void => {}
    const fault: TurnFault = { error: `it did not ask the model within ${limitMs / 1000} s`, timedOut: true }
    const late = new Promise<TurnFault>((resolve) => {
      settle = afterAwake(this.#parts.clock, limitMs, () => resolve(fault))
    })
    let isEnough = false
    const shown = enough.then(() => {
      isEnough = true
      return null
    })
    const asked = this.#answered(process, { turn, maxSteps, maxMs: limitMs })
    try {
      const first = await Promise.race([asked, late, shown, aborted(this.#signal)])
      if (!isEnough && first !== null) {
        if (first === fault) await this.stop()
        return first
      }
      if (!(await within(asked, this.#parts.timings.cancelMs))) await this.stop()
      return null
    } finally {
      this.#methods = null
      settle()
      if (this.#signal.aborted) await this.stop()
    }
  }

  async stop(): Promise<void> {
    const process = this.#process
    this.#process = null
    await process?.kill()
  }

  async #start(methods: Methods): Promise<ExecutorProcess> {
    const { provider, clock, revisions, timings } = this.#parts
    const { agent, revision, brief } = this.#part
    const folder = await revisions.materialise(revision)
    this.#struck = null
    const process = await ExecutorProcess.start({
      ...{ provider, profile: 'boot', label: this.#label, folder, clock },
      channel: {
        methods: this.#delegating(methods),
        onStruck: (problem) => {
          this.#struck = problem
          process.kill().catch(() => undefined)
        },
      },
    })
    this.#process = process
    void process.exited.then(() => {
      if (this.#process === process) this.#process = null
    })
    // A handshake that fails shows in the turn that cannot be asked for, with what the process said of it.
    await process.handshake({ agent, revision, activation: 1, task: brief }, timings).catch(async (error: Error) => {
      this.#struck ??= error.message
      await process.kill()
    })
    return process
  }

  /** Resolves to the fault where the policy throws or its process ends. */
  async #answered(
    process: ExecutorProcess,
    params: { turn: number; maxSteps: number; maxMs: number },
  ): Promise<TurnRunResult | TurnFault> {
    const ended = process.exited.then(({ exitCode, signal }): TurnFault => {
      const why = this.#struck ?? `it ended (${signal ?? `exit code ${exitCode}`})`
      const said = process.lastWords.trim().slice(-shownWords)
      return { error: said === '' ? why : `${why}: ${said}`, timedOut: false }
    })
    const asked = process.channel.request('turn.run', params).catch(async (error: unknown): Promise<TurnFault> => {
      if (!(error instanceof KernelError)) throw error
      // An exit explains more than the closed channel that it brings.
      if (error.code === 'unavailable' && error.details?.answered !== true) return ended
      return { error: `its turn threw: ${error.message}`, timedOut: false }
    })
    return Promise.race([ended, asked])
  }

  /** Between turns there is nobody to answer. */
  #delegating(methods: Methods): Methods {
    const named = (Object.keys(methods) as KernelMethod[]).map((method) => [
      method,
      async (params: unknown, call: InboundCall) => {
        const now = this.#methods
        if (now === null) throw new KernelError('cancelled', 'no turn is running')
        return (now[method] as (params: unknown, call: InboundCall) => Promise<unknown>)(params, call)
      },
    ])
    return Object.fromEntries(named) as Methods
  }
}

/** Rejects once the signal aborts. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = () => reject(new KernelError('cancelled', 'the replay is no longer wanted'))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
