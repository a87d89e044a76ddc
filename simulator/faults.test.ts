import { once } from 'node:events'
import { request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { players } from './players/registry.ts'
import { playScript } from './players/script.ts'
import { createSimulator } from './server.ts'

let server: Server
let root: string

beforeEach(async () => {
  server = createSimulator({ players, cacheLifetimeMs: 60_000, now: () => performance.now() })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

const decisions = [
  {
    text: 'Let me look into it, and then into that.',
    toolCalls: [{ name: 'shell', arguments: { command: 'ls -lh' } }],
  },
  { text: 'done' },
]
const script = `\`\`\`script\n${JSON.stringify(decisions)}\n\`\`\``
const paths = { responses: '/v1/responses', chat: '/v1/chat/completions' } as const
const bodies = {
  responses: { model: 'sim-script', input: script, tools: [{ type: 'function', name: 'shell' }] },
  chat: {
    model: 'sim-script',
    messages: [{ role: 'user', content: script }],
    tools: [{ type: 'function', function: { name: 'shell' } }],
    stream_options: { include_usage: true },
  },
}
type Api = keyof typeof paths
const apis = ['responses', 'chat'] as const

interface Raw {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  /** The answer ended in order. */
  isWhole: boolean
}

/** What goes over the wire, with no client between. @param enough stops reading once that much has come. */
function ask(api: Api, conditions: string, { stream = true, enough = Number.POSITIVE_INFINITY } = {}): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: 'Bearer not-a-key' }
    const sent = httpRequest(`${root}${conditions}${paths[api]}`, { method: 'POST', headers }, (response) => {
      let text = ''
      response.setEncoding('latin1').on('data', (chunk: string) => {
        text += chunk
        if (text.length > enough) response.destroy()
      })
      response.on('error', () => {})
      response.on('close', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, isWhole: response.complete }),
      )
    })
    sent.on('error', reject)
    sent.end(JSON.stringify({ ...bodies[api], stream }))
  })
}

/** The JSON of each event. */
function eventsOf({ text }: Raw): Record<string, unknown>[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => JSON.parse(json))
}

const isEnd = (text: string) => /response\.completed|\[DONE\]/.test(text)

describe.each(apis)('on demand, over %s,', (api) => {
  const with_ = (fault: string, options = {}) => ask(api, `/fault/${fault}`, options)

  it.each([
    ['401', 401, 'invalid_api_key', undefined],
    ['429', 429, 'rate_limit_exceeded', undefined],
    ['429-after-1', 429, 'rate_limit_exceeded', '1'],
    ['429-after-86400', 429, 'rate_limit_exceeded', '86400'],
    ['429-after-negative', 429, 'rate_limit_exceeded', '-5'],
    ['429-after-garbage', 429, 'rate_limit_exceeded', 'after lunch'],
    ['429-after-date', 429, 'rate_limit_exceeded', expect.stringMatching(/GMT$/)],
    ['500', 500, null, undefined],
    ['overflow', 400, 'context_length_exceeded', undefined],
  ])('%s is an error of the service', async (fault, status, code, retryAfter) => {
    const raw = await with_(fault)
    expect(raw.status).toBe(status)
    expect(JSON.parse(raw.text)).toMatchObject({ error: { code, message: expect.any(String) } })
    expect(raw.headers['retry-after']).toEqual(retryAfter)
    expect(raw.text).not.toContain('not-a-key')
  })

  it('401-echo gives the key back in its words', async () => {
    expect((await with_('401-echo')).text).toContain('Bearer not-a-key')
  })

  it('refused answers nothing', async () => {
    await expect(with_('refused')).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  it('redirect leads to where it would be answered', async () => {
    const { status, headers } = await with_('redirect')
    expect([status, headers.location]).toEqual([307, paths[api]])
  })

  it('content-type is a page', async () => {
    expect((await with_('content-type')).headers['content-type']).toBe('text/html')
  })

  it('cut and stall give half an answer', async () => {
    const whole = await ask(api, '')
    expect([isEnd(whole.text), whole.isWhole]).toEqual([true, true])
    for (const fault of ['cut', 'stall']) {
      const half = await with_(fault, fault === 'stall' ? { enough: whole.text.length / 4 } : {})
      expect(half.text.length).toBeGreaterThan(whole.text.length / 4)
      expect([isEnd(half.text), half.isWhole]).toEqual([false, false])
    }
    const json = await with_('cut', { stream: false })
    expect(json.isWhole).toBe(false)
    expect(() => JSON.parse(json.text)).toThrow()
  })

  it('endless, comments and huge-line do not end while they are read', async () => {
    for (const fault of ['endless', 'comments', 'huge-line'] as const) {
      const enough = fault === 'huge-line' ? 8_000_000 : 20_000
      const raw = await with_(fault, { enough: fault === 'comments' ? 60 : enough })
      expect([fault, raw.isWhole, isEnd(raw.text)]).toEqual([fault, false, false])
      if (fault === 'huge-line') expect(raw.text.split('\n')).toHaveLength(1)
      if (fault === 'comments') expect(eventsOf(raw)).toEqual([])
    }
  })

  it('gzip-bomb is small on the wire and large behind it', async () => {
    const raw = await with_('gzip-bomb', { enough: 100_000 })
    expect(raw.headers['content-encoding']).toBe('gzip')
    expect(raw.text.startsWith('\x1f\x8b')).toBe(true)
  })

  it('malformed-sse has a line that no JSON is in', async () => {
    const raw = await with_('malformed-sse')
    expect(() => eventsOf(raw)).toThrow()
    expect(isEnd(raw.text)).toBe(true)
  })

  it('no-end-mark ends in order, with all but its end', async () => {
    const [raw, whole] = [await with_('no-end-mark'), await ask(api, '')]
    expect([raw.isWhole, isEnd(raw.text)]).toEqual([true, false])
    expect(eventsOf(raw)).toHaveLength(eventsOf(whole).length - (api === 'chat' ? 2 : 1))
  })

  it.each([
    ['usage-missing', null, null],
    ['usage-zero', 0, 0],
    ['usage-negative', expect.toSatisfy((n) => n < 0), expect.any(Number)],
    ['usage-huge', 1e18, expect.any(Number)],
    ['usage-cached', expect.any(Number), expect.any(Number)],
  ])('%s is what it reports', async (fault, input, cached) => {
    const last = eventsOf(await with_(fault)).at(-1)
    const response = (api === 'chat' ? last : last?.response) as { usage?: Record<string, unknown> | null }
    const usage = response.usage ?? null
    if (input === null) return expect(usage).toBeNull()
    const [inputField, details] =
      api === 'chat' ? ['prompt_tokens', 'prompt_tokens_details'] : ['input_tokens', 'input_tokens_details']
    expect(usage?.[inputField]).toEqual(input)
    const read = (usage?.[details] as { cached_tokens: number } | undefined)?.cached_tokens
    expect(read).toEqual(cached)
    if (fault === 'usage-cached') expect(read).toBeGreaterThan(Number(usage?.[inputField]))
  })

  it('half-call, unknown-tool, max-tokens, empty and refusal are what the model says', async () => {
    const said = async (fault: string) => {
      const body = JSON.parse((await with_(fault, { stream: false })).text)
      if (api === 'responses') {
        const call = body.output.find((item: { type: string }) => item.type === 'function_call')
        return [body.status, call?.name, call?.arguments, body.output[0]?.content?.[0]?.refusal]
      }
      const { message, finish_reason } = body.choices[0]
      const called = message.tool_calls?.[0]?.function
      return [finish_reason, called?.name, called?.arguments, message.refusal ?? undefined]
    }
    const [completed, cut, stop] =
      api === 'chat' ? ['tool_calls', 'length', 'stop'] : ['completed', 'incomplete', 'completed']
    expect(await said('half-call')).toEqual([completed, 'shell', '{"command"', undefined])
    expect(await said('unknown-tool')).toEqual([completed, 'no_such_tool', '{"command":"ls -lh"}', undefined])
    expect(await said('max-tokens')).toEqual([cut, 'shell', '{"command"', undefined])
    expect(await said('empty')).toEqual([stop, undefined, undefined, undefined])
    expect(await said('refusal')).toEqual([stop, undefined, undefined, "I can't help with that."])
  })

  it('duplicate-index has two calls in one place', async () => {
    const events = eventsOf(await with_('duplicate-index'))
    const begun = events.flatMap((event): [unknown, unknown][] => {
      if (api === 'responses') {
        const item = event.item as { type: string; call_id: string } | undefined
        const isBegun = event.type === 'response.output_item.added' && item?.type === 'function_call'
        return isBegun ? [[event.output_index, item?.call_id]] : []
      }
      const [choice] = event.choices as { delta: { tool_calls?: { index: number; id?: string }[] } }[]
      return (choice?.delta.tool_calls ?? []).flatMap(({ index, id }) => (id === undefined ? [] : [[index, id]]))
    })
    expect(begun.map(([index]) => index)).toEqual([0, 0])
    expect(begun[0]?.[1]).not.toBe(begun[1]?.[1])
  })
})

it('no-done lacks the last line of a chat stream alone', async () => {
  const raw = await ask('chat', '/fault/no-done')
  expect(raw.text).toContain('"finish_reason":"tool_calls"')
  expect(raw.text).not.toContain('[DONE]')
})

it('a slow first byte comes after all that others are answered meanwhile', async () => {
  const answered: string[] = []
  const slow = ask('responses', '/fault/slow-first-byte').then(
    () => answered.push('slow'),
    () => answered.push('gave up'),
  )
  for (let n = 0; n < 20; n += 1) answered.push(String((await ask('responses', '')).status))
  server.closeAllConnections()
  await slow
  expect(answered).toEqual([...Array.from({ length: 20 }, () => '200'), 'gave up'])
})

describe('draws', () => {
  it('are the same for all arms of a seed when paired, and each task’s own when independent', async () => {
    const play = (_: unknown, random: { float(label: string): number }) => ({ text: `${random.float('x')}` })
    const drawing = createSimulator({
      players: { 'sim-script': { play, contextWindow: 400_000, maxOutputTokens: 1000 } },
      cacheLifetimeMs: 0,
      now: () => 0,
    })
    drawing.listen(0, '127.0.0.1')
    await once(drawing, 'listening')
    const { port } = drawing.address() as AddressInfo
    const said = async (conditions: string, key: string) => {
      const body = JSON.stringify({ model: 'sim-script', input: 'x', prompt_cache_key: key })
      const response = await fetch(`http://127.0.0.1:${port}${conditions}/v1/responses`, { method: 'POST', body })
      return ((await response.json()) as { output: { content: { text: string }[] }[] }).output[0]?.content[0]?.text
    }
    expect(await said('/seed/1', 'a')).toBe(await said('/seed/1', 'b'))
    expect(await said('/seed/1', 'a')).not.toBe(await said('/seed/2', 'a'))
    const independent = '/seed/1/random/independent'
    expect(await said(independent, 'a')).toBe(await said(independent, 'a'))
    expect(await said(independent, 'a')).not.toBe(await said(independent, 'b'))
    drawing.closeAllConnections()
    drawing.close()
  })
})

describe('by rate', () => {
  const statuses = async (conditions: string, count: number) => {
    const found: number[] = []
    for (let n = 0; n < count; n += 1) found.push((await ask('responses', conditions)).status)
    return found
  }

  it('a share of requests fails, the same ones for the same seed, and a retry is another draw', async () => {
    const first = await statuses('/seed/5/fault/500+429/rate/0.3', 60)
    const failed = first.filter((status) => status !== 200)
    expect(failed.length).toBeGreaterThan(8)
    expect(failed.length).toBeLessThan(30)
    expect(new Set(failed)).toEqual(new Set([429, 500]))
    const other = createSimulator({
      players: { 'sim-script': { play: playScript, contextWindow: 400_000, maxOutputTokens: 1000 } },
      cacheLifetimeMs: 0,
      conditions: { faults: ['500', '429'], faultRate: 0.3 },
      now: () => 0,
    })
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    const mine = root
    root = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    expect(await statuses('/seed/5', 60)).toEqual(first)
    expect(await statuses('/seed/6', 60)).not.toEqual(first)
    root = mine
    other.closeAllConnections()
    other.close()
  })

  it.each(['/fault/nonsense', '/rate/2', '/noise/-1', '/random/any', '/colour/red', '/seed'])(
    '%s is refused with what there is',
    async (conditions) => {
      const { status, text } = await ask('responses', conditions)
      expect(status).toBe(404)
      expect(text).toMatch(/is no condition of the simulator's: seed\/N, .*no-end-mark|has no \/v1\//)
    },
  )
})
