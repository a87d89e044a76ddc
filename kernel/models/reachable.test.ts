import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FakeUpstream, refusedWith, startFakeUpstream } from '../testing/fake-upstream.ts'
import { endpointProblem } from './reachable.ts'

let upstream: FakeUpstream
beforeEach(async () => {
  upstream = await startFakeUpstream()
})
afterEach(() => upstream.close())

describe('an endpoint', () => {
  it.each([
    [200, null],
    [401, null],
    [404, null],
    [302, null],
    [429, 'HTTP 429'],
    [503, 'HTTP 503'],
  ])('that says %d has the problem %s, and is asked for its models without a key', async (status, problem) => {
    upstream.answerWith(refusedWith(status, 'no', { location: 'http://127.0.0.1:1/elsewhere' }))
    expect(await endpointProblem({ baseUrl: `${upstream.baseUrl}/` })).toBe(problem)
    expect(upstream.requests.map(({ path }) => path)).toEqual(['/v1/models'])
    expect(upstream.requests[0]?.headers.authorization).toBeUndefined()
  })

  it('where nobody listens, or that hangs up, says so', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    expect(await endpointProblem({ baseUrl })).toMatch(/hang up|reset/i)
    server.close()
    await once(server, 'close')
    expect(await endpointProblem({ baseUrl })).toContain('ECONNREFUSED')
    expect(await endpointProblem({ baseUrl: 'nonsense' })).toBe('Invalid URL')
  })
})
