import type { Writable } from 'node:stream'

interface Waiting {
  line: string
  bytes: number
  sent: () => void
}

/**
 * Lines on their way to the executor. Control lines overtake all others; a reader that is slow is waited for,
 * so at most what is queued here is held, and `onPressure` tells the owner to stop taking in more work.
 */
export class Outbox {
  readonly #output: Writable
  readonly #onPressure: (isHigh: boolean) => void
  readonly #highBytes: number
  readonly #control: Waiting[] = []
  readonly #data: Waiting[] = []
  #bytes = 0
  #isHigh = false
  #isBlocked = false
  #isCorked = false
  #isClosed = false

  constructor(output: Writable, highBytes: number, onPressure: (isHigh: boolean) => void) {
    this.#output = output
    this.#highBytes = highBytes
    this.#onPressure = onPressure
    output.on('drain', () => {
      this.#isBlocked = false
      this.#flush()
    })
    // A pipe whose reader has died; the exit of the box says what happened.
    output.on('error', () => this.close())
  }

  get queuedBytes(): number {
    return this.#bytes
  }

  /** Resolves when the line has been handed to the pipe, or the outbox is closed. */
  send(line: string, isControl = false): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    return new Promise((sent) => {
      const waiting = { line, bytes: Buffer.byteLength(line), sent }
      ;(isControl ? this.#control : this.#data).push(waiting)
      this.#bytes += waiting.bytes
      this.#flush()
    })
  }

  close(): void {
    this.#isClosed = true
    for (const { sent } of [...this.#control.splice(0), ...this.#data.splice(0)]) sent()
    this.#bytes = 0
    this.#judge()
  }

  #flush(): void {
    while (!this.#isBlocked && !this.#isClosed) {
      const next = this.#control.shift() ?? this.#data.shift()
      if (!next) break
      this.#cork()
      this.#bytes -= next.bytes
      this.#isBlocked = !this.#output.write(next.line)
      next.sent()
    }
    this.#judge()
  }

  /** What is sent in one tick goes out in one system call: with 64 answers in hand that is most of the cost. */
  #cork(): void {
    if (this.#isCorked) return
    this.#isCorked = true
    this.#output.cork()
    process.nextTick(() => {
      this.#isCorked = false
      this.#output.uncork()
    })
  }

  #judge(): void {
    const isHigh = this.#bytes > this.#highBytes
    if (isHigh === this.#isHigh) return
    this.#isHigh = isHigh
    this.#onPressure(isHigh)
  }
}
