import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { keysFromEnvironment } from '../credentials/environment.ts'
import type { ModelChoice } from '../wire/events.ts'
import { createModelCards } from './cards.ts'
import {
  begin,
  type FakeUpstream,
  frame,
  plausibleUsage,
  refusedWith,
  startFakeUpstream,
  streamed,
  textAnswer,
} from './fake-upstream.ts'
import { createGateway, type GatewayLimits } from './gateway.ts'
import type { Attempt, Gateway, GatewayCall } from './models.ts'
import { createPriceTable } from './prices.ts'
import { createTokenCounter } from './tokens.ts'

const key = 'sk-canary-0123456789/+='
let upstream: FakeUpstream
let attempts: Attempt[]

beforeEach(async () => {
  upstream = await startFakeUpstream()
  attempts = []
})
afterEach(() => upstream.close())

function openGateway(options: { limits?: Partial<GatewayLimits>; priced?: boolean } = {}): Gateway {
  const keys = keysFromEnvironment({ THE_KEY: key })
  const gateway = createGateway({
    clock: systemClock,
    cards: createModelCards(),
    counter: createTokenCounter(),
    prices: createPriceTable({
      cards: createModelCards(),
      overrides:
        options.priced === false
          ? []
          : [{ name: 'm', baseUrl: upstream.baseUrl, input: 1, cachedInput: 0.1, output: 8, since: '2026-01-01' }],
    }),
    keys: keys.get,
    redact: keys.redact,
    ...(options.limits ? { limits: options.limits } : {}),
  })
  gateway.openBudget('T-1', { limitNanoUsd: null, limitTokens: null, spentNanoUsd: 0, spentTokens: 0 })
  return gateway
}

function aCall(call: Partial<Omit<GatewayCall, 'model'>> & { model?: Partial<ModelChoice> } = {}): GatewayCall {
  return {
    agent: 'A',
    task: 'T-1',
    signal: new AbortController().signal,
    onAttempt: async (attempt) => void attempts.push(attempt),
    ...call,
    model: {
      name: 'm',
      api: 'responses',
      baseUrl: upstream.baseUrl,
      keyEnv: 'THE_KEY',
      simulated: false,
      ...call.model,
    },
    body: { model: 'm', input: 'hi', ...call.body },
  }
}

describe('a call that goes well', () => {
  it('streams upstream without storage, passes on what grows and answers with the whole response', async () => {
    const deltas: unknown[] = []
    const answer = await openGateway().call(aCall({ onDelta: (delta) => void deltas.push(delta) }))
    expect(upstream.requests).toHaveLength(1)
    expect(upstream.requests[0]?.path).toBe('/v1/responses')
    expect(upstream.requests[0]?.body).toEqual({ model: 'm', input: 'hi', stream: true, store: false })
    expect(upstream.requests[0]?.headers.authorization).toBe(`Bearer ${key}`)
    expect(deltas).toEqual([{ type: 'text', text: 'hello' }])
    expect(answer).toMatchObject({ status: 'completed', attempts: 1, error: null, usageSource: 'reported' })
    expect(answer.response?.output).toHaveLength(1)
  })

  it('meters disjoint buckets in integer nano-dollars and names the price table', async () => {
    const answer = await openGateway().call(aCall())
    expect(answer.usage).toEqual({ uncached: 36, cacheRead: 64, cacheWrite: 0, output: 20, reasoning: 5 })
    expect(answer.costNanoUsd).toBe(36 * 1000 + 64 * 100 + 20 * 8000)
    expect(answer.priceVersion).toContain('genai-prices')
    expect(attempts).toMatchObject([
      { attempt: 1, status: 'completed', httpStatus: 200, costNanoUsd: answer.costNanoUsd },
    ])
  })

  it('says that a cost is unknown, and why, where no price is known', async () => {
    const answer = await openGateway({ priced: false }).call(aCall())
    expect(answer.costNanoUsd).toBeNull()
    expect(answer.costReason).toContain('lists no provider at 127.0.0.1')
    expect(answer.priceVersion).toBeNull()
  })

  it('stops reading from upstream while the reader is busy', async () => {
    let release = () => {}
    const busy = new Promise<void>((resolve) => {
      release = resolve
    })
    const seen: string[] = []
    const [created, added, first, ...rest] = textAnswer('one')
    upstream.answerWith(
      streamed([created, added, first, { ...first, delta: 'two' }, ...rest] as Record<string, unknown>[]),
    )
    const call = openGateway({ limits: { idleMs: 50 } }).call(
      aCall({
        onDelta: (delta) => {
          seen.push(delta.text)
          return seen.length === 1 ? busy : undefined
        },
      }),
    )
    // Longer than the idle limit: a slow reader is not a silent provider.
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(seen).toEqual(['one'])
    release()
    expect(await call).toMatchObject({ status: 'completed' })
    expect(seen).toEqual(['one', 'two'])
  })
})

describe('the key', () => {
  it('goes to the chosen endpoint alone, whatever the environment says', async () => {
    const capture = await startFakeUpstream()
    const logged: unknown[] = []
    const methods = ['log', 'info', 'warn', 'error', 'debug'] as const
    const originals = methods.map((name) => console[name])
    for (const name of methods) console[name] = (...words: unknown[]) => void logged.push(words)
    const hostile = {
      OPENAI_BASE_URL: capture.baseUrl,
      OPENAI_CUSTOM_HEADERS: 'X-Leak: 1\nAuthorization: Bearer other',
      OPENAI_LOG: 'debug',
      OPENAI_ORG_ID: 'org-leak',
      OPENAI_PROJECT_ID: 'proj-leak',
      OPENAI_ADMIN_KEY: 'admin-leak',
      HTTPS_PROXY: capture.baseUrl,
      HTTP_PROXY: capture.baseUrl,
    }
    Object.assign(process.env, hostile)
    try {
      const answer = await openGateway().call(aCall())
      expect(answer.status).toBe('completed')
    } finally {
      for (const name of Object.keys(hostile)) delete process.env[name]
      for (const [index, name] of methods.entries()) console[name] = originals[index] as typeof console.log
      await capture.close()
    }
    expect(capture.requests).toEqual([])
    expect(logged).toEqual([])
    const headers = upstream.requests[0]?.headers ?? {}
    expect(headers.authorization).toBe(`Bearer ${key}`)
    expect(Object.keys(headers).filter((name) => /leak|openai|stainless/.test(name))).toEqual([])
  })

  it('does not follow a redirect', async () => {
    const elsewhere = await startFakeUpstream()
    upstream.answerWith(
      (response) => void response.writeHead(307, { location: `${elsewhere.baseUrl}/responses` }).end(),
    )
    const answer = await openGateway().call(aCall())
    await elsewhere.close()
    expect(elsewhere.requests).toEqual([])
    expect(answer).toMatchObject({ status: 'failed', attempts: 1 })
    expect(answer.error?.message).toContain('redirect')
  })

  it('is masked where an error body echoes it, plain or encoded', async () => {
    const echoed = [key, encodeURIComponent(key), Buffer.from(`Bearer ${key}`).toString('base64')]
    upstream.answerWith(refusedWith(401, `bad Authorization: Bearer ${echoed.join(' and ')}`))
    const answer = await openGateway().call(aCall())
    const said = JSON.stringify([answer, attempts])
    expect(answer.error).toMatchObject({ code: 'unavailable' })
    expect(answer.error?.message).toContain('check the key in THE_KEY')
    expect(said).toContain('[redacted key]')
    for (const form of echoed) expect(said).not.toContain(form)
    expect(said).not.toContain('canary')
  })

  it('is masked where the answer itself holds it', async () => {
    upstream.answerWith(streamed(textAnswer(`your key is ${key}`)))
    expect(JSON.stringify(await openGateway().call(aCall()))).not.toContain('canary')
  })

  it('does not show in an inspection of the gateway', async () => {
    const gateway = openGateway()
    await gateway.call(aCall())
    expect(inspect(gateway, { depth: 20, showHidden: true })).not.toContain('canary')
  })

  it('is refused to a plain http endpoint outside this machine', async () => {
    const call = aCall({ model: { baseUrl: 'http://192.0.2.1/v1' } })
    await expect(openGateway().call(call)).rejects.toMatchObject({ code: 'forbidden' })
  })

  it('is asked for by the name of its variable when it is missing', async () => {
    const call = aCall({ model: { keyEnv: 'NOT_SET' } })
    await expect(openGateway().call(call)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('NOT_SET'),
    })
    expect(upstream.requests).toEqual([])
  })

  it('is not invented for an endpoint that needs none', async () => {
    await openGateway().call(aCall({ model: { keyEnv: null } }))
    expect(upstream.requests[0]?.headers.authorization).toBeUndefined()
  })
})

describe('a provider in trouble', () => {
  it('is asked again after 429 and 500, and every attempt is reported', async () => {
    upstream.answerWith(
      refusedWith(429, 'slow down', { 'retry-after': '0' }),
      refusedWith(503, 'busy', { 'retry-after': '0' }),
      streamed(textAnswer('at last')),
    )
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'completed', attempts: 3 })
    expect(
      attempts.map(({ attempt, status, httpStatus, costNanoUsd }) => [attempt, status, httpStatus, costNanoUsd]),
    ).toEqual([
      [1, 'failed', 429, 0],
      [2, 'failed', 503, 0],
      [3, 'completed', 200, answer.costNanoUsd],
    ])
  })

  it('is given up on after two retries, with nothing charged for what was turned away', async () => {
    upstream.answerWith(refusedWith(500, 'broken', { 'retry-after': '0' }))
    const gateway = openGateway()
    const answer = await gateway.call(aCall())
    expect(answer).toMatchObject({
      status: 'failed',
      attempts: 3,
      response: null,
      usage: null,
      usageSource: 'none',
      costNanoUsd: 0,
    })
    expect(answer.error).toMatchObject({ code: 'unavailable' })
    expect(gateway.budget('T-1')).toMatchObject({ spentTokens: 0, reservedTokens: 0 })
  })

  it('is not asked again for a request that it does not accept', async () => {
    upstream.answerWith(refusedWith(400, 'no such effort'))
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'invalid' } })
    expect(answer.error?.message).toContain('no such effort')
  })

  it('is asked again when nobody listens', async () => {
    const gateway = openGateway({ limits: { retries: 1 } })
    const closed = createServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    closed.close()
    await once(closed, 'close')
    const answer = await gateway.call(aCall({ model: { baseUrl: `http://127.0.0.1:${port}/v1` } }))
    expect(answer).toMatchObject({ status: 'failed', attempts: 2, costNanoUsd: 0 })
    expect(answer.error?.message).toContain('ECONNREFUSED')
  })

  it.each(['86400', 'Wed, 21 Oct 2065 07:28:00 GMT', 'garbage', '-5'])(
    'does not hold a cancelled call for Retry-After: %s',
    async (retryAfter) => {
      upstream.answerWith(refusedWith(429, 'wait', { 'retry-after': retryAfter }))
      const abort = new AbortController()
      const call = aCall({
        signal: abort.signal,
        onAttempt: async () => {
          setTimeout(() => abort.abort(), 20)
        },
      })
      expect(await openGateway().call(call)).toMatchObject({ status: 'aborted', error: { code: 'cancelled' } })
      expect(upstream.requests).toHaveLength(1)
    },
  )

  it('fails where the answer is not an event stream', async () => {
    upstream.answerWith((response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'))
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'failed', attempts: 1 })
    expect(answer.error?.message).toContain('text/html')
  })
})

describe('an answer without its end mark', () => {
  const opening = textAnswer('partial').slice(0, 3)

  it.each([
    ['ends early', (response: ServerResponse) => void begin(response).end(opening.map(frame).join(''))],
    [
      'is cut off',
      (response: ServerResponse) => {
        begin(response).write(opening.map(frame).join(''), () => response.destroy())
      },
    ],
    [
      'is malformed',
      (response: ServerResponse) => void begin(response).end(`${opening.map(frame).join('')}data: {oops\n\n`),
    ],
  ])('fails and is charged as an estimate when it %s', async (_, serve) => {
    upstream.answerWith(serve)
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'failed', attempts: 1, response: null, usageSource: 'estimated' })
    expect(answer.usage?.output).toBeGreaterThan(0)
    expect(answer.costNanoUsd).toBeGreaterThan(0)
    expect(answer.error?.code).toBe('unavailable')
  })

  it('is incomplete, with the items that were finished, when some were', async () => {
    upstream.answerWith(streamed(textAnswer('whole item').slice(0, 4)))
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'incomplete', usageSource: 'estimated', error: { code: 'unavailable' } })
    expect(answer.response).toMatchObject({ status: 'incomplete', output: [{ type: 'message' }] })
  })

  it('is cut when it stalls, comments notwithstanding', async () => {
    upstream.answerWith((response) => {
      begin(response).write(opening.map(frame).join(''))
      const beat = setInterval(() => response.write(': keep-alive\n\n'), 10)
      response.on('close', () => clearInterval(beat))
    })
    const answer = await openGateway({ limits: { idleMs: 100 } }).call(aCall())
    expect(answer).toMatchObject({ status: 'failed', attempts: 1, usageSource: 'estimated' })
    expect(answer.error?.message).toContain('nothing came for 100 ms')
  })

  it('is cut when it never ends', async () => {
    upstream.answerWith((response) => {
      begin(response).write(opening.map(frame).join(''))
      const beat = setInterval(() => response.write(frame(opening[2] ?? {})), 5)
      response.on('close', () => clearInterval(beat))
    })
    const answer = await openGateway({ limits: { totalMs: 150 } }).call(aCall())
    expect(answer).toMatchObject({ status: 'failed', usageSource: 'estimated' })
    expect(answer.error?.message).toContain('longer than it may')
  })

  it.each([
    ['a line', { lineBytes: 10_000 }, `data: ${'x'.repeat(50_000)}`],
    ['bytes', { answerBytes: 10_000 }, ': x\n'.repeat(20_000)],
  ])('is cut when it has %s beyond the limit', async (what, limits, junk) => {
    upstream.answerWith((response) => void begin(response).write(opening.map(frame).join('') + junk))
    const answer = await openGateway({ limits }).call(aCall())
    expect(answer).toMatchObject({ status: 'failed', attempts: 1 })
    expect(answer.error?.message).toContain(what)
  })

  it('is waited for no longer once its end mark has come', async () => {
    upstream.answerWith((response) => void begin(response).write(textAnswer('done').map(frame).join('')))
    expect(await openGateway().call(aCall())).toMatchObject({
      status: 'completed',
      usageSource: 'reported',
      error: null,
    })
  })

  it('reports a failed answer with the words of the provider', async () => {
    const [created] = textAnswer('x')
    const error = { code: 'invalid_prompt', message: 'no, thank you' }
    upstream.answerWith(
      streamed([created ?? {}, { type: 'response.failed', response: { status: 'failed', error, output: [] } }]),
    )
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'failed', attempts: 1 })
    expect(answer.error?.message).toContain('no, thank you')
  })
})

describe('a cancelled call', () => {
  it('is charged its prompt and what had come, each time, and leaves no reservation', async () => {
    upstream.answerWith(
      (response) => void begin(response).write(textAnswer('some words').slice(0, 3).map(frame).join('')),
    )
    const gateway = openGateway()
    gateway.raiseBudget('T-1', { limitNanoUsd: 10_000_000_000, limitTokens: null })
    let spent = 0
    for (let round = 0; round < 20; round += 1) {
      const abort = new AbortController()
      const answer = await gateway.call(
        aCall({ body: { max_output_tokens: 100 }, signal: abort.signal, onDelta: () => abort.abort() }),
      )
      expect(answer).toMatchObject({ status: 'aborted', response: null, usageSource: 'estimated' })
      expect(answer.usage?.uncached).toBeGreaterThan(0)
      expect(answer.usage?.output).toBe(2)
      spent += answer.costNanoUsd ?? Number.NaN
    }
    expect(gateway.budget('T-1')).toMatchObject({ spentNanoUsd: spent, reservedNanoUsd: 0, reservedTokens: 0 })
    expect(attempts).toHaveLength(20)
  })

  it('does not wait for a reader that has stopped reading', async () => {
    const abort = new AbortController()
    const call = aCall({
      signal: abort.signal,
      onDelta: () => {
        setTimeout(() => abort.abort(), 10)
        return new Promise(() => {})
      },
    })
    expect(await openGateway().call(call)).toMatchObject({ status: 'aborted' })
  })
})

describe('usage that cannot be true', () => {
  it.each([
    ['absent', undefined],
    ['empty', {}],
    ['negative', { ...plausibleUsage, input_tokens: -1 }],
    ['zero', { ...plausibleUsage, input_tokens: 0, input_tokens_details: { cached_tokens: 0 } }],
    ['enormous', { ...plausibleUsage, input_tokens: 1e18 }],
    ['an enormous output', { ...plausibleUsage, output_tokens: 1e18 }],
    ['more cached than sent', { ...plausibleUsage, input_tokens_details: { cached_tokens: 101 } }],
    ['more reasoning than output', { ...plausibleUsage, output_tokens_details: { reasoning_tokens: 21 } }],
    ['words', { ...plausibleUsage, input_tokens: '100' }],
  ])('gives way to an estimate: %s', async (_, usage) => {
    upstream.answerWith(streamed(textAnswer('hello there', usage ?? null)))
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'completed', usageSource: 'estimated', usage: { cacheRead: 0, output: 2 } })
    expect(answer.usage?.uncached).toBeGreaterThan(0)
    expect(answer.usage?.uncached).toBeLessThan(1000)
  })
})

describe('a budget', () => {
  it('for three calls lets at most three of a hundred parallel ones reach the provider', async () => {
    const gateway = openGateway()
    const body = { max_output_tokens: 200 }
    gateway.raiseBudget('T-1', { limitNanoUsd: 1_000_000_000, limitTokens: null })
    const perCall = await reservedBy(gateway, body)
    gateway.closeBudget('T-1')
    gateway.openBudget('T-1', { limitNanoUsd: 3 * perCall, limitTokens: null, spentNanoUsd: 0, spentTokens: 0 })
    upstream.requests.length = 0
    const results = await Promise.allSettled(Array.from({ length: 100 }, () => gateway.call(aCall({ body }))))
    expect(upstream.requests).toHaveLength(3)
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    expect(refused).toHaveLength(97)
    for (const reason of refused)
      expect(reason).toMatchObject({ code: 'over-budget', details: { budget: 'usd', spent: 0 } })
    expect(gateway.budget('T-1')).toMatchObject({ reservedNanoUsd: 0 })
  })

  /** What one call of this kind sets aside, seen while it is in flight. */
  async function reservedBy(gateway: Gateway, body: Record<string, unknown>): Promise<number> {
    let reserved = 0
    const onDelta = () => {
      reserved = gateway.budget('T-1')?.reservedNanoUsd ?? 0
    }
    await gateway.call(aCall({ body, onDelta }))
    return reserved
  }

  it('in USD is refused where the price is unknown, with what to do about it', async () => {
    const gateway = openGateway({ priced: false })
    gateway.raiseBudget('T-1', { limitNanoUsd: 1_000_000_000, limitTokens: null })
    await expect(gateway.call(aCall())).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('set a price or use a token budget'),
    })
    expect(upstream.requests).toEqual([])
  })

  it('in tokens works without a price and bounds the output that is asked for', async () => {
    const gateway = openGateway({ priced: false })
    gateway.raiseBudget('T-1', { limitNanoUsd: null, limitTokens: 2000 })
    await gateway.call(aCall({ body: { max_output_tokens: 1e9 } }))
    const sent = upstream.requests[0]?.body.max_output_tokens as number
    expect(sent).toBeGreaterThan(1500)
    expect(sent).toBeLessThan(2000)
    expect(gateway.budget('T-1')).toMatchObject({ spentTokens: 120, reservedTokens: 0 })
  })

  it('stops further attempts of a call once its failed ones have used it up', async () => {
    upstream.answerWith((response) => void begin(response).end(frame(textAnswer('x')[0] ?? {})))
    const gateway = openGateway()
    const body = { input: 'word '.repeat(1000), max_output_tokens: 100 }
    gateway.raiseBudget('T-1', { limitNanoUsd: null, limitTokens: 1900 })
    const answer = await gateway.call(aCall({ body }))
    expect(answer).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'over-budget' } })
    expect(upstream.requests).toHaveLength(1)
  })
})

describe('the request allowlist', () => {
  it.each([
    [{ extra_body: { a: 1 } }, 'extra_body'],
    [{ headers: {} }, 'headers'],
    [{ baseURL: 'http://127.0.0.1' }, 'baseURL'],
    [{ stream: false }, 'stream'],
    [{ store: true }, 'store'],
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ model: 'other' }, 'model'],
    [{ max_output_tokens: -1 }, 'max_output_tokens'],
    [{ max_output_tokens: '9' }, 'max_output_tokens'],
    [{ max_output_tokens: Number.NaN }, 'max_output_tokens'],
    [{ max_output_tokens: Number.POSITIVE_INFINITY }, 'max_output_tokens'],
    [{ max_output_tokens: 0.5 }, 'max_output_tokens'],
    [{ temperature: 99 }, 'temperature'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'mcp', server_url: 'http://127.0.0.1' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'function', name: 'f', parameters: {}, server_url: 'x' }] }, 'tools[0].server_url'],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0].type'],
    [{ input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] }, 'input[0].content'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] }, 'input[0].content[0]'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'http://127.0.0.1/x.png' }] }] },
      'input[0].content[0].image_url',
    ],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: 'x', url: 'y' }] }, 'input[0].url'],
    [{ include: ['web_search_call.results'] }, 'include[0]'],
    [{ tool_choice: { type: 'web_search' } }, 'tool_choice'],
  ])('refuses %j, names the field and sends nothing', async (body, field) => {
    const refusal = openGateway().call(aCall({ body }))
    await expect(refusal).rejects.toMatchObject({ code: 'invalid', message: expect.stringContaining(`body: ${field}`) })
    expect(upstream.requests).toEqual([])
  })

  it('passes everything that a policy needs, byte for byte', async () => {
    const body = {
      model: 'm',
      instructions: 'Be brief.',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'look' },
            { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' },
          ],
        },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'ok', annotations: [], logprobs: [] }],
        },
        { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'bash', arguments: '{}', status: 'completed' },
        { type: 'function_call_output', call_id: 'c1', output: 'done' },
        { type: 'custom_tool_call', call_id: 'c2', name: 'js', input: '1+1' },
        { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: '2' }] },
      ],
      tools: [
        {
          type: 'function',
          name: 'bash',
          description: 'd',
          parameters: { type: 'object', properties: {} },
          strict: false,
        },
        { type: 'custom', name: 'js', format: { type: 'text' } },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      temperature: 1,
      top_p: 1,
      reasoning: { effort: 'low', summary: 'auto' },
      text: { verbosity: 'low' },
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'agent',
      truncation: 'disabled',
    }
    expect((await openGateway().call(aCall({ body }))).status).toBe('completed')
    expect(upstream.requests[0]?.body).toEqual({ ...body, stream: true, store: false })
  })
})
