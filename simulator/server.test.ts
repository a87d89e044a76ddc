import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { players } from './players/registry.ts'
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

interface Answer {
  id: string
  status: string
  incomplete_details: unknown
  output: Record<string, unknown>[]
  usage: {
    input_tokens: number
    input_tokens_details: { cached_tokens: number }
    output_tokens: number
    output_tokens_details: { reasoning_tokens: number }
    total_tokens: number
  }
}

const post = (body: unknown, path = '/v1/responses') =>
  fetch(`${root}${path}`, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })
const ask = async (body: unknown, path?: string) => (await post(body, path)).json() as Promise<Answer>

function script(...decisions: unknown[]) {
  return `Play this.\n\`\`\`script\n${JSON.stringify(decisions)}\n\`\`\``
}
const listFiles = { name: 'bash', arguments: { command: 'ls' } }
const bash = { type: 'function', name: 'bash', description: 'Run.', parameters: { type: 'object' } }

describe('an answer', () => {
  const request = {
    model: 'sim-script',
    instructions: 'You are terse.',
    input: script({
      reasoning: 'Look first.',
      text: 'Looking.',
      toolCalls: [listFiles, { name: 'js', arguments: '1 + 1' }],
    }),
    tools: [bash, { type: 'custom', name: 'js' }],
  }

  it('holds reasoning, text and calls to function and custom tools', async () => {
    const { output, status } = await ask(request)
    expect(status).toBe('completed')
    expect(output).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Look first.' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Looking.' }] },
      { type: 'function_call', name: 'bash', arguments: '{"command":"ls"}' },
      { type: 'custom_tool_call', name: 'js', input: '1 + 1' },
    ])
  })

  it('counts tokens by o200k over tools, instructions and texts', async () => {
    const { usage } = await ask(request)
    const count = (text: string) => encode(text).length
    expect(usage.input_tokens).toBe(
      count(JSON.stringify(request.tools)) + count(request.instructions) + count(request.input),
    )
    expect(usage.output_tokens_details.reasoning_tokens).toBe(count('Look first.'))
    expect(usage.output_tokens).toBe(
      ['Look first.', 'Looking.', 'bash', '{"command":"ls"}', 'js', '1 + 1'].reduce(
        (sum, text) => sum + count(text),
        0,
      ),
    )
    expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens)
  })

  it('is the same whole and streamed, and its deltas add up', async () => {
    const whole = await ask(request)
    const stream = await post({ ...request, stream: true })
    expect(stream.headers.get('content-type')).toContain('text/event-stream')
    const events = (await stream.text())
      .split('\n\n')
      .filter((block) => block !== '')
      .map((block) => JSON.parse(block.slice(block.indexOf('data: ') + 6)))
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
    expect(events[0].type).toBe('response.created')
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { output: whole.output } })
    const deltas = (type: string) =>
      events
        .filter((event) => event.type === type)
        .map(({ delta }) => delta)
        .join('')
    expect(deltas('response.reasoning_summary_text.delta')).toBe('Look first.')
    expect(deltas('response.output_text.delta')).toBe('Looking.')
    expect(deltas('response.function_call_arguments.delta')).toBe('{"command":"ls"}')
    expect(deltas('response.custom_tool_call_input.delta')).toBe('1 + 1')
    const done = events.filter(({ type }) => type === 'response.output_item.done')
    expect(done.map(({ item }) => item)).toEqual(whole.output)
  })

  it('is the same for the same request, and has other ids for another seed', async () => {
    const [first, again, other] = [await ask(request), await ask(request), await ask(request, '/seed/7/v1/responses')]
    expect(again.output).toEqual(first.output)
    expect(other.id).not.toBe(first.id)
  })

  it('is cut at max_output_tokens and says so', async () => {
    const answer = await ask({ ...request, max_output_tokens: 4 })
    expect(answer).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      usage: { output_tokens: 4 },
    })
  })

  it('has one call where parallel calls are switched off', async () => {
    const { output } = await ask({ ...request, parallel_tool_calls: false })
    expect(output.filter(({ type }) => type !== 'message' && type !== 'reasoning')).toHaveLength(1)
  })
})

describe('Chat Completions', () => {
  const path = '/v1/chat/completions'
  const decision = {
    reasoning: 'Look first.',
    text: 'Looking.',
    toolCalls: [listFiles, { name: 'js', arguments: '1 + 1' }],
  }
  const request = {
    model: 'sim-script',
    messages: [
      { role: 'system', content: 'You are terse.' },
      { role: 'user', content: script(decision) },
    ],
    tools: [
      { type: 'function', function: { name: 'bash', description: 'Run.', parameters: { type: 'object' } } },
      { type: 'custom', custom: { name: 'js' } },
    ],
  }
  interface Chat {
    choices: { message: { content: string | null; tool_calls?: object[] }; finish_reason: string }[]
    usage: Record<string, unknown> & { prompt_tokens: number }
  }
  const complete = async (body: unknown) => (await post(body, path)).json() as Promise<Chat>
  const chunksOf = async (body: object) => {
    const blocks = (await (await post({ ...body, stream: true }, path)).text()).split('\n\n')
    expect(blocks.slice(-2)).toEqual(['data: [DONE]', ''])
    return blocks.slice(0, -2).map((block) => JSON.parse(block.slice('data: '.length)))
  }

  it('gives the same decision as the Responses API, as one message', async () => {
    const { choices, usage } = await complete(request)
    expect(choices).toMatchObject([
      {
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: 'Looking.',
          tool_calls: [
            { type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } },
            { type: 'custom', custom: { name: 'js', input: '1 + 1' } },
          ],
        },
      },
    ])
    const count = (text: string) => encode(text).length
    const said = ['Look first.', 'Looking.', 'bash', '{"command":"ls"}', 'js', '1 + 1']
    const prompt = count(JSON.stringify(request.tools)) + count('You are terse.') + count(script(decision))
    const completion = said.reduce((sum, text) => sum + count(text), 0)
    expect(usage).toEqual({
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: count('Look first.') },
    })
  })

  it('streams the same, with usage only where it is asked for', async () => {
    const whole = await complete(request)
    const chunks = await chunksOf(request)
    expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true)
    const deltas = chunks.map(({ choices }) => choices[0].delta)
    expect(deltas.map(({ content }) => content ?? '').join('')).toBe('Looking.')
    const given = (index: number, field: string) =>
      deltas
        .flatMap(({ tool_calls = [] }) => tool_calls)
        .filter((call) => call.index === index)
        .map((call) => (field === 'input' ? call.custom.input : call.function.arguments))
        .join('')
    expect([given(0, 'arguments'), given(1, 'input')]).toEqual(['{"command":"ls"}', '1 + 1'])
    expect(chunks.at(-1).choices[0].finish_reason).toBe('tool_calls')

    const counted = await chunksOf({ ...request, stream_options: { include_usage: true } })
    expect(counted.slice(0, -1).every(({ usage }) => usage === null)).toBe(true)
    expect(counted.at(-1)).toMatchObject({ choices: [], usage: whole.usage })
  })

  it('takes what it said back with the outputs, reads it from the cache, and goes on', async () => {
    const messages: object[] = [
      { role: 'system', content: 'Work in small steps. '.repeat(400) },
      { role: 'user', content: script({ text: 'a', toolCalls: [listFiles, listFiles] }, { text: 'done' }) },
    ]
    const first = (await complete({ model: 'sim-script', messages })).choices[0]?.message
    const ids = (first?.tool_calls ?? []).map((call) => (call as { id: string }).id)
    const outputs = ids.map((id) => ({ role: 'tool', tool_call_id: id, content: 'ok' }))
    const { choices, usage } = await complete({ model: 'sim-script', messages: [...messages, first, ...outputs] })
    expect(choices).toMatchObject([{ finish_reason: 'stop', message: { content: 'done' } }])
    expect((usage.prompt_tokens_details as { cached_tokens: number }).cached_tokens).toBeGreaterThanOrEqual(1024)
    const half = await post({ model: 'sim-script', messages: [...messages, first, outputs[0]] }, path)
    expect(half.status).toBe(400)
    expect(await half.text()).toContain(`did not have response messages: ${ids[1]}`)
  })

  it.each(['max_tokens', 'max_completion_tokens'])('is cut at %s and says so', async (field) => {
    const answer = await complete({ ...request, [field]: 8 })
    expect(answer.choices[0]?.finish_reason).toBe('length')
    expect(answer.usage.completion_tokens).toBe(8)
  })

  it.each([
    ['no messages', { messages: [] }, 'messages'],
    ['a foreign role', { messages: [{ role: 'narrator', content: 'x' }] }, 'messages[0].role'],
    ['an output of no call', { messages: [{ role: 'tool', tool_call_id: 'c', content: 'x' }] }, 'messages'],
    ['a tool without a name', { tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name'],
    ['too long a prompt', { messages: [{ role: 'user', content: 'word '.repeat(400_001) }] }, 'messages'],
  ])('refuses %s', async (_, fields, param) => {
    const response = await post({ ...request, ...fields }, path)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error', param } })
  })
})

describe('the scripted player', () => {
  it('follows the tool outputs in the request through its script to the end', async () => {
    const decisions = [
      { toolCalls: [listFiles, listFiles] },
      { text: 'half way' },
      { toolCalls: [listFiles] },
      { text: 'done' },
    ]
    const input: unknown[] = [{ role: 'user', content: script(...decisions) }]
    const said: unknown[] = []
    for (let turn = 0; turn < 5; turn += 1) {
      const { output } = await ask({ model: 'sim-script', input, tools: [bash] })
      said.push(
        output.map((item) => (item.type === 'message' ? (item.content as { text: string }[])[0]?.text : item.name)),
      )
      input.push(...output)
      for (const item of output)
        if (item.type === 'function_call')
          input.push({ type: 'function_call_output', call_id: item.call_id, output: 'ok' })
    }
    expect(said).toEqual([['bash', 'bash'], ['half way'], ['bash'], ['done'], ['sim-script: the script has ended.']])
  })

  it.each([
    ['no fence', 'hello', 'no ```script fence'],
    ['broken JSON', '```script\n[{]\n```', 'not JSON'],
    ['a wrong decision', script({ txt: 'x' }), 'decision 0 is not'],
  ])('says what is wrong with a script: %s', async (_, input, complaint) => {
    expect(JSON.stringify((await ask({ model: 'sim-script', input })).output)).toContain(complaint)
  })
})

describe('the prompt cache of the server', () => {
  const long = 'The quick brown fox jumps over the lazy dog. '.repeat(200)
  const request = (instructions: string, extra: object = {}) => ({
    model: 'sim-script',
    instructions,
    input: 'x',
    ...extra,
  })
  const cachedOf = ({ usage }: Answer) => usage.input_tokens_details.cached_tokens

  it('serves a task that resends everything and appends', async () => {
    const first = await ask(request(long))
    expect(cachedOf(first)).toBe(0)
    const second = await ask(
      request(long, {
        input: [
          { role: 'user', content: 'x' },
          { role: 'user', content: long },
        ],
      }),
    )
    expect(cachedOf(second)).toBe(Math.floor(first.usage.input_tokens / 128) * 128)
  })

  it('breaks at the first changed token', async () => {
    await ask(request(long))
    expect(cachedOf(await ask(request(`Now: ${long}`)))).toBe(0)
    const changed = await ask(request(`${long} More.`))
    expect(cachedOf(changed)).toBeGreaterThanOrEqual(1920)
  })

  it('is kept apart by cache key, and by seed where there is none', async () => {
    await ask(request(long, { prompt_cache_key: 'a' }))
    expect(cachedOf(await ask(request(long, { prompt_cache_key: 'b' })))).toBe(0)
    expect(cachedOf(await ask(request(long, { prompt_cache_key: 'a' }), '/seed/9/v1/responses'))).toBeGreaterThan(0)
    await ask(request(long))
    expect(cachedOf(await ask(request(long), '/seed/9/v1/responses'))).toBe(0)
  })
})

describe('the server', () => {
  it('lists its models with cards that say simulated', async () => {
    const { data } = (await (await fetch(`${root}/v1/models`)).json()) as { data: object[] }
    expect(data).toContainEqual({
      id: 'sim-script',
      object: 'model',
      created: 0,
      owned_by: 'exodesk-simulator',
      context_window: 400_000,
      max_output_tokens: 128_000,
      pricing: { input: 1.25, cached_input: 0.125, output: 10 },
      simulated: true,
    })
  })

  it.each([
    ['broken JSON', '{', '/v1/responses', 400, null],
    ['no model', { input: 'x' }, '/v1/responses', 400, 'model'],
    ['an unknown model', { model: 'toString', input: 'x' }, '/v1/responses', 404, 'model'],
    [
      'a hosted tool',
      { model: 'sim-script', input: 'x', tools: [{ type: 'web_search' }] },
      '/v1/responses',
      400,
      'tools[0].type',
    ],
    [
      'a foreign item',
      { model: 'sim-script', input: [{ type: 'item_reference' }] },
      '/v1/responses',
      400,
      'input[0].type',
    ],
    [
      'a call without its output',
      { model: 'sim-script', input: [{ type: 'function_call', call_id: 'c', name: 'bash', arguments: '{}' }] },
      '/v1/responses',
      400,
      'input',
    ],
    ['an unknown path', {}, '/v1/embeddings', 404, null],
    ['a bad seed', {}, '/seed/x/v1/responses', 404, null],
    ['too long a prompt', { model: 'sim-script', input: 'word '.repeat(400_001) }, '/v1/responses', 400, 'input'],
  ])('answers in the shape of OpenAI to %s', async (_, body, path, status, param) => {
    const response = await post(body, path)
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({
      error: {
        message: expect.any(String),
        type: 'invalid_request_error',
        param,
        code: expect.toSatisfy((code) => code === null || typeof code === 'string'),
      },
    })
  })
})
