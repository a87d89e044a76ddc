import type { Readable, Writable } from 'node:stream'
import type { z } from 'zod'
import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type {
  ExecutorMethod,
  ExecutorToKernel,
  KernelMethod,
  KernelToExecutor,
  RpcFailure,
  RpcResult,
  WireLimits,
} from '../wire/executor.ts'
import { creditSchema, requestSchemas, resultSchemas } from '../wire/executor-schema.ts'
import { afterAwake } from './ends.ts'
import { failureOf, parsed, rpcCodes } from './failure.ts'
import { type Frame, FrameReader } from './frames.ts'
import { Outbox } from './outbox.ts'
import { Tail } from './text.ts'
import { channelLimits } from './timings.ts'

/** A request of the executor's that is being answered. */
export interface InboundCall {
  readonly id: number
  readonly method: KernelMethod
  /** Aborted with the KernelError that the executor is told. */
  readonly signal: AbortSignal
  /** Epoch ms. */
  readonly since: number
  /** What it does, for the now-line. */
  what: string
  /** Its own `timeoutMs`; null: it names none. */
  declaredMs: number | null
}

/** One handler per method. Params are valid when it is called; what it throws is told to the executor, never raised here. */
export type Methods = {
  [M in KernelMethod]: (
    params: ExecutorToKernel[M]['params'],
    call: InboundCall,
  ) => Promise<ExecutorToKernel[M]['result']>
}

export interface ChannelOptions {
  input: Readable
  output: Writable
  methods: Methods
  clock: Clock
  limits: WireLimits
  /** Default: `channelLimits.framesPer100Ms`. */
  framesPer100Ms?: number
  /** A call was begun or has ended. */
  onActivity?: () => void
  onCredit?: (call: number, credits: number) => void
  /** Too many protocol errors: the process is not worth listening to. */
  onStruck: (problem: string) => void
}

interface Pending {
  method: ExecutorMethod
  resolve: (value: unknown) => void
  reject: (error: KernelError) => void
  /** Undoes its deadline. */
  settle: () => void
}

type Handler = { schema: z.ZodType; run: (params: unknown, call: InboundCall) => Promise<unknown> }

/**
 * JSON-RPC both ways with a process that is hostile until shown otherwise. Whatever it sends is at worst an error to it
 * and a strike; nothing that it sends, withholds or leaves unread makes this throw, block or grow without bound.
 */
export class Channel {
  readonly noise = new Tail(channelLimits.keptText)
  readonly #options: ChannelOptions
  readonly #handlers: ReadonlyMap<string, Handler>
  readonly #outbox: Outbox
  readonly #pending = new Map<number, Pending>()
  readonly #calls = new Map<number, { call: InboundCall; controller: AbortController; done: Promise<void> }>()
  readonly #pauses = new Set<'pressure' | 'rate'>()
  #nextId = 1
  #strikes: number[] = []
  #window = { from: 0, frames: 0 }
  #isClosed = false

  constructor(options: ChannelOptions) {
    this.#options = options
    this.#handlers = new Map(
      Object.entries(options.methods).map(([method, run]) => [
        method,
        { schema: requestSchemas[method as KernelMethod], run: run as Handler['run'] },
      ]),
    )
    this.#outbox = new Outbox(options.output, channelLimits.outboxBytes, (isHigh) => this.#pause('pressure', isHigh))
    const reader = new FrameReader(options.limits)
    options.input.on('data', (chunk: Buffer) => {
      if (this.#isClosed) return
      for (const frame of reader.push(chunk)) {
        if (this.#isClosed) return
        this.#receive(frame)
      }
    })
    options.input.on('error', () => undefined)
  }

  /** Bytes that wait for the executor to read. */
  get unsentBytes(): number {
    return this.#outbox.queuedBytes
  }

  /** Calls that are being answered now, oldest first. */
  calls(): InboundCall[] {
    return [...this.#calls.values()].map(({ call }) => call)
  }

  /**
   * Asks the executor. @throws KernelError: what it answered (its own code is not trusted: always `unavailable`, with its text),
   * `invalid` (the answer does not fit), `unavailable` (no answer within `deadlineMs`, or the channel closed).
   */
  request<M extends ExecutorMethod>(
    method: M,
    params: KernelToExecutor[M]['params'],
    options: { deadlineMs?: number; isControl?: boolean } = {},
  ): Promise<KernelToExecutor[M]['result']> {
    if (this.#isClosed) return Promise.reject(new KernelError('unavailable', 'the executor has ended'))
    const id = this.#nextId
    this.#nextId += 1
    return new Promise((resolve, reject) => {
      const expire = (): void => {
        this.#pending.delete(id)
        const text = `the executor did not answer ${method} within ${options.deadlineMs} ms`
        reject(new KernelError('unavailable', text, { details: { timedOut: true } }))
      }
      const { deadlineMs } = options
      const settle = deadlineMs === undefined ? () => {} : afterAwake(this.#options.clock, deadlineMs, expire)
      this.#pending.set(id, { method, resolve: resolve as (value: unknown) => void, reject, settle })
      this.#outbox.send(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`, options.isControl)
    })
  }

  /** Resolves when the pipe has taken it. */
  notify(method: string, params: unknown): Promise<void> {
    return this.#outbox.send(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`)
  }

  /** Ends the calls in flight with `error`, and waits until they have, up to `waitMs`. Resolves to how many there were. */
  async abortCalls(error: KernelError, waitMs: number): Promise<number> {
    const running = [...this.#calls.values()]
    for (const { controller } of running) controller.abort(error)
    if (running.length === 0) return 0
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, waitMs)
    })
    await Promise.race([Promise.all(running.map(({ done }) => done)), late])
    clearTimeout(timer)
    return running.length
  }

  /** No frame is read or sent after it; open requests of the kernel's fail with `error`. */
  close(error: KernelError): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#outbox.close()
    for (const { reject, settle } of this.#pending.values()) {
      settle()
      reject(error)
    }
    this.#pending.clear()
    // Read on and drop: a pipe that nobody reads would keep the process from ending.
    this.#options.input.resume()
  }

  #receive(frame: Frame): void {
    this.#countFrame()
    if (!frame.ok) {
      this.#refuse(frame.isParseError ? rpcCodes.parse : rpcCodes.request, frame.problem, frame.text)
      return
    }
    const message = frame.value
    if (typeof message !== 'object' || message === null || Array.isArray(message)) {
      this.#refuse(rpcCodes.request, 'a frame that is no JSON-RPC object (there are no batches)', text(message))
      return
    }
    const { jsonrpc, id, method, params, result, error } = message as Record<string, unknown>
    const isId = typeof id === 'number' && Number.isSafeInteger(id) && id >= 0
    if (jsonrpc !== '2.0') this.#refuse(rpcCodes.request, 'a frame without jsonrpc "2.0"', text(message))
    else if (typeof method === 'string' && isId) this.#begin(id, method, params)
    else if (typeof method === 'string' && id === undefined) this.#notified(method, params)
    else if (method === undefined && isId) this.#answered(id, result, error)
    else this.#refuse(rpcCodes.request, 'a frame that is no request, notification or answer', text(message))
  }

  #begin(id: number, method: string, params: unknown): void {
    const handler = this.#handlers.get(method)
    if (!handler) {
      this.noise.add(`unknown method ${JSON.stringify(method.slice(0, 100))}\n`)
      const unknown = new KernelError('invalid', 'no such method; wire.d.ts names those there are')
      this.#reply(failureOf(id, unknown, rpcCodes.method))
      return
    }
    if (this.#calls.has(id)) {
      this.#refuse(rpcCodes.request, `request id ${id} is already in flight`, method)
      return
    }
    if (this.#calls.size >= this.#options.limits.inFlight) {
      const busy = new KernelError('unavailable', `${this.#calls.size} requests are in flight; wait for one to end`)
      this.#reply(failureOf(id, busy))
      return
    }
    const controller = new AbortController()
    const call: InboundCall = {
      id,
      method: method as KernelMethod,
      signal: controller.signal,
      since: this.#options.clock.now(),
      what: method,
      declaredMs: null,
    }
    const done = this.#run(handler, params, call)
    this.#calls.set(id, { call, controller, done })
    this.#options.onActivity?.()
  }

  async #run(handler: Handler, params: unknown, call: InboundCall): Promise<void> {
    // The entry in #calls is made before anything below can run.
    await null
    try {
      const valid = parsed(handler.schema, params ?? {}, call.method)
      call.declaredMs = declaredBy(valid)
      const result = await handler.run(valid, call)
      this.#calls.delete(call.id)
      this.#reply({ jsonrpc: '2.0', id: call.id, result })
    } catch (error) {
      this.#calls.delete(call.id)
      this.#reply(failureOf(call.id, error))
    }
    this.#options.onActivity?.()
  }

  #notified(method: string, params: unknown): void {
    const credit = creditSchema.safeParse(params)
    if (method !== 'stream.credit') this.#strike(`unknown notification ${text(method)}`, '')
    else if (!credit.success) this.#strike('a stream.credit that does not fit', text(params))
    else this.#options.onCredit?.(credit.data.call, credit.data.credits)
  }

  #answered(id: number, result: unknown, error: unknown): void {
    const pending = this.#pending.get(id)
    if (!pending) {
      // An answer that comes after its deadline is late, not wrong.
      if (id === 0 || id >= this.#nextId) this.#strike(`an answer to request ${id}, which was never made`, '')
      return
    }
    this.#pending.delete(id)
    pending.settle()
    try {
      if (error !== undefined) throw new KernelError('unavailable', toldBy(error), { details: { answered: true } })
      pending.resolve(parsed<unknown>(resultSchemas[pending.method], result, `the answer to ${pending.method}`))
    } catch (problem) {
      pending.reject(problem as KernelError)
    }
  }

  #reply(message: RpcResult | RpcFailure): void {
    let line = `${JSON.stringify(message)}\n`
    if (Buffer.byteLength(line) > this.#options.limits.frameBytes) {
      const tooLong = new KernelError('unavailable', 'the answer does not fit into a frame; ask for less at once')
      line = `${JSON.stringify(failureOf(message.id, tooLong))}\n`
    }
    this.#outbox.send(line)
  }

  #refuse(code: number, problem: string, noise: string): void {
    this.#reply(failureOf(null, new KernelError('invalid', problem), code))
    this.#strike(problem, noise)
  }

  #strike(problem: string, noise: string): void {
    this.noise.add(`protocol error: ${problem}${noise === '' ? '' : `: ${noise}`}\n`)
    const now = this.#options.clock.monotonic()
    this.#strikes = this.#strikes.filter((at) => now - at < channelLimits.strikeWindowMs)
    this.#strikes.push(now)
    if (this.#strikes.length !== channelLimits.strikes) return
    this.#options.onStruck(`${channelLimits.strikes} protocol errors, the last: ${problem}`)
  }

  #countFrame(): void {
    const now = this.#options.clock.monotonic()
    if (now - this.#window.from >= 100) this.#window = { from: now, frames: 0 }
    this.#window.frames += 1
    if (this.#window.frames !== (this.#options.framesPer100Ms ?? channelLimits.framesPer100Ms)) return
    this.#pause('rate', true)
    setTimeout(() => this.#pause('rate', false), 100)
  }

  #pause(reason: 'pressure' | 'rate', isOn: boolean): void {
    if (isOn) this.#pauses.add(reason)
    else this.#pauses.delete(reason)
    if (this.#isClosed || this.#pauses.size === 0) this.#options.input.resume()
    else this.#options.input.pause()
  }
}

function declaredBy(params: unknown): number | null {
  const { timeoutMs } = params as { timeoutMs?: unknown }
  return typeof timeoutMs === 'number' ? timeoutMs : null
}

/** Only for the developer's eyes: a frame has bounded depth, so that this cannot overflow. */
function text(value: unknown): string {
  return (JSON.stringify(value) ?? '').slice(0, 400)
}

function toldBy(error: unknown): string {
  const message = (error as { message?: unknown } | null)?.message
  return typeof message === 'string' ? message.slice(0, 4000) : 'an error without a message'
}
