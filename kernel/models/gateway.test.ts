import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  begin,
  type FakeUpstream,
  frame,
  refusedWith,
  startFakeUpstream,
  streamed,
  textAnswer,
} from '../testing/fake-upstream.ts'
import { type GatewayBench, openGatewayBench, testKey } from '../testing/gateway.ts'
import type { Attempt, Gateway } from './models.ts'

let upstream: FakeUpstream
let attempts: Attempt[]
let openGateway: GatewayBench['openGateway']
let aCall: GatewayBench['aCall']

beforeEach(async () => {
  ;({ upstream, attempts, openGateway, aCall } = await openGatewayBench())
})
afterEach(() => upstream.close())

describe('a call that goes well', () => {
  it('streams upstream without storage, passes on what grows and answers with the whole response', async () => {
    const deltas: unknown[] = []
    const answer = await openGateway().call(aCall({ onDelta: (delta) => void deltas.push(delta) }))
    expect(upstream.requests).toHaveLength(1)
    expect(upstream.requests[0]?.path).toBe('/v1/responses')
    expect(upstream.requests[0]?.body).toEqual({ model: 'm', input: 'hi', stream: true, store: false })
    expect(upstream.requests[0]?.headers.authorization).toBe(`Bearer ${testKey}`)
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
  it('[C7] [S2] goes to the chosen endpoint alone, whatever the environment says', async () => {
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
    expect(headers.authorization).toBe(`Bearer ${testKey}`)
    expect(Object.keys(headers).filter((name) => /leak|openai|stainless/.test(name))).toEqual([])
  })

  it('[C7] does not follow a redirect', async () => {
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

  it('[S4] is masked where an error body echoes it, plain or encoded', async () => {
    const echoed = [testKey, encodeURIComponent(testKey), Buffer.from(`Bearer ${testKey}`).toString('base64')]
    upstream.answerWith(refusedWith(401, `bad Authorization: Bearer ${echoed.join(' and ')}`))
    const answer = await openGateway().call(aCall())
    const said = JSON.stringify([answer, attempts])
    expect(answer.error).toMatchObject({ code: 'forbidden' })
    expect(answer.error?.message).toContain('check the key in the environment variable THE_KEY')
    expect(said).toContain('[redacted key]')
    for (const form of echoed) expect(said).not.toContain(form)
    expect(said).not.toContain('canary')
  })

  it('is masked where the answer itself holds it', async () => {
    upstream.answerWith(streamed(textAnswer(`your key is ${testKey}`)))
    expect(JSON.stringify(await openGateway().call(aCall()))).not.toContain('canary')
  })

  it('is masked in what the answer grows by, however it is cut', async () => {
    const text = `your key is ${testKey}, and ${testKey.slice(0, -1)}`
    const [begun, added, , ...end] = textAnswer(text) as [object, object, object, object, object]
    const pieces = [...text].map((delta) => ({
      type: 'response.output_text.delta',
      output_index: 0,
      item_id: 'msg_1',
      content_index: 0,
      delta,
    }))
    upstream.answerWith(streamed([begun, added, ...pieces, ...end] as Record<string, unknown>[]))
    const shown: string[] = []
    await openGateway().call(aCall({ onDelta: ({ text: piece }) => void shown.push(piece) }))
    expect(shown.join('')).toBe(`your key is [redacted key], and ${testKey.slice(0, -1)}`)
  })

  it('[S12] does not show in an inspection of the gateway', async () => {
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

describe('a budget', () => {
  it('[M4] [C8] for three calls lets at most three of a hundred parallel ones reach the provider', async () => {
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

  it('[C8] in USD is refused where the price is unknown, with what to do about it', async () => {
    const gateway = openGateway({ priced: false })
    gateway.raiseBudget('T-1', { limitNanoUsd: 1_000_000_000, limitTokens: null })
    await expect(gateway.call(aCall())).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('set a price or use a token budget'),
    })
    expect(upstream.requests).toEqual([])
  })

  it('[M2] in tokens works without a price and bounds the output that is asked for', async () => {
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
