import { once } from 'node:events'
import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { createParser } from 'eventsource-parser'
import { refusalOf, UpstreamError } from './upstream-error.ts'

/** One endpoint and the key for it; null: it needs none. */
export interface Endpoint {
  baseUrl: string
  key: string | null
}

export interface UpstreamLimits {
  /** All bytes of one answer, and of one line of it. */
  answerBytes: number
  lineBytes: number
}

/** What one event of a stream holds: its JSON, or the mark with which some streams end. */
export type UpstreamEvent = Readonly<Record<string, unknown>> | typeof doneMark
export const doneMark = '[DONE]'

/**
 * Connections are kept for the next call, for a short while: one that the server closes meanwhile may cost a request. Agents of our own: the shared ones follow
 * proxy variables of the environment.
 */
const keptForMs = 4_000
const agents = {
  'http:': new http.Agent({ keepAlive: true, timeout: keptForMs }),
  'https:': new https.Agent({ keepAlive: true, timeout: keptForMs, rejectUnauthorized: true }),
}
const refusalBytes = 65_536

/**
 * Sends one request, once, and yields the events of its answer. Address, headers and key are exactly those of `endpoint`:
 * no variable of the environment has a say, no redirect is followed, nothing is decompressed. Ends when the stream ends,
 * with or without an end mark.
 *
 * @throws UpstreamError whatever went wrong, except that an abort by `signal` throws the signal's reason.
 */
export async function* streamEvents(
  endpoint: Endpoint,
  path: string,
  body: object,
  signal: AbortSignal,
  limits: UpstreamLimits,
): AsyncGenerator<UpstreamEvent> {
  let request: ClientRequest | null = null
  let response: IncomingMessage | null = null
  let isAnswered = false
  try {
    signal.throwIfAborted()
    request = open(endpoint, path, JSON.stringify(body), signal)
    ;[response] = (await once(request, 'response', { signal })) as [IncomingMessage]
    await requireStream(response)
    isAnswered = true
    yield* eventsOf(response, limits)
  } catch (error) {
    if (signal.aborted) throw wasSent(request) ? signal.reason : notSent(signal.reason)
    if (error instanceof UpstreamError) throw error
    throw brokenBy(error, isAnswered, request)
  } finally {
    // One that was read to its end stays open for the next call.
    if (response?.readableEnded !== true) request?.destroy()
  }
}

function open(endpoint: Endpoint, path: string, body: string, signal: AbortSignal): ClientRequest {
  const request = requestTo(`${endpoint.baseUrl.replace(/\/+$/, '')}${path}`, {
    method: 'POST',
    signal,
    headers: {
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'exodesk',
    },
  })
  try {
    // Not among the options, which Node writes to stderr where NODE_DEBUG asks for it.
    if (endpoint.key !== null) request.setHeader('authorization', `Bearer ${endpoint.key}`)
  } catch {
    request.destroy()
    throw new UpstreamError(
      'the key holds characters that no header can carry: it was not copied whole, or is no key',
      {
        httpStatus: 401,
        isUnanswered: true,
      },
    )
  }
  request.end(body)
  return request
}

/** The HTTP status of an answer to `GET url`, asked for without a key; its body is not read. @throws what broke. */
export async function statusOf(url: string, signal: AbortSignal): Promise<number> {
  const request = requestTo(url, { method: 'GET', signal, headers: { 'user-agent': 'exodesk' } })
  try {
    request.end()
    const [response] = (await once(request, 'response', { signal })) as [IncomingMessage]
    return response.statusCode ?? 0
  } finally {
    request.destroy()
  }
}

function requestTo(address: string, options: http.RequestOptions): ClientRequest {
  const url = new URL(address)
  const protocol = url.protocol === 'https:' ? 'https:' : 'http:'
  const request = (protocol === 'https:' ? https : http).request(url, { ...options, agent: agents[protocol] })
  // Whoever waits for the answer is told; one that comes after it shows in reading it.
  request.on('error', () => undefined)
  return request
}

/** @throws UpstreamError unless this is the beginning of an event stream. */
async function requireStream(response: IncomingMessage): Promise<void> {
  const status = response.statusCode ?? 0
  const { 'content-type': type = 'no content type', 'content-encoding': encoding = 'identity' } = response.headers
  const retryAfter = response.headers['retry-after'] ?? null
  if (status >= 300 && status < 400) {
    response.destroy()
    throw new UpstreamError(
      `the endpoint answered with a redirect (${status}), which is never followed; set its final address`,
      { httpStatus: status, isUnanswered: true },
    )
  }
  if (encoding !== 'identity' && encoding !== '') {
    response.destroy()
    throw new UpstreamError(`the endpoint answered in ${encoding.slice(0, 50)}, which was not asked for`, {
      httpStatus: status,
      isUnanswered: status >= 400,
    })
  }
  if (status < 200 || status >= 300) {
    const { message, code } = refusalOf(await headOf(response))
    throw new UpstreamError(`${status} ${message}`, { httpStatus: status, code, retryAfter, isUnanswered: true })
  }
  if (!type.startsWith('text/event-stream')) {
    response.destroy()
    // A server that ignores `stream` has done the work all the same.
    throw new UpstreamError(`the endpoint answered with ${type.slice(0, 100)} instead of an event stream`, {
      httpStatus: status,
      isUnanswered: false,
    })
  }
}

async function headOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.byteLength
    if (size >= refusalBytes) break
  }
  return Buffer.concat(chunks).toString('utf8', 0, refusalBytes)
}

const newline = 0x0a

async function* eventsOf(response: IncomingMessage, limits: UpstreamLimits): AsyncGenerator<UpstreamEvent> {
  let parsed: UpstreamEvent[] = []
  let malformed: UpstreamError | null = null
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data === '' || malformed !== null) return
      const event = eventOf(data)
      if (event === null) malformed = notJson()
      else parsed.push(event)
    },
  })
  const decoder = new TextDecoder()
  let total = 0
  let line = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    total += chunk.byteLength
    const lastBreak = chunk.lastIndexOf(newline)
    line = lastBreak < 0 ? line + chunk.byteLength : chunk.byteLength - lastBreak - 1
    if (total > limits.answerBytes) throw tooLarge(`more than ${limits.answerBytes} bytes`)
    if (line > limits.lineBytes) throw tooLarge(`a line of more than ${limits.lineBytes} bytes`)
    parser.feed(decoder.decode(chunk, { stream: true }))
    const events = parsed
    parsed = []
    yield* events
    if (malformed !== null) throw malformed
  }
}

function eventOf(data: string): UpstreamEvent | null {
  if (data === doneMark) return doneMark
  try {
    const value: unknown = JSON.parse(data)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as UpstreamEvent) : null
  } catch {
    return null
  }
}

function notJson(): UpstreamError {
  return new UpstreamError('the answer holds an event that is no JSON object', {
    code: 'malformed',
    isUnanswered: false,
  })
}

function tooLarge(what: string): UpstreamError {
  return new UpstreamError(`the answer has ${what}`, { code: 'too-large', isUnanswered: false })
}

/** A connection that failed before the request was on its way cost nothing; after that a provider may have begun. */
function brokenBy(error: unknown, isAnswered: boolean, request: ClientRequest | null): UpstreamError {
  const { code, message } = error as { code?: unknown; message?: unknown }
  const said = [code, message].filter((part) => typeof part === 'string' && part !== '').join(': ')
  const why = (said || 'unknown reason').slice(0, 300)
  if (isAnswered) return new UpstreamError(`the answer broke off: ${why}`, { isUnanswered: false })
  // Also on a kept connection: whether the server had closed it before, or read the request and then broke off, does not show.
  return new UpstreamError(`the connection failed: ${why}`, { isUnanswered: !wasSent(request) })
}

function wasSent(request: ClientRequest | null): boolean {
  return request?.writableFinished === true && request.socket?.connecting === false
}

/** A call that was cut before its request was on its way cost nothing. */
function notSent(reason: unknown): unknown {
  return reason instanceof UpstreamError
    ? new UpstreamError(reason.message, { code: reason.code, isUnanswered: true })
    : reason
}
