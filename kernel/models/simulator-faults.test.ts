// The gateway against a real process that fails in each way that the simulator knows, over both APIs.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { createModelCards, parseModelCards } from './cards.ts'
import { createGateway, type GatewayLimits } from './gateway.ts'
import type { Attempt, GatewayAnswer } from './models.ts'
import { createPriceTable } from './prices.ts'
import { createTokenCounter } from './tokens.ts'

const key = 'sk-canary-0123456789abcdef'
let simulator: ChildProcess
let origin: string
const cards = createModelCards()

beforeAll(async () => {
  const main = join(import.meta.dirname, '../../simulator/main.ts')
  const child = spawn(process.execPath, [main], { stdio: ['pipe', 'pipe', 'inherit'] })
  simulator = child
  const [line] = await once(createInterface(child.stdout), 'line')
  const { url } = JSON.parse(line)
  origin = new URL(url).origin
  cards.add(parseModelCards(await (await fetch(`${url}/models`)).json()))
})
afterAll(async () => {
  simulator.stdin?.end()
  await once(simulator, 'exit')
})

/** Small, so that what never ends is over soon. */
const limits: GatewayLimits = { idleMs: 1_000, totalMs: 6_000, retries: 1, answerBytes: 1_000_000, lineBytes: 100_000 }

const decision = { text: 'I look around.', toolCalls: [{ name: 'shell', arguments: { command: 'ls -l' } }] }
const script = `\`\`\`script\n${JSON.stringify([decision])}\n\`\`\``
const bodies = {
  responses: { model: 'sim-script', input: script, tools: [{ type: 'function', name: 'shell', parameters: {} }] },
  chat: {
    model: 'sim-script',
    messages: [{ role: 'user', content: script }],
    tools: [{ type: 'function', function: { name: 'shell' } }],
  },
}
type Api = keyof typeof bodies

async function call(
  api: Api,
  fault: string | null,
  over: { limits?: Partial<GatewayLimits>; signal?: AbortSignal } = {},
) {
  const gateway = createGateway({
    clock: systemClock,
    cards,
    counter: createTokenCounter(),
    prices: createPriceTable({ cards }),
    keys: async () => key,
    redact: (text) => text.replaceAll(key, '[key]'),
    keyStart: () => 0,
    limits: { ...limits, ...over.limits },
  })
  gateway.openBudget('T-1', { limitNanoUsd: 5_000_000_000, limitTokens: null, spentNanoUsd: 0, spentTokens: 0 })
  const attempts: Attempt[] = []
  const baseUrl = `${origin}${fault === null ? '' : `/fault/${fault}`}/v1`
  const answer = await gateway.call({
    agent: 'A',
    task: 'T-1',
    model: { name: 'sim-script', api, baseUrl, keyEnv: 'KEY', simulated: true },
    body: bodies[api],
    signal: over.signal ?? new AbortController().signal,
    onAttempt: async (attempt) => void attempts.push(attempt),
  })
  // Whatever happens: nothing stays reserved, what was spent is what the attempts cost, and no text holds the key.
  const cost = attempts.reduce((sum, attempt) => sum + (attempt.costNanoUsd ?? 0), 0)
  expect(gateway.budget('T-1')).toMatchObject({ reservedNanoUsd: 0, reservedTokens: 0, spentNanoUsd: cost })
  expect(attempts).toHaveLength(answer.attempts)
  expect(JSON.stringify([answer, attempts])).not.toContain(key)
  return { answer, attempts }
}

/** What the model said, in short. */
function said(api: Api, { response }: GatewayAnswer): unknown[] {
  if (api === 'responses') {
    const output = (response?.output ?? []) as { type: string; name?: string; arguments?: string; status?: string }[]
    return output.map((item) => (item.type === 'function_call' ? [item.name, item.arguments] : item.type))
  }
  const [choice] = (response?.choices ?? []) as { message: { content?: string; refusal?: string; tool_calls?: [] } }[]
  const { content, refusal, tool_calls: calls = [] } = choice?.message ?? {}
  const called = calls.map((made: { function: { name: string; arguments: string } }) => Object.values(made.function))
  return [...(content || refusal ? ['message'] : []), ...called]
}

describe.each<Api>(['responses', 'chat'])('a service over %s', (api) => {
  it('that answers is the control: whole, reported and priced', async () => {
    const { answer } = await call(api, null)
    expect(answer).toMatchObject({ status: 'completed', attempts: 1, usageSource: 'reported', error: null })
    expect(said(api, answer)).toEqual(['message', ['shell', '{"command":"ls -l"}']])
    expect(answer.costNanoUsd).toBeGreaterThan(0)
  })

  it.each([
    ['[F18]', '401', 'forbidden', 1, /Incorrect API key/],
    ['[F18]', '401-echo', 'forbidden', 1, /Incorrect API key/],
    ['[M8] [F17]', '429', 'unavailable', 2, /Rate limit/],
    ['[M8] [F17]', '429-after-1', 'unavailable', 2, /Rate limit/],
    ['[M8] [F17]', '429-after-date', 'unavailable', 2, /Rate limit/],
    ['[M8] [F17]', '429-after-negative', 'unavailable', 2, /Rate limit/],
    ['[M8] [F17]', '429-after-garbage', 'unavailable', 2, /Rate limit/],
    // The wait would outlast the call.
    ['[M8] [F17]', '429-after-86400', 'unavailable', 1, /Rate limit/],
    ['[M8] [F18]', '500', 'unavailable', 2, /had an error/],
    ['[F18]', 'overflow', 'invalid', 1, /context window/],
    ['[F18]', 'redirect', 'unavailable', 1, /redirect/],
  ])('%s %s is told as %s after %i attempts, and costs nothing', async (_, fault, code, count, words) => {
    const { answer, attempts } = await call(api, fault)
    expect(answer).toMatchObject({ status: 'failed', response: null, usageSource: 'none', costNanoUsd: 0 })
    expect(answer.error).toMatchObject({ code, message: expect.stringMatching(words) })
    expect(attempts.map(({ status, usageSource }) => [status, usageSource])).toEqual(
      Array.from({ length: count }, () => ['failed', 'none']),
    )
  })

  it.each([
    ['refused', 2, /connection/],
    ['content-type', 1, /text\/html/],
  ])(
    '[F18] %s is told after %i attempts, and estimated, since the request had arrived',
    async (fault, count, words) => {
      const { answer, attempts } = await call(api, fault)
      expect(answer).toMatchObject({ status: 'failed', response: null, usageSource: 'estimated' })
      expect(answer.error).toMatchObject({ code: 'unavailable', message: expect.stringMatching(words) })
      expect(attempts).toHaveLength(count)
    },
  )

  it('[F17] that asks to wait for a day is left at once when the call is cancelled', async () => {
    const stop = new AbortController()
    const calling = call(api, '429-after-86400', { limits: { totalMs: 86_400_000 }, signal: stop.signal })
    setTimeout(() => stop.abort(), 200)
    expect((await calling).answer).toMatchObject({ status: 'aborted', attempts: 1, error: { code: 'cancelled' } })
  })

  it.each([
    ['slow-first-byte', /nothing came/],
    ['stall', /nothing came/],
    ['comments', /nothing came/],
    ['endless', /longer than it may|more than 1000000 bytes/],
    ['huge-line', /a line of more than|more than/],
    ['gzip-bomb', /more than|gzip/],
    ['cut', /broke off|connection/],
    ['malformed-sse', /.+/],
    ['no-end-mark', /without its end mark/],
  ])('[F18] [F19] %s is no whole answer, and is estimated', async (fault, words) => {
    const { answer, attempts } = await call(api, fault, { limits: { retries: 0 } })
    expect(['failed', 'incomplete']).toContain(answer.status)
    expect(answer.error?.code).toBe('unavailable')
    expect(attempts).toMatchObject([{ error: expect.stringMatching(words), usageSource: 'estimated' }])
    expect(attempts[0]?.usage?.uncached).toBeGreaterThan(0)
  })

  it.each(['usage-missing', 'usage-zero', 'usage-negative', 'usage-huge', 'usage-cached'])(
    '[M7] %s gives way to an estimate that is bounded',
    async (fault) => {
      const { answer } = await call(api, fault)
      const honest = (await call(api, null)).answer
      expect(answer).toMatchObject({ status: 'completed', usageSource: 'estimated' })
      const tokens = (given: GatewayAnswer) => (given.usage?.uncached ?? 0) + (given.usage?.output ?? 0)
      expect(tokens(answer)).toBeGreaterThan(0)
      expect(tokens(answer)).toBeLessThan(3 * tokens(honest))
    },
  )

  it('that puts two calls in one place still has two, each with its own arguments and id', async () => {
    const { answer } = await call(api, 'duplicate-index')
    const whole = ['shell', '{"command":"ls -l"}']
    expect(said(api, answer)).toEqual(['message', whole, whole])
    const ids = JSON.stringify(answer.response).match(/"call_[0-9a-f]+b?"/g)
    expect(new Set(ids).size).toBe(2)
  })

  it.each([
    ['half-call', 'completed', ['message', ['shell', '{"command']]],
    ['unknown-tool', 'completed', ['message', ['no_such_tool', '{"command":"ls -l"}']]],
    ['empty', 'completed', []],
    ['refusal', 'completed', ['message']],
  ])('whose model errs by %s is handed on as it is', async (fault, status, expected) => {
    const { answer } = await call(api, fault)
    expect(answer).toMatchObject({ status, usageSource: 'reported' })
    expect(said(api, answer)).toEqual(expected)
  })

  it('whose model is cut off says so', async () => {
    const { answer } = await call(api, 'max-tokens')
    expect(answer).toMatchObject({ status: 'incomplete', error: null, usageSource: 'reported' })
  })
})

it('[F19] a stream of chunks with a finish reason and no [DONE] is all there, and not known to be', async () => {
  const { answer } = await call('chat', 'no-done')
  expect(answer.status).toBe('incomplete')
  expect(said('chat', answer)).toEqual(['message', ['shell', '{"command":"ls -l"}']])
})
