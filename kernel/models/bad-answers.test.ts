import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { begin, type FakeUpstream, streamed, textAnswer } from '../testing/fake-upstream.ts'
import { type GatewayBench, openGatewayBench } from '../testing/gateway.ts'

let upstream: FakeUpstream
let openGateway: GatewayBench['openGateway']
let aCall: GatewayBench['aCall']

beforeEach(async () => {
  ;({ upstream, openGateway, aCall } = await openGatewayBench())
})
afterEach(() => upstream.close())

const apis = ['responses', 'chat'] as const

function call(api: (typeof apis)[number]) {
  const given = aCall({ model: { api } })
  return api === 'chat' ? { ...given, body: { model: 'm', messages: [{ role: 'user', content: 'hi' }] } } : given
}

describe.each(apis)('by %s, a provider', (api) => {
  it.each([
    [
      'does not know the model',
      404,
      { code: 'model_not_found', message: 'no such model' },
      'not-found',
      "does not know 'm'",
    ],
    [
      'refuses the key',
      401,
      { code: 'invalid_api_key', message: 'bad key' },
      'forbidden',
      'check the key in the environment variable THE_KEY',
    ],
    ['wants money', 402, { code: 'insufficient_credits', message: 'top up' }, 'forbidden', 'top the account up'],
    ['has no quota left', 429, { code: 'insufficient_quota', message: 'quota' }, 'unavailable', 'quota'],
    [
      'finds the prompt too long',
      400,
      { code: 'context_length_exceeded', message: '9000 tokens' },
      'invalid',
      'send a shorter one',
    ],
    [
      'finds it too long, as llama.cpp says it',
      400,
      { code: 400, type: 'exceed_context_size_error', message: 'n_ctx' },
      'invalid',
      'send a shorter one',
    ],
    ['turns the request down', 400, { code: 'invalid_value', message: 'no such effort' }, 'invalid', 'no such effort'],
  ])('that %s is asked once, and what it says is told', async (_, status, error, code, said) => {
    upstream.answerWith((response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    })
    const answer = await openGateway().call(call(api))
    expect(answer).toMatchObject({ status: 'failed', attempts: 1, costNanoUsd: 0, error: { code } })
    expect(answer.error?.message).toContain(said)
    expect(upstream.requests).toHaveLength(1)
  })
})

describe('a model', () => {
  const responses = (item: object, end: object = { type: 'response.completed', response: { status: 'completed' } }) => {
    const [created] = textAnswer('x')
    const { response } = end as { response: object }
    const usage = { input_tokens: 50, output_tokens: 9, total_tokens: 59 }
    upstream.answerWith(
      streamed([
        created ?? {},
        { type: 'response.output_item.done', output_index: 0, item },
        { ...end, response: { ...response, output: [item], usage } },
      ]),
    )
    return openGateway().call(aCall())
  }

  it('that refuses is heard, and paid', async () => {
    const refusal = { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }
    const answer = await responses(refusal)
    expect(answer).toMatchObject({ status: 'completed', usageSource: 'reported', response: { output: [refusal] } })
  })

  it.each(['{"half', 'no json', '', '[]'])(
    'that gives a tool %j has its words passed on as they are',
    async (given) => {
      const item = { type: 'function_call', call_id: 'c', name: 'no-such-tool', arguments: given, status: 'completed' }
      expect(await responses(item)).toMatchObject({ status: 'completed', response: { output: [item] } })
      const chunks = [
        {
          choices: [
            {
              index: 0,
              delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'no-such-tool', arguments: given } }] },
            },
          ],
        },
        { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
      ]
      upstream.answerWith(
        (response) =>
          void begin(response).end(
            `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`,
          ),
      )
      const { response } = await openGateway().call(call('chat'))
      const [choice] = (response?.choices ?? []) as { message: object }[]
      expect(choice?.message).toMatchObject({
        tool_calls: [{ id: 'c', function: { name: 'no-such-tool', arguments: given } }],
      })
    },
  )

  it('that is cut by the most tokens is incomplete, with what it said, and no error of the provider', async () => {
    const item = {
      type: 'message',
      role: 'assistant',
      status: 'incomplete',
      content: [{ type: 'output_text', text: 'and th' }],
    }
    const answer = await responses(item, {
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    })
    expect(answer).toMatchObject({
      status: 'incomplete',
      error: null,
      usageSource: 'reported',
      response: { output: [item] },
    })
  })

  it('that says nothing has said nothing', async () => {
    const [created] = textAnswer('x')
    const usage = { input_tokens: 50, output_tokens: 0, total_tokens: 50 }
    upstream.answerWith(
      streamed([created ?? {}, { type: 'response.completed', response: { status: 'completed', output: [], usage } }]),
    )
    const answer = await openGateway().call(aCall())
    expect(answer).toMatchObject({ status: 'completed', usageSource: 'reported', usage: { uncached: 50, output: 0 } })
    expect(answer.response?.output).toEqual([])
  })
})
