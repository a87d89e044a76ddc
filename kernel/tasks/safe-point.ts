import { KernelError } from '../errors.ts'

/** A task at a safe point. Its sandbox is kept by its provider. */
export interface Kept {
  /** The last event that counts. */
  upTo: number
  /** The world's whole state; null where there is none, or where it is at rest. */
  world: string | null
  lastTurn: number
  lastStep: { turn: number; step: number } | null
}

/** Somebody who waits for a safe point of a task to do something while nothing of it runs. */
export class Visit {
  readonly done: Promise<Kept>
  readonly #work: () => Promise<Kept>
  #resolve!: (kept: Kept) => void
  #reject!: (error: unknown) => void
  #isOver = false

  constructor(work: () => Promise<Kept>) {
    this.#work = work
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.done.catch(() => {})
  }

  /** What goes wrong is the visitor's, never the task's. */
  async serve(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    await this.#work().then(this.#resolve, this.#reject)
  }

  refuse(task: string): void {
    this.#end(new KernelError('conflict', `${task} has ended`))
  }

  cancel(): void {
    this.#end(new KernelError('cancelled', 'the safe point is not waited for any more'))
  }

  #end(error: KernelError): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#reject(error)
  }
}
