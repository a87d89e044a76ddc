import dns from 'node:dns'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  begin,
  type FakeUpstream,
  frame,
  refusedWith,
  startFakeUpstream,
  streamed,
  textAnswer,
} from '../testing/fake-upstream.ts'
import { type GatewayBench, openGatewayBench } from '../testing/gateway.ts'
import type { Attempt } from './models.ts'
import { streamEvents } from './upstream.ts'
import { UpstreamError } from './upstream-error.ts'

let upstream: FakeUpstream
let attempts: Attempt[]
let openGateway: GatewayBench['openGateway']
let aCall: GatewayBench['aCall']

beforeEach(async () => {
  ;({ upstream, attempts, openGateway, aCall } = await openGatewayBench())
})
afterEach(async () => {
  vi.restoreAllMocks()
  await upstream.close()
})

const opening = textAnswer('partial').slice(0, 3).map(frame).join('')

describe('a connection that cannot be made', () => {
  it('[F18] for want of a name is tried so often and no more, costs nothing, and says which name', async () => {
    // Nothing is asked of the network.
    const lookup = vi
      .spyOn(dns, 'lookup')
      .mockImplementation(((name: string, _options: object, done: (error: Error) => void) =>
        done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' }))) as typeof dns.lookup)
    const gateway = openGateway({ limits: { retries: 1 } })
    const answer = await gateway.call(aCall({ model: { baseUrl: 'http://x.invalid/v1', keyEnv: null } }))
    expect(answer).toMatchObject({ status: 'failed', attempts: 2, costNanoUsd: 0, error: { code: 'unavailable' } })
    expect(answer.error?.message).toContain('ENOTFOUND x.invalid')
    expect(lookup).toHaveBeenCalledTimes(2)
  })

  it('[F18] for TLS says so, and costs nothing', async () => {
    const gateway = openGateway({ limits: { retries: 0 } })
    const answer = await gateway.call(aCall({ model: { baseUrl: upstream.baseUrl.replace('http:', 'https:') } }))
    expect(answer).toMatchObject({ status: 'failed', attempts: 1, costNanoUsd: 0, usageSource: 'none' })
    expect(answer.error?.message).toMatch(/SSL|TLS|EPROTO/)
    expect(upstream.requests).toEqual([])
    expect(await gateway.call(aCall())).toMatchObject({ status: 'completed' })
  })

  it('[F18] that is closed before an answer is charged its prompt: the provider may have begun', async () => {
    upstream.answerWith((response) => void response.destroy())
    const answer = await openGateway({ limits: { retries: 0 } }).call(aCall())
    expect(answer).toMatchObject({ status: 'failed', usageSource: 'estimated', usage: { output: 0 } })
    expect(answer.costNanoUsd).toBeGreaterThan(0)
  })
})

describe('a key that no header can carry', () => {
  it.each(['\u201csk-canary\u201d', 'sk-can\nary'])(
    '[F18] ends its own call as refused, and nothing else',
    async (key) => {
      const limits = { answerBytes: 1000, lineBytes: 1000 }
      const calls = streamEvents(
        { baseUrl: upstream.baseUrl, key },
        '/responses',
        {},
        new AbortController().signal,
        limits,
      )
      const refused = calls.next()
      await expect(refused).rejects.toMatchObject({ httpStatus: 401, isUnanswered: true })
      await expect(refused).rejects.toThrow(expect.objectContaining({ message: expect.not.stringContaining('sk-') }))
      // Its connection ends with nobody listening for that.
      await upstream.close()
      upstream = await startFakeUpstream()
    },
  )
})

describe('an answer that is not what was asked for', () => {
  it('[F18] is not decompressed: a small one could be any size', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))
    upstream.answerWith(
      (response) =>
        void response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }).end(bomb),
    )
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'failed', attempts: 1, response: null })
    expect(answer.error?.message).toContain('gzip')
    expect(upstream.requests[0]?.headers['accept-encoding']).toBe('identity')
  })

  it.each(['text/html', 'application/json', 'application/x-ndjson'])('[F18] is refused as %s', async (type) => {
    upstream.answerWith((response) => void response.writeHead(200, { 'content-type': type }).end('{"choices":[]}'))
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'failed', attempts: 1, usageSource: 'estimated' })
    expect(answer.error?.message).toContain(type)
  })

  it.each([
    ['an error object', '{"error":{"message":"too hot","code":"hot"}}', 'too hot'],
    ['an error text', '{"error":"no model is loaded"}', 'no model is loaded'],
    ['a message', '{"object":"error","message":"bad temperature","code":400}', 'bad temperature'],
    ['a detail', '{"detail":"Not Found"}', 'Not Found'],
    ['a page', '<html>gone</html>', '<html>gone</html>'],
    ['nothing', '', 'no reason given'],
    ['a body without end', 'x'.repeat(1_000_000), 'xxx'],
  ])('[F18] tells why it was refused from %s', async (_, body, said) => {
    upstream.answerWith((response) => void response.writeHead(422, { 'content-type': 'x/y' }).end(body))
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'invalid' }, costNanoUsd: 0 })
    expect(answer.error?.message).toContain(said)
    expect(answer.error?.message.length).toBeLessThan(800)
  })

  it.each([500, 502, 503, 529])(
    '[F18] [M8] is asked for again after %i, each time a row of its own',
    async (status) => {
      upstream.answerWith(refusedWith(status, 'broken', { 'retry-after': '0' }))
      const answer = await openGateway().call(aCall())
      expect(answer).toMatchObject({ status: 'failed', attempts: 3, costNanoUsd: 0 })
      expect(attempts.map(({ attempt, httpStatus }) => [attempt, httpStatus])).toEqual(
        [1, 2, 3].map((n) => [n, status]),
      )
      expect(upstream.requests).toHaveLength(3)
    },
  )
})

describe('a connection that is cut', () => {
  it('[M1] after the request was sent is charged by estimate, on a kept connection as on a new one', async () => {
    const cut = (response: ServerResponse) => void response.socket?.resetAndDestroy()
    upstream.answerWith(streamed(textAnswer('hello')), cut, streamed(textAnswer('hello')))
    expect((await openGateway().call(aCall())).status).toBe('completed')
    attempts.length = 0
    expect((await openGateway().call(aCall())).status).toBe('completed')
    expect(attempts.map(({ status, usageSource }) => [status, usageSource])).toEqual([
      ['failed', 'estimated'],
      ['completed', 'reported'],
    ])
  })

  it('[M1] by a deadline before the request was on its way costs nothing', async () => {
    const endpoint = { baseUrl: upstream.baseUrl, key: null }
    const limits = { answerBytes: 1000, lineBytes: 1000 }
    const stop = new AbortController()
    const calls = streamEvents(endpoint, '/responses', {}, stop.signal, limits)
    const first = calls.next()
    stop.abort(new UpstreamError('the call took longer than it may', { code: 'deadline', isUnanswered: false }))
    await expect(first).rejects.toMatchObject({ code: 'deadline', isUnanswered: true })
    expect(upstream.requests).toHaveLength(0)
  })
})

describe('a stream without end', () => {
  it('[F19] of one line of 64 MB is cut long before it has come', async () => {
    upstream.answerWith((response) => {
      begin(response).write(`${opening}data: `)
      const pieces = Array.from({ length: 64 }, () => Buffer.alloc(1024 * 1024, 'x'))
      Readable.from(pieces).pipe(response)
    })
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'incomplete', response: null, attempts: 1, usageSource: 'estimated' })
    expect(answer.error?.message).toContain('a line of more than 16777216 bytes')
  })

  it('[F19] of comments alone, from the beginning, is cut when its time is over', async () => {
    upstream.answerWith((response) => {
      begin(response)
      const beat = setInterval(() => response.write(': OPENROUTER PROCESSING\n\n'), 5)
      response.on('close', () => clearInterval(beat))
    })
    const answer = await openGateway({ limits: { idleMs: 80, retries: 0 } }).call(aCall())
    expect(answer).toMatchObject({ status: 'failed', attempts: 1, usageSource: 'estimated', usage: { output: 0 } })
    expect(answer.error?.message).toContain('nothing came for 80 ms')
  })

  it('[F19] before its first byte is cut when its time is over', async () => {
    upstream.answerWith(() => undefined)
    const answer = await openGateway({ limits: { idleMs: 80, retries: 0 } }).call(aCall())
    expect(answer).toMatchObject({ status: 'failed', attempts: 1, usageSource: 'estimated' })
    expect(attempts).toMatchObject([{ status: 'failed', httpStatus: null }])
  })
})
