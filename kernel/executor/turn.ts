import type { KernelError } from '../errors.ts'
import type { TurnRunParams, TurnRunResult } from '../wire/executor.ts'
import type { TurnEnd } from './executor.ts'

/** One `turn.run` as the kernel sees it. What it counts here is what counts; the executor's own figures are not used. */
export class Turn {
  readonly params: TurnRunParams
  /** Monotonic ms. */
  readonly startedAt: number
  steps = 0
  /** Why no further step may begin; the step in hand may end. */
  sealed: KernelError | null = null
  /** Why it is being ended at once. */
  cancelled: string | null = null
  /** The limit that was reached. */
  budget: string | null = null
  /** The executor has asked for a step beyond the seal. */
  wasRefused = false
  /** The executor has answered, or is gone: nothing more belongs to this turn. */
  isAnswered = false
  readonly done: Promise<TurnEnd>
  #resolve: (end: TurnEnd) => void = () => undefined

  constructor(params: TurnRunParams, startedAt: number) {
    this.params = params
    this.startedAt = startedAt
    this.done = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  finish(end: TurnEnd): void {
    this.#resolve(end)
  }

  /** How a turn ends that the executor has answered. */
  endOf(answer: TurnRunResult | { outcome: 'failed'; reason: string }): TurnEnd {
    const reason = answer.reason ?? null
    if (this.cancelled !== null) return this.#end('cancelled', this.cancelled)
    if (this.budget !== null) return this.#end('budget', this.budget)
    // Refusing the next step is how the kernel asks for the safe point; a policy that calls that a failure still stopped there.
    if (answer.outcome === 'failed' && this.wasRefused) return this.#end('yielded', reason)
    return this.#end(answer.outcome, reason)
  }

  /** How a turn ends whose process has ended. */
  endWithout(why: string): TurnEnd {
    if (this.cancelled !== null) return this.#end('cancelled', this.cancelled)
    if (this.budget !== null) return this.#end('budget', this.budget)
    return this.#end('interrupted', why)
  }

  #end(outcome: TurnEnd['outcome'], reason: string | null): TurnEnd {
    return { outcome, reason, steps: this.steps }
  }
}
