import OpenAI from 'openai'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import type { ResponsesBody } from './request.ts'

/** One endpoint and the key for it; null: it needs none. */
export interface Endpoint {
  baseUrl: string
  key: string | null
}

export interface UpstreamLimits {
  /** All bytes of one answer, and of one line of it, after decompression. */
  answerBytes: number
  lineBytes: number
}

export type UpstreamEvent = ResponseStreamEvent

/** How an attempt failed, in words that hold no header and no key. */
export class UpstreamError extends Error {
  readonly httpStatus: number | null
  readonly code: string | null
  /** From Retry-After, as sent. */
  readonly retryAfter: string | null
  /** True when the request did not reach a server, or was turned away before an answer began: nothing was generated. */
  readonly isUnanswered: boolean

  constructor(
    message: string,
    facts: { httpStatus?: number | null; code?: string | null; retryAfter?: string | null; isUnanswered: boolean },
  ) {
    super(message)
    this.name = 'UpstreamError'
    this.httpStatus = facts.httpStatus ?? null
    this.code = facts.code ?? null
    this.retryAfter = facts.retryAfter ?? null
    this.isUnanswered = facts.isUnanswered
  }
}

/**
 * Sends one request, once, and yields the events of its answer. The environment (OPENAI_*) has no say: address, headers
 * and key are exactly those of `endpoint`. No redirect is followed. Ends when the stream ends, with or without an end mark.
 *
 * @throws UpstreamError whatever went wrong, except that an abort by `signal` throws the signal's reason.
 */
export async function* streamResponses(
  endpoint: Endpoint,
  body: ResponsesBody,
  signal: AbortSignal,
  limits: UpstreamLimits,
): AsyncGenerator<UpstreamEvent> {
  let isAnswered = false
  try {
    const stream = await clientFor(endpoint, limits).responses.create(
      { ...(body as OpenAI.Responses.ResponseCreateParamsStreaming), stream: true, store: false },
      { signal },
    )
    isAnswered = true
    for await (const event of stream) yield event
    // The SDK ends an aborted stream as if it were over.
    signal.throwIfAborted()
  } catch (error) {
    signal.throwIfAborted()
    throw upstreamError(error, isAnswered)
  }
}

const silent = () => undefined
/** Longer than any deadline of the gateway, which alone ends calls. */
const noTimeout = 2 ** 31 - 1

function clientFor(endpoint: Endpoint, limits: UpstreamLimits): OpenAI {
  return new OpenAI({
    baseURL: endpoint.baseUrl,
    // The key never enters the SDK: our fetch writes the header, so no log, error or inspection of the client can show it.
    apiKey: 'held by the gateway',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: noTimeout,
    logLevel: 'off',
    logger: { error: silent, warn: silent, info: silent, debug: silent },
    fetch: (url, init) => send(endpoint, limits, url, init),
  })
}

async function send(
  endpoint: Endpoint,
  limits: UpstreamLimits,
  url: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const headers: Record<string, string> = {
    accept: 'text/event-stream',
    'content-type': 'application/json',
    'user-agent': 'exodesk',
  }
  if (endpoint.key !== null) headers.authorization = `Bearer ${endpoint.key}`
  const response = await fetch(url, {
    method: 'POST',
    body: init?.body ?? null,
    signal: init?.signal ?? null,
    headers,
    redirect: 'manual',
  })
  if (response.status >= 300 && response.status < 400) {
    await response.body?.cancel()
    throw new UpstreamError(
      `the endpoint answered with a redirect (${response.status}), which is never followed; set its final address`,
      {
        httpStatus: response.status,
        isUnanswered: true,
      },
    )
  }
  const type = response.headers.get('content-type') ?? 'no content type'
  if (response.ok && !type.startsWith('text/event-stream')) {
    await response.body?.cancel()
    throw new UpstreamError(`the endpoint answered with ${type.slice(0, 100)} instead of an event stream`, {
      httpStatus: response.status,
      isUnanswered: true,
    })
  }
  const capped =
    response.body?.pipeThrough(capBytes(response.ok ? limits : { answerBytes: 65_536, lineBytes: 65_536 })) ?? null
  return new Response(capped, { status: response.status, headers: response.headers })
}

const newline = 0x0a

function capBytes({ answerBytes, lineBytes }: UpstreamLimits): TransformStream<Uint8Array, Uint8Array> {
  let total = 0
  let line = 0
  return new TransformStream({
    transform(chunk, controller) {
      total += chunk.byteLength
      const lastBreak = chunk.lastIndexOf(newline)
      line = lastBreak < 0 ? line + chunk.byteLength : chunk.byteLength - lastBreak - 1
      if (total > answerBytes || line > lineBytes || chunk.byteLength > lineBytes) {
        const what = total > answerBytes ? `more than ${answerBytes} bytes` : `a line of more than ${lineBytes} bytes`
        controller.error(new UpstreamError(`the answer has ${what}`, { code: 'too-large', isUnanswered: false }))
        return
      }
      controller.enqueue(chunk)
    },
  })
}

function upstreamError(error: unknown, isAnswered: boolean): UpstreamError {
  const cause = rootCause(error)
  if (cause instanceof UpstreamError) return cause
  if (error instanceof OpenAI.APIConnectionError)
    return new UpstreamError(`the connection failed: ${describe(cause)}`, { isUnanswered: true })
  if (error instanceof OpenAI.APIError) {
    return new UpstreamError(error.message.slice(0, 500), {
      httpStatus: error.status ?? null,
      code: error.code ?? null,
      retryAfter: error.headers?.get('retry-after') ?? null,
      isUnanswered: !isAnswered,
    })
  }
  return new UpstreamError(`the answer broke off: ${describe(cause)}`, { isUnanswered: !isAnswered })
}

function rootCause(error: unknown): unknown {
  let cause = error
  for (let depth = 0; depth < 8 && cause instanceof Error && cause.cause instanceof Error; depth += 1)
    cause = cause.cause
  return cause
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason'
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : ''
  return `${code}${error.message}`.slice(0, 300)
}
