import type { History } from '../history/history.ts'
import type { Hold } from './hold.ts'

/** Turns in a row that fail, or bring no step, until something else than a further try follows. */
const most = 3

/** What follows from a failed turn. */
export type FailedTurnVerdict =
  | { do: 'again'; delayMs: number }
  /** The endpoint is waited for; a key or a name is the operator's to mend. */
  | { do: 'hold'; hold: Hold }
  /** The revision makes way like one that crashes. */
  | { do: 'blame'; turns: number }

type Fault = { kind: 'endpoint' | 'model'; reason: string } | { kind: 'policy' }

/** Counts the failed turns of a task by whose doing they were: by the last try to call the model, as the kernel saw it. */
export class FailedTurns {
  readonly #history: History
  readonly #task: { agent: string; task: string }
  readonly #inARow = { policy: 0, endpoint: 0 }
  /** Of a call that could not be sent. */
  #refusal: { turn: number; reason: string } | null = null

  constructor(history: History, task: { agent: string; task: string }) {
    this.#history = history
    this.#task = task
  }

  refused(turn: number, reason: string): void {
    this.#refusal = { turn, reason }
  }

  /** A step was completed. */
  reset(): void {
    this.#inARow.policy = 0
    this.#inARow.endpoint = 0
  }

  async judge(turn: number): Promise<FailedTurnVerdict> {
    const fault = await this.#faultOf(turn)
    if (fault.kind === 'model') return { do: 'hold', hold: { cause: 'model', reason: fault.reason } }
    this.#inARow[fault.kind] += 1
    const turns = this.#inARow[fault.kind]
    if (turns < most) return { do: 'again', delayMs: 1000 * 2 ** turns }
    if (fault.kind === 'endpoint') return { do: 'hold', hold: { cause: 'endpoint', reason: fault.reason } }
    this.#inARow.policy = 0
    return { do: 'blame', turns }
  }

  async #faultOf(turn: number): Promise<Fault> {
    if (this.#refusal?.turn === turn) return { kind: 'model', reason: this.#refusal.reason }
    const { agent, task } = this.#task
    const attempt = await this.#history.latest({ agent }, 'model.attempted', { task })
    if (attempt === null || attempt.turn !== turn) return { kind: 'policy' }
    const { status, httpStatus, error, model } = attempt.data
    // An answer that broke off is the endpoint's doing as well, with whatever status it began.
    if (status === 'incomplete' && error !== null)
      return { kind: 'endpoint', reason: `the endpoint of ${model} does not answer as it should: ${error}` }
    if (status !== 'failed') return { kind: 'policy' }
    const said = error ?? `HTTP ${httpStatus}`
    if (httpStatus === null || httpStatus === 408 || httpStatus === 429 || httpStatus >= 500)
      return { kind: 'endpoint', reason: `the endpoint of ${model} does not answer as it should: ${said}` }
    if ([401, 402, 403, 404].includes(httpStatus))
      return { kind: 'model', reason: `the endpoint refuses ${model} (HTTP ${httpStatus}): ${said}` }
    return { kind: 'policy' }
  }
}
