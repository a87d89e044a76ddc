import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { buildAnswer } from './answer.ts'
import { chatBlocks, chatCompletion } from './chat.ts'
import { parseChatRequest } from './chat-request.ts'
import { ApiError } from './errors.ts'
import type { RegisteredPlayer } from './players/player.ts'
import { createPromptCache } from './prompt-cache.ts'
import { createRandom } from './random.ts'
import { type ParsedRequest, parseResponsesRequest, type Tokenise } from './request.ts'
import { type ResponseFacts, responseBlocks, responseObject } from './responses.ts'
import { createStretches } from './tokens.ts'

const maxBodyBytes = 64 * 1024 * 1024

/** USD per million tokens. The card is the simulator's own: figures derived from it are labelled simulated. */
const pricing = { input: 1.25, cached_input: 0.125, output: 10 }

export interface SimulatorOptions {
  players: Record<string, RegisteredPlayer>
  /** How long an unused prompt stays in the prompt cache. */
  cacheLifetimeMs: number
  /** How long a model takes before its answer begins. Default 0. */
  thinkMs?: number
  /** Monotonic milliseconds. */
  now: () => number
}

/** How one of the two APIs is read and spoken. */
interface Api {
  parse: (body: Record<string, unknown>, seed: number, tokenise: Tokenise) => ParsedRequest
  /** The field that holds the prompt's items. */
  items: string
  whole: (facts: ResponseFacts) => Record<string, unknown>
  stream: (facts: ResponseFacts, withUsage: boolean) => Iterable<string>
}

const apis: Record<string, Api | undefined> = {
  '/responses': { parse: parseResponsesRequest, items: 'input', whole: responseObject, stream: responseBlocks },
  '/chat/completions': { parse: parseChatRequest, items: 'messages', whole: chatCompletion, stream: chatBlocks },
}

/** An OpenAI-compatible model server. Not listening yet; it has no state but its prompt cache. */
export function createSimulator({ players, cacheLifetimeMs, thinkMs = 0, now }: SimulatorOptions): Server {
  const cache = createPromptCache(now, cacheLifetimeMs)
  const tokenise = createStretches()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { seed, path } = route(request)
    if (request.method === 'GET' && path === '/models')
      return sendJson(response, 200, { object: 'list', data: modelCards(players) })
    const api = apis[path]
    if (request.method === 'POST' && api !== undefined) return respond(api, await readBody(request), seed, response)
    throw new ApiError(404, `Invalid URL (${request.method} ${request.url}).`)
  }

  async function respond(api: Api, bodyText: string, seed: number, response: ServerResponse): Promise<void> {
    const parsed = api.parse(parseBody(bodyText), seed, tokenise)
    const { model } = parsed.player
    const player = Object.hasOwn(players, model) ? players[model] : undefined
    if (player === undefined)
      throw new ApiError(404, `The model '${model}' does not exist here; GET /v1/models lists those that do.`, {
        code: 'model_not_found',
        param: 'model',
      })
    const inputTokens = parsed.prompt.reduce((sum, stretch) => sum + stretch.tokens.length, 0)
    if (inputTokens > player.contextWindow)
      throw new ApiError(
        400,
        `This model's context window is ${player.contextWindow} tokens; the input has ${inputTokens}.`,
        { code: 'context_length_exceeded', param: api.items },
      )
    const facts: ResponseFacts = {
      model,
      createdAt: Math.floor(Date.now() / 1000),
      inputTokens,
      cachedTokens: cache.read(`${model} ${parsed.cacheKey ?? `seed ${seed}`}`, parsed.prompt),
      answer: buildAnswer(player.play(parsed.player, createRandom(`${seed}`)), {
        requestHash: hash('sha256', [seed, model, ...parsed.prompt.map((stretch) => stretch.key)].join('\n')),
        tools: parsed.player.tools,
        maxOutputTokens: Math.min(parsed.maxOutputTokens ?? player.maxOutputTokens, player.maxOutputTokens),
        parallelToolCalls: parsed.parallelToolCalls,
      }),
    }
    if (thinkMs > 0) await setTimeout(thinkMs)
    return parsed.stream
      ? sendBlocks(response, api.stream(facts, parsed.streamsUsage))
      : sendJson(response, 200, api.whole(facts))
  }

  return createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent) return response.destroy()
      const known =
        error instanceof ApiError
          ? error
          : new ApiError(500, `The simulator failed: ${error instanceof Error ? error.stack : error}`)
      return sendJson(response, known.status, known.body)
    })
  })
}

/** `/v1/…` or `/seed/N/v1/…`. */
function route(request: IncomingMessage): { seed: number; path: string } {
  const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1')
  const match = /^(?:\/seed\/(\d{1,15}))?\/v1(\/.*)$/.exec(pathname)
  if (match === null) throw new ApiError(404, `Invalid URL (${request.method} ${pathname}).`)
  return { seed: Number(match[1] ?? 0), path: match[2] ?? '' }
}

function modelCards(players: Record<string, RegisteredPlayer>): unknown[] {
  return Object.entries(players).map(([id, { contextWindow, maxOutputTokens }]) => ({
    id,
    object: 'model',
    created: 0,
    owned_by: 'exodesk-simulator',
    context_window: contextWindow,
    max_output_tokens: maxOutputTokens,
    pricing,
    simulated: true,
  }))
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > maxBodyBytes) throw new ApiError(413, `The body is larger than ${maxBodyBytes} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseBody(text: string): Record<string, unknown> {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (error) {
    throw new ApiError(
      400,
      `We could not parse the JSON body of your request: ${error instanceof Error ? error.message : error}`,
    )
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(400, 'The body must be a JSON object.')
  return body as Record<string, unknown>
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    .end(text)
}

/** @param blocks of a stream of server-sent events, as they go over the wire. */
async function sendBlocks(response: ServerResponse, blocks: Iterable<string>): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  for (const block of blocks) {
    if (response.destroyed) return
    if (!response.write(block)) await Promise.race([once(response, 'drain'), once(response, 'close')])
  }
  response.end()
}
