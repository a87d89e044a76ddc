import { KernelError } from '../errors.ts'
import type { StreamChunk, StreamEnd } from '../wire/executor.ts'

type Delta = StreamChunk['delta']

interface StreamOptions {
  call: number
  credits: number
  chunkBytes: number
  coalesceMs: number
  stallMs: number
  send: (method: 'stream.chunk' | 'stream.end', params: StreamChunk | StreamEnd) => Promise<void>
  /** Called once when nobody takes the chunks. */
  onStall: (error: KernelError) => void
}

/**
 * Carries a model's deltas to the executor in chunks, as far as it has granted credits. `delta` resolves when there is room
 * for more: awaiting it is what pauses the provider. At most two chunks are held here.
 */
export class ModelStream {
  readonly #options: StreamOptions
  readonly #chunkChars: number
  #credits: number
  #chunks = 0
  #kind: Delta['type'] = 'text'
  #text = ''
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> = Promise.resolve()
  #wake: (() => void) | undefined
  #isOver = false

  constructor(options: StreamOptions) {
    this.#options = options
    this.#credits = options.credits
    // A UTF-16 unit is at most three bytes of UTF-8.
    this.#chunkChars = Math.floor(options.chunkBytes / 3)
  }

  grant(credits: number): void {
    this.#credits = Math.min(this.#credits + credits, 1024)
    this.#wake?.()
  }

  async delta(delta: Delta): Promise<void> {
    if (this.#isOver || delta.text === '') return
    if (delta.type !== this.#kind && this.#text !== '') await this.#flush()
    this.#kind = delta.type
    this.#text += delta.text
    if (this.#text.length >= this.#chunkChars) return this.#flush()
    this.#timer ??= setTimeout(() => void this.#flush(), this.#options.coalesceMs)
  }

  /** Sends what is left and `stream.end`. What nobody has taken by the stall limit is dropped: the answer holds all of it. */
  async end(): Promise<void> {
    await this.#flush()
    this.#isOver = true
    await this.#options.send('stream.end', { call: this.#options.call, chunks: this.#chunks })
  }

  /** The call has failed or was cancelled: nothing waits for credits any more. */
  abandon(): void {
    this.#isOver = true
    this.#text = ''
    clearTimeout(this.#timer)
    this.#wake?.()
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#sending = this.#sending.then(() => this.#send())
    return this.#sending
  }

  async #send(): Promise<void> {
    const type = this.#kind
    while (this.#text !== '' && !this.#isOver) {
      if (this.#credits === 0 && !(await this.#credited())) return
      if (this.#isOver) return
      const text = this.#text.slice(0, cutAt(this.#text, this.#chunkChars))
      this.#text = this.#text.slice(text.length)
      this.#credits -= 1
      const n = this.#chunks
      this.#chunks += 1
      const sent = this.#options.send('stream.chunk', { call: this.#options.call, n, delta: { type, text } })
      // A pipe that nobody empties takes nothing either, whatever credits are left.
      if (!(await this.#inTime(sent, () => this.#isOver))) return this.#stalled()
    }
  }

  async #credited(): Promise<boolean> {
    await this.#inTime(new Promise(() => undefined), () => this.#isOver || this.#credits > 0)
    if (this.#credits > 0 || this.#isOver) return this.#credits > 0
    this.#stalled()
    return false
  }

  /** Waits for it up to the stall limit, or until a grant or an end makes the wait needless. False: the limit was reached. */
  async #inTime(work: Promise<unknown>, isNeedless: () => boolean): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined
    const isDone = await new Promise<boolean>((resolve) => {
      this.#wake = () => {
        if (isNeedless()) resolve(true)
      }
      timer = setTimeout(() => resolve(false), this.#options.stallMs)
      work.then(() => resolve(true)).catch(() => resolve(true))
    })
    clearTimeout(timer)
    this.#wake = undefined
    return isDone
  }

  #stalled(): void {
    this.abandon()
    const text = `the stream was not read for ${this.#options.stallMs} ms; read it, and grant credits with stream.credit`
    this.#options.onStall(new KernelError('cancelled', text))
  }
}

/** Not between the two halves of a surrogate pair. */
function cutAt(text: string, chars: number): number {
  if (text.length <= chars) return text.length
  const last = text.charCodeAt(chars - 1)
  return last >= 0xd800 && last < 0xdc00 ? chars - 1 : chars
}
