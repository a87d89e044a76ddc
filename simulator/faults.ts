import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import type { Answer, OutputItem } from './answer.ts'
import { ApiError } from './errors.ts'
import { openStream, type Reader, sendJson } from './sending.ts'
import type { Counts } from './usage.ts'

/** What may go wrong with one request, at the places where it may. */
export interface Fault {
  /** Answers instead of the model. */
  instead?: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void
  /** Wait before the answer begins. */
  waitMs?: number
  /** What the model says instead of what it would say. */
  answer?: (answer: Answer) => Answer
  /** What is reported instead of what was counted; null: nothing. */
  counts?: (counts: Counts) => Counts | null
  /** The stream's blocks, changed one by one. */
  block?: (block: string) => string
  /** Writes the blocks (of an answer that is not streamed: its one text) in a manner of its own, and ends or cuts. */
  write?: (blocks: readonly string[], reader: Reader) => Promise<void>
}

const mebibyte = 1024 * 1024

// `…` of an answer that grows without end is written with back-pressure, and until the reader has gone.
export const faults: Readonly<Record<string, Fault>> = {
  '401': failure(401, 'Incorrect API key provided.', 'invalid_api_key'),
  '401-echo': {
    instead: ({ headers }, response) =>
      sendError(response, 401, `Incorrect API key provided: ${headers.authorization}.`, 'invalid_api_key'),
  },
  '429': failure(429, 'Rate limit reached.', 'rate_limit_exceeded'),
  '429-after-1': failure(429, 'Rate limit reached.', 'rate_limit_exceeded', () => '1'),
  '429-after-86400': failure(429, 'Rate limit reached.', 'rate_limit_exceeded', () => '86400'),
  '429-after-date': failure(429, 'Rate limit reached.', 'rate_limit_exceeded', () =>
    new Date(Date.now() + 2000).toUTCString(),
  ),
  '429-after-negative': failure(429, 'Rate limit reached.', 'rate_limit_exceeded', () => '-5'),
  '429-after-garbage': failure(429, 'Rate limit reached.', 'rate_limit_exceeded', () => 'after lunch'),
  '500': failure(500, 'The server had an error while processing your request.', null),
  overflow: failure(400, 'Your input exceeds the context window of this model.', 'context_length_exceeded'),
  refused: { instead: (request) => void request.socket.destroy() },
  redirect: {
    // To where it would be answered, so that whoever follows it is found out.
    instead: ({ url }, response) =>
      void response.writeHead(307, { location: (url ?? '/').replaceAll(/\/fault\/[^/]*/g, '') }).end(),
  },
  'content-type': {
    instead: (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>'),
  },
  comments: {
    async instead(_, response) {
      const reader = openStream(response)
      while (await reader.write(': keep-alive\n\n')) await setTimeout(20)
    },
  },
  'huge-line': {
    async instead(_, response) {
      const reader = openStream(response)
      const part = 'x'.repeat(mebibyte)
      let isRead = await reader.write('data: "')
      for (let written = 0; isRead && written < 96; written += 1) isRead = await reader.write(part)
      if (isRead) response.end('"\n\n')
    },
  },
  'gzip-bomb': {
    async instead(_, response) {
      const { gone } = openStream(response, { 'content-encoding': 'gzip' })
      const gzip = createGzip()
      gzip.pipe(response)
      const part = Buffer.alloc(mebibyte, ':')
      for (let written = 0; written < 1024 && !response.destroyed; written += 1) {
        await Promise.race([gone, new Promise<void>((resolve) => gzip.write(part, () => resolve()))])
      }
      gzip.end('\n\n')
    },
  },
  'slow-first-byte': { waitMs: 20_000 },
  stall: {
    async write(blocks, reader) {
      await writeHalf(blocks, reader)
      await reader.gone
    },
  },
  cut: {
    async write(blocks, reader) {
      await writeHalf(blocks, reader)
      reader.cut()
    },
  },
  endless: {
    async write(blocks, reader) {
      const middle = Math.floor(blocks.length / 2)
      await reader.write(blocks.slice(0, middle).join(''))
      const again = blocks[middle] ?? ''
      while (await reader.write(again)) await setTimeout(1)
    },
  },
  'malformed-sse': {
    async write(blocks, reader) {
      const middle = Math.ceil(blocks.length / 2)
      await reader.write(blocks.slice(0, middle).join(''))
      await reader.write('event\ndata: {"type":"response.output_text.del\ndata\n\n')
      await reader.write(blocks.slice(middle).join(''))
    },
  },
  'no-end-mark': { block: (block) => (endMark.test(block) ? '' : block) },
  'no-done': { block: (block) => (block.startsWith('data: [DONE]') ? '' : block) },
  'usage-missing': { counts: () => null },
  'usage-zero': { counts: () => ({ input: 0, cached: 0, output: 0, reasoning: 0 }) },
  'usage-negative': { counts: (counts) => ({ ...counts, input: -counts.input }) },
  'usage-huge': { counts: (counts) => ({ ...counts, input: 1e18, output: 1e18 }) },
  'usage-cached': { counts: (counts) => ({ ...counts, cached: counts.input + 1 }) },
  'duplicate-index': {
    // Two calls that cannot be told apart by their place in the stream.
    answer: (answer) => ({ ...answer, output: twice(answer.output) }),
    block: (block) =>
      block
        .replace(/"tool_calls":\[\{"index":\d+/, '"tool_calls":[{"index":0')
        .replace(/"output_index":\d+/, '"output_index":0'),
  },
  'half-call': changedCall(half),
  'unknown-tool': changedCall((call) => ({ ...call, name: 'no_such_tool' })),
  'max-tokens': {
    answer: (answer) => {
      const output = answer.output.map((item, at) => {
        const isLast = at === answer.output.length - 1
        return isLast && item.type !== 'reasoning' ? { ...half(item), status: 'incomplete' as const } : item
      })
      return { ...answer, isComplete: false, output }
    },
  },
  empty: { answer: (answer) => ({ ...answer, output: [] }) },
  refusal: {
    answer: (answer) => ({
      ...answer,
      output: [
        {
          type: 'message',
          id: answer.id.replace('resp_', 'msg_'),
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'refusal', refusal: "I can't help with that." }],
        },
      ],
    }),
  },
}

/** Unescaped quotes do not occur within strings: these match the block's own fields and nothing that a model said. */
const endMark = /^event: response\.(completed|incomplete)\n|"finish_reason":"|"choices":\[\]|^data: \[DONE\]/

function failure(status: number, message: string, code: string | null, retryAfter?: () => string): Fault {
  return { instead: (_, response) => sendError(response, status, message, code, retryAfter?.()) }
}

function sendError(
  response: ServerResponse,
  status: number,
  message: string,
  code: string | null,
  retryAfter?: string,
): void {
  const { body } = new ApiError(status, message, code === null ? {} : { code })
  sendJson(response, status, body, retryAfter === undefined ? {} : { 'retry-after': retryAfter })
}

/** Half of the blocks, and half of the next. */
async function writeHalf(blocks: readonly string[], reader: Reader): Promise<void> {
  const whole = Math.floor(blocks.length / 2)
  const next = blocks[whole] ?? ''
  await reader.write(blocks.slice(0, whole).join('') + next.slice(0, next.length / 2))
}

type Called = Extract<OutputItem, { type: 'function_call' | 'custom_tool_call' }>

function isCall(item: OutputItem): item is Called {
  return item.type === 'function_call' || item.type === 'custom_tool_call'
}

function changedCall(change: (call: Called) => OutputItem): Fault {
  return {
    answer: (answer) => {
      const last = answer.output.findLastIndex(isCall)
      return { ...answer, output: answer.output.map((item, at) => (at === last && isCall(item) ? change(item) : item)) }
    },
  }
}

function half(item: OutputItem): OutputItem {
  if (item.type === 'function_call') return { ...item, arguments: item.arguments.slice(0, item.arguments.length / 2) }
  if (item.type === 'custom_tool_call') return { ...item, input: item.input.slice(0, item.input.length / 2) }
  return item
}

function twice(output: readonly OutputItem[]): OutputItem[] {
  const last = output.findLast(isCall)
  return last === undefined ? [...output] : [...output, { ...last, id: `${last.id}b`, call_id: `${last.call_id}b` }]
}
