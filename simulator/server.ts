import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { buildAnswer } from './answer.ts'
import { chatBlocks, chatCompletion } from './chat.ts'
import { parseChatRequest } from './chat-request.ts'
import { type Conditions, ordinary, readPath } from './conditions.ts'
import { ApiError } from './errors.ts'
import { type Fault, faults } from './faults.ts'
import { withNoise } from './players/noise.ts'
import type { RegisteredPlayer } from './players/player.ts'
import { createPromptCache } from './prompt-cache.ts'
import { createRandom } from './random.ts'
import { type ParsedRequest, parseResponsesRequest, type Tokenise } from './request.ts'
import { type ResponseFacts, responseBlocks, responseObject } from './responses.ts'
import { openStream, type Reader, readerOf, sendJson } from './sending.ts'
import { createStretches } from './tokens.ts'
import type { Counts } from './usage.ts'

const maxBodyBytes = 64 * 1024 * 1024

/** USD per million tokens. The card is the simulator's own: figures derived from it are labelled simulated. */
const pricing = { input: 1.25, cached_input: 0.125, output: 10 }

export interface SimulatorOptions {
  players: Record<string, RegisteredPlayer>
  /** How long an unused prompt stays in the prompt cache. */
  cacheLifetimeMs: number
  /** What holds where a base URL says nothing else. */
  conditions?: Partial<Conditions>
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

/** Requests of which it is known how often they came. */
const triesKept = 10_000

/** An OpenAI-compatible model server. Not listening yet; it has no state but its prompt cache and how often a request came. */
export function createSimulator({ players, cacheLifetimeMs, conditions: given, now }: SimulatorOptions): Server {
  const cache = createPromptCache(now, cacheLifetimeMs)
  const tokenise = createStretches()
  const tries = new Map<string, number>()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1')
    const { conditions, path } = readPath(pathname, { ...ordinary, ...given })
    if (request.method === 'GET' && path === '/models')
      return sendJson(response, 200, { object: 'list', data: modelCards(players) })
    const api = Object.hasOwn(apis, path) ? apis[path] : undefined
    if (request.method !== 'POST' || api === undefined)
      throw new ApiError(404, `Invalid URL (${request.method} ${request.url}).`)
    const parsed = api.parse(parseBody(await readBody(request)), conditions.seed, tokenise)
    const player = playerOf(parsed.player.model)
    const requestHash = hash(
      'sha256',
      [conditions.seed, parsed.player.model, ...parsed.prompt.map((stretch) => stretch.key)].join('\n'),
    )
    const fault = faultOf(conditions, requestHash)
    if (fault.instead !== undefined) return fault.instead(request, response)
    const facts = factsOf(api, parsed, player, conditions, requestHash, fault)
    const draw = createRandom(`${conditions.seed} delay`).float(requestHash) + 0.5
    const waitMs = conditions.thinkMs * draw + (fault.waitMs ?? 0)
    if (waitMs > 0) await setTimeout(waitMs)
    const paceMs = conditions.perTokenMs * draw * facts.answer.outputTokens
    if (parsed.stream) return sendBlocks(response, [...api.stream(facts, parsed.streamsUsage)], fault, paceMs)
    if (paceMs > 0) await setTimeout(paceMs)
    if (fault.write === undefined) return sendJson(response, 200, api.whole(facts))
    response.writeHead(200, { 'content-type': 'application/json' })
    await fault.write([JSON.stringify(api.whole(facts))], readerOf(response))
    response.end()
  }

  function playerOf(model: string): RegisteredPlayer {
    const player = Object.hasOwn(players, model) ? players[model] : undefined
    if (player !== undefined) return player
    throw new ApiError(404, `The model '${model}' does not exist here; GET /v1/models lists those that do.`, {
      code: 'model_not_found',
      param: 'model',
    })
  }

  /** The server's own, not the player's: the same request, sent again, may fare better. */
  function faultOf({ faults: names, faultRate, seed }: Conditions, requestHash: string): Fault {
    const tried = tries.get(requestHash) ?? 0
    tries.delete(requestHash)
    tries.set(requestHash, tried + 1)
    for (const oldest of tries.keys()) {
      if (tries.size <= triesKept) break
      tries.delete(oldest)
    }
    const random = createRandom(`${seed} fault ${requestHash}`)
    if (names.length === 0 || random.float(`${tried}`) >= faultRate) return {}
    return faults[names[random.int(`which ${tried}`, names.length)] ?? ''] ?? {}
  }

  function factsOf(
    api: Api,
    { player: request, prompt, cacheKey, maxOutputTokens, parallelToolCalls }: ParsedRequest,
    player: RegisteredPlayer,
    { seed, random, noise }: Conditions,
    requestHash: string,
    fault: Fault,
  ): ResponseFacts {
    const { model, tools } = request
    const input = prompt.reduce((sum, stretch) => sum + stretch.tokens.length, 0)
    if (input > player.contextWindow)
      throw new ApiError(
        400,
        `This model's context window is ${player.contextWindow} tokens; the input has ${input}.`,
        {
          code: 'context_length_exceeded',
          param: api.items,
        },
      )
    const play = noise > 0 ? withNoise(player.play, noise) : player.play
    const decision = play(request, createRandom(random === 'paired' ? `${seed}` : `${seed} ${cacheKey ?? ''}`))
    const said = buildAnswer(decision, {
      requestHash,
      tools,
      maxOutputTokens: Math.min(maxOutputTokens ?? player.maxOutputTokens, player.maxOutputTokens),
      parallelToolCalls,
    })
    const counts: Counts = {
      input,
      cached: cache.read(`${model} ${cacheKey ?? `seed ${seed}`}`, prompt),
      output: said.outputTokens,
      reasoning: said.reasoningTokens,
    }
    return {
      model,
      createdAt: Math.floor(Date.now() / 1000),
      answer: fault.answer?.(said) ?? said,
      usage: fault.counts === undefined ? counts : fault.counts(counts),
    }
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

async function sendBlocks(
  response: ServerResponse,
  blocks: readonly string[],
  { block: change = (block) => block, write = writeAll }: Fault,
  paceMs: number,
): Promise<void> {
  const reader = openStream(response)
  const slowly: Reader['write'] = async (text) => {
    await setTimeout(paceMs / blocks.length)
    return reader.write(text)
  }
  await write(blocks.map(change), paceMs > 0 ? { ...reader, write: slowly } : reader)
  response.end()
}

async function writeAll(blocks: readonly string[], reader: Reader): Promise<void> {
  for (const block of blocks) if (!(await reader.write(block))) return
}
