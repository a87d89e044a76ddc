import type { Readable } from 'node:stream'
import type {
  ExecutorMethod,
  ExecutorToKernel,
  KernelMethod,
  KernelToExecutor,
  RpcFailure,
  RpcRequest,
  RpcResult,
  WireErrorCode,
} from '#wire'

/** What the kernel refused, with its code: invalid, not-found, forbidden, conflict, over-budget, unavailable, cancelled or internal. */
export class WireError extends Error {
  readonly code: WireErrorCode

  constructor(code: WireErrorCode, message: string) {
    super(message)
    this.name = 'WireError'
    this.code = code
  }
}

/** Answers to the kernel's requests, one for each method. */
export type Handlers = {
  [M in ExecutorMethod]: (
    params: KernelToExecutor[M]['params'],
  ) => KernelToExecutor[M]['result'] | Promise<KernelToExecutor[M]['result']>
}

interface Open {
  resolve(result: never): void
  reject(error: WireError): void
}

/**
 * JSON-RPC 2.0, one message a line, both ways at once. Requests are answered in any order; notifications
 * (`stream.chunk` and the like) are ignored, since this policy asks for whole answers.
 */
export class Wire {
  readonly #write: (line: string) => void
  readonly #handlers: Handlers
  readonly #open = new Map<number, Open>()
  /** The beginning of a line whose end has not come: a list, so that a long line costs linear time. */
  #parts: Buffer[] = []
  #lastId = 0

  constructor(input: Readable, write: (line: string) => void, handlers: Handlers) {
    this.#write = write
    this.#handlers = handlers
    input.on('data', (chunk: Buffer) => this.#receive(chunk))
  }

  /** @throws WireError what the kernel answered instead of a result. */
  call<M extends KernelMethod>(
    method: M,
    params: ExecutorToKernel[M]['params'],
  ): Promise<ExecutorToKernel[M]['result']> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#open.set(id, { resolve, reject })
      this.#send({ jsonrpc: '2.0', id, method, params })
    })
  }

  #receive(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#parts.push(chunk.subarray(start, end))
      start = end + 1
      const line = Buffer.concat(this.#parts).toString('utf8')
      this.#parts = []
      if (line.trim() !== '') this.#dispatch(JSON.parse(line))
    }
    if (start < chunk.length) this.#parts.push(chunk.subarray(start))
  }

  #dispatch(message: Partial<RpcRequest & RpcResult & RpcFailure>): void {
    if (message.method !== undefined) {
      if (typeof message.id === 'number') void this.#answer(message.id, message.method, message.params)
      return
    }
    const open = this.#open.get(message.id ?? -1)
    if (open === undefined) return
    this.#open.delete(message.id ?? -1)
    const failure = message.error
    if (failure === undefined) open.resolve(message.result as never)
    else open.reject(new WireError(failure.data?.code ?? 'internal', failure.message))
  }

  async #answer(id: number, method: string, params: unknown): Promise<void> {
    if (!Object.hasOwn(this.#handlers, method)) {
      this.#send({ jsonrpc: '2.0', id, error: { code: -32601, message: `no method ${method}` } })
      return
    }
    try {
      const handler = this.#handlers[method as ExecutorMethod] as (params: unknown) => unknown
      this.#send({ jsonrpc: '2.0', id, result: await handler(params) })
    } catch (error) {
      console.error(error)
      const code = error instanceof WireError ? error.code : 'internal'
      const message = error instanceof Error ? error.message : String(error)
      this.#send({ jsonrpc: '2.0', id, error: { code: -32000, message, data: { code } } })
    }
  }

  #send(message: RpcRequest | RpcResult | RpcFailure): void {
    this.#write(`${JSON.stringify(message)}\n`)
  }
}
