import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { begin, type FakeUpstream, startFakeUpstream, streamed, textAnswer } from '../testing/fake-upstream.ts'
import { testKey } from '../testing/gateway.ts'
import { providerStreams } from '../testing/provider-streams.ts'

let upstream: FakeUpstream
let capture: Server
/** The first line of whatever came to the capture server. */
let captured: string[]
beforeEach(async () => {
  upstream = await startFakeUpstream()
  captured = []
  capture = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (bytes) => {
      captured.push(String(bytes).split('\r\n')[0] ?? '')
      socket.end('HTTP/1.1 418 Captured\r\ncontent-length: 0\r\n\r\n')
    })
  }).listen(0, '127.0.0.1')
  await once(capture, 'listening')
})
afterEach(async () => {
  await upstream.close()
  capture.close()
})

const chatStream = providerStreams.find(({ name }) => name.startsWith('OpenAI, Chat'))?.body ?? ''

describe('an environment that means ill', () => {
  it.each(['chat', 'responses'] as const)(
    '[C7] [S2] [S12] has no say in a call by %s: nothing reaches its addresses, no log holds the key',
    async (api) => {
      upstream.answerWith(
        api === 'chat' ? (response) => void begin(response).end(chatStream) : streamed(textAnswer('hello')),
      )
      const elsewhere = `http://127.0.0.1:${(capture.address() as AddressInfo).port}`
      const hostile = {
        OPENAI_BASE_URL: `${elsewhere}/v1`,
        OPENAI_CUSTOM_HEADERS: 'X-Leak: 1\nAuthorization: Bearer other',
        OPENAI_LOG: 'debug',
        OPENAI_API_KEY: 'sk-other-key-of-the-environment',
        OPENAI_ORG_ID: 'org-leak',
        OPENAI_PROJECT_ID: 'proj-leak',
        ...Object.fromEntries(
          ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy'].map((name) => [name, elsewhere]),
        ),
        NO_PROXY: '',
        no_proxy: '',
        NODE_USE_ENV_PROXY: '1',
        NODE_TLS_REJECT_UNAUTHORIZED: '0',
        NODE_DEBUG: 'http,https,net,tls',
      }
      const child = spawn(
        process.execPath,
        // Nobody listens there: only a proxy hears of it.
        [
          join(import.meta.dirname, '../testing/gateway-child.ts'),
          upstream.baseUrl,
          api,
          'http://127.0.0.1:54321/control',
        ],
        { env: { PATH: process.env.PATH, ...hostile }, stdio: ['ignore', 'pipe', 'pipe'] },
      )
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
      expect(stdout).toBe('completed null')
      // The control went there, and nothing else did.
      expect(captured.length).toBeGreaterThan(0)
      for (const line of captured) expect(line).toContain('127.0.0.1:54321')
      expect(upstream.requests.map(({ path }) => path)).toEqual([
        '/v1/models',
        api === 'chat' ? '/v1/chat/completions' : '/v1/responses',
      ])
      expect(upstream.requests[0]?.headers.authorization).toBeUndefined()
      const headers = upstream.requests[1]?.headers ?? {}
      expect(headers.authorization).toBe(`Bearer ${testKey}`)
      expect(Object.keys(headers).filter((name) => /leak|openai|stainless|proxy/.test(name))).toEqual([])
      expect(stderr).toContain('HTTP')
      expect(stderr).not.toContain('canary')
    },
    30_000,
  )
})
