import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A provider for tests, on loopback: answers as each test says, and keeps what it was sent. */
export interface FakeUpstream {
  baseUrl: string
  requests: { path: string; headers: IncomingHttpHeaders; body: Record<string, unknown> }[]
  /** How the next requests are answered, in order; the last one serves all that follow. */
  answerWith(...answers: FakeAnswer[]): void
  close(): Promise<void>
}

export type FakeAnswer = (response: ServerResponse) => void | Promise<void>

export async function startFakeUpstream(): Promise<FakeUpstream> {
  let answers: FakeAnswer[] = [streamed(textAnswer('hello'))]
  const requests: FakeUpstream['requests'] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    requests.push({
      path: request.url ?? '',
      headers: request.headers,
      body: JSON.parse(Buffer.concat(chunks).toString() || '{}'),
    })
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    await answer?.(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    answerWith: (...next) => {
      answers = next
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export const plausibleUsage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 64, cache_write_tokens: 0 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 120,
}

type StreamEvent = Record<string, unknown>

/** The events of an answer that says `text`. @param usage as the final event reports it; undefined: not at all. */
export function textAnswer(text: string, usage: unknown = plausibleUsage): StreamEvent[] {
  const item = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  }
  const response = { id: 'resp_1', object: 'response', model: 'm', status: 'completed', error: null }
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
    { type: 'response.output_text.delta', output_index: 0, item_id: 'msg_1', content_index: 0, delta: text },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...response, output: [item], usage } },
  ]
}

export function frame(event: StreamEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** Opens an event stream and leaves it open. */
export function begin(response: ServerResponse): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  return response
}

export function streamed(events: StreamEvent[]): FakeAnswer {
  return (response) => {
    begin(response).end(events.map(frame).join(''))
  }
}

export function refusedWith(status: number, message: string, headers: Record<string, string> = {}): FakeAnswer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ error: { message, type: 'x', code: null, param: null } }))
  }
}
