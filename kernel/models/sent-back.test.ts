// What a model wrote must be of a form that its server takes back, or else one bad answer ends a task.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { begin, type FakeUpstream, streamed, textAnswer } from '../testing/fake-upstream.ts'
import { type GatewayBench, openGatewayBench } from '../testing/gateway.ts'

let upstream: FakeUpstream
let openGateway: GatewayBench['openGateway']
let aCall: GatewayBench['aCall']
beforeEach(async () => {
  ;({ upstream, openGateway, aCall } = await openGatewayBench())
})
afterEach(() => upstream.close())

interface Calls {
  tool_calls: { id: string; function: { name: string; arguments: string } }[]
}

/** The message of an answer with these calls. */
async function answered(...calls: { id?: string; name: string; arguments: string }[]): Promise<Calls> {
  const pieces = calls.map(({ id, ...called }, index) => ({ index, id, type: 'function', function: called }))
  const chunks = [
    { id: 'x', choices: [{ index: 0, delta: { role: 'assistant', tool_calls: pieces } }] },
    { id: 'x', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
  ]
  const text = `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`
  upstream.answerWith((response) => void begin(response).end(text))
  return said(await send({ role: 'user', content: 'hi' }))
}

function send(...messages: object[]) {
  return openGateway().call({ ...aCall({ model: { api: 'chat' } }), body: { model: 'm', messages } })
}

function said({ response }: Awaited<ReturnType<typeof send>>): Calls {
  const [choice] = (response?.choices ?? []) as { message: Calls }[]
  return choice?.message ?? { tool_calls: [] }
}

const sent = () => upstream.requests.at(-1)?.body.messages as Calls[]

it('[F19] arguments that are no JSON object reach the executor as written, and go back as an empty one', async () => {
  const given = ['{"path":"a"}', '{"path":', 'ls -l', '', '"a"', '[1]', 'null']
  const message = await answered(...given.map((text, n) => ({ id: `c${n}`, name: 'read', arguments: text })))
  expect(message.tool_calls.map((call) => call.function.arguments)).toEqual(given)
  const results = given.map((_, n) => ({ role: 'tool', tool_call_id: `c${n}`, content: 'x' }))
  expect((await send({ role: 'user', content: 'hi' }, message, ...results)).status).toBe('completed')
  expect(sent()[1]?.tool_calls.map((call) => call.function.arguments)).toEqual([
    '{"path":"a"}',
    ...Array.from({ length: 6 }, () => '{}'),
  ])
})

it('[F19] ids and names that nobody could send back are made such that they can', async () => {
  const message = await answered(
    { id: 'a b/ü', name: 'read', arguments: '{}' },
    { id: 'x'.repeat(300), name: '', arguments: '{}' },
    { name: 'n'.repeat(1000), arguments: '{}' },
    { id: 'functions.read:0', name: 'read', arguments: '{}' },
  )
  const ids = message.tool_calls.map(({ id }) => id)
  expect(new Set(ids).size).toBe(4)
  expect(ids[3]).toBe('functions.read:0')
  expect(message.tool_calls.map((call) => call.function.name)).toEqual(['read', 'unnamed', 'n'.repeat(256), 'read'])
  const results = ids.map((id) => ({ role: 'tool', tool_call_id: id, content: 'x' }))
  expect((await send({ role: 'user', content: 'hi' }, message, ...results)).status).toBe('completed')
  expect(sent()[1]?.tool_calls.map(({ id }) => id)).toEqual(ids)
})

const responses = (body: object) => openGateway().call({ ...aCall(), body: { model: 'm', ...body } })

it('[F19] what a Responses server adds of its own is left out of its answer, so that the answer may be sent back', async () => {
  const output = [
    { type: 'server_thing', id: 'st_1', note: 'of this server alone' },
    { type: 'reasoning', id: 'bad id!', summary: [], status: null, server_field: 1 },
    {
      ...{ type: 'message', id: 'm 1', role: 'assistant', status: 'completed', vendor: { a: 1 } },
      content: [
        {
          type: 'output_text',
          text: 'hello',
          annotations: [{ type: 'url_citation', url: 'https://example.test' }],
          extra: 1,
        },
        { type: 'server_part', text: 'x' },
      ],
    },
    { type: 'function_call', id: 'f 1', call_id: 'a b', name: '', arguments: { path: 'a' }, status: 'odd' },
    { type: 'function_call', call_id: 'call_2', name: 'read', arguments: '{}', parsed: null },
    'no item',
  ]
  upstream.answerWith(streamed([{ type: 'response.completed', response: { id: 'r', status: 'completed', output } }]))
  const { response } = await responses({ input: 'hi' })
  const back = response?.output as Record<string, unknown>[]
  expect(back.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call', 'function_call'])
  expect(back[1]).toEqual({
    ...{ type: 'message', role: 'assistant', status: 'completed' },
    content: [{ type: 'output_text', text: 'hello' }],
  })
  expect(back[2]).toMatchObject({ name: 'unnamed', arguments: '{"path":"a"}' })
  expect(back[3]).toEqual({ type: 'function_call', call_id: 'call_2', name: 'read', arguments: '{}' })
  const results = back.slice(2).map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'x' }))
  upstream.answerWith(streamed(textAnswer('done')))
  expect((await responses({ input: [{ role: 'user', content: 'hi' }, ...back, ...results] })).status).toBe('completed')
})
