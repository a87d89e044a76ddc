import { WireError } from './wire.ts'

/** A running turn as the kernel may steer it: `drain` asks it to stop after the step in hand, `cancel` to stop now. */
export class Turn {
  draining = false
  #cancel: (error: WireError) => void = () => {}
  readonly #cancelled: Promise<never>

  constructor() {
    this.#cancelled = new Promise((_, reject) => {
      this.#cancel = reject
    })
    // A cancel while nothing waits for it is no fault.
    this.#cancelled.catch(() => {})
  }

  cancel(reason: string): void {
    this.#cancel(new WireError('cancelled', reason))
  }

  /** As `work`, but throws `cancelled` as soon as the turn is cancelled; the kernel ends what `work` began. */
  untilCancelled<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#cancelled])
  }
}
