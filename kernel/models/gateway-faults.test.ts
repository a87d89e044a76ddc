import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  begin,
  type FakeUpstream,
  frame,
  plausibleUsage,
  refusedWith,
  streamed,
  textAnswer,
} from '../testing/fake-upstream.ts'
import { type GatewayBench, openGatewayBench } from '../testing/gateway.ts'
import type { Attempt } from './models.ts'

let upstream: FakeUpstream
let attempts: Attempt[]
let openGateway: GatewayBench['openGateway']
let aCall: GatewayBench['aCall']

beforeEach(async () => {
  ;({ upstream, attempts, openGateway, aCall } = await openGatewayBench())
})
afterEach(() => upstream.close())

describe('a provider in trouble', () => {
  it('[M8] is asked again after 429 and 500, and every attempt is reported', async () => {
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

  it('[M8] [F18] is given up on after two retries, with nothing charged for what was turned away', async () => {
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

  it('[F18] is asked again when nobody listens', async () => {
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

  it.each(['1', '86400', 'Wed, 21 Oct 2065 07:28:00 GMT', 'garbage', '-5'])(
    '[F17] does not hold a cancelled call for Retry-After: %s',
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
  ])('[F19] is incomplete, of no use, and charged as an estimate when it %s', async (_, serve) => {
    upstream.answerWith(serve)
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'incomplete', attempts: 1, response: null, usageSource: 'estimated' })
    expect(answer.usage?.output).toBeGreaterThan(0)
    expect(answer.costNanoUsd).toBeGreaterThan(0)
    expect(answer.error?.code).toBe('unavailable')
  })

  it('[F19] is incomplete, with the items that were finished, when some were', async () => {
    upstream.answerWith(streamed(textAnswer('whole item').slice(0, 4)))
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'incomplete', usageSource: 'estimated', error: { code: 'unavailable' } })
    expect(answer.response).toMatchObject({ status: 'incomplete', output: [{ type: 'message' }] })
  })

  it('[F19] is cut when it stalls, comments notwithstanding', async () => {
    upstream.answerWith((response) => {
      begin(response).write(opening.map(frame).join(''))
      const beat = setInterval(() => response.write(': keep-alive\n\n'), 10)
      response.on('close', () => clearInterval(beat))
    })
    const answer = await openGateway({ limits: { idleMs: 100 } }).call(aCall())
    expect(answer).toMatchObject({ status: 'incomplete', response: null, attempts: 1, usageSource: 'estimated' })
    expect(answer.error?.message).toContain('nothing came for 100 ms')
  })

  it('[F19] is cut when it never ends', async () => {
    upstream.answerWith((response) => {
      begin(response).write(opening.map(frame).join(''))
      const beat = setInterval(() => response.write(frame(opening[2] ?? {})), 5)
      response.on('close', () => clearInterval(beat))
    })
    const answer = await openGateway({ limits: { totalMs: 150 } }).call(aCall())
    expect(answer).toMatchObject({ status: 'incomplete', response: null, usageSource: 'estimated' })
    expect(answer.error?.message).toContain('longer than it may')
  })

  it.each([
    ['a line', { lineBytes: 10_000 }, `data: ${'x'.repeat(50_000)}`],
    ['bytes', { answerBytes: 10_000 }, ': x\n'.repeat(20_000)],
  ])('[F19] is cut when it has %s beyond the limit', async (what, limits, junk) => {
    upstream.answerWith((response) => void begin(response).write(opening.map(frame).join('') + junk))
    const answer = await openGateway({ limits }).call(aCall())
    expect(answer).toMatchObject({ status: 'failed', attempts: 1 })
    expect(answer.error?.message).toContain(what)
  })

  it('[F19] is waited for no longer once its end mark has come', async () => {
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
  it('[M5] is charged its prompt and what had come, a thousand times, and leaves no reservation', async () => {
    upstream.answerWith(
      (response) => void begin(response).write(textAnswer('some words').slice(0, 3).map(frame).join('')),
    )
    const gateway = openGateway()
    gateway.raiseBudget('T-1', { limitNanoUsd: 10_000_000_000, limitTokens: null })
    let spent = 0
    const rounds = 1000
    for (let round = 0; round < rounds; round += 1) {
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
    expect(attempts).toHaveLength(rounds)
  }, 60_000)

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
  ])('[M7] gives way to an estimate: %s', async (_, usage) => {
    upstream.answerWith(streamed(textAnswer('hello there', usage ?? null)))
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'completed', usageSource: 'estimated', usage: { cacheRead: 0, output: 2 } })
    expect(answer.usage?.uncached).toBeGreaterThan(0)
    expect(answer.usage?.uncached).toBeLessThan(1000)
  })
})
