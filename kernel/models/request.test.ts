import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FakeUpstream } from '../testing/fake-upstream.ts'
import { type GatewayBench, openGatewayBench } from '../testing/gateway.ts'

let upstream: FakeUpstream
let openGateway: GatewayBench['openGateway']
let aCall: GatewayBench['aCall']

beforeEach(async () => {
  ;({ upstream, openGateway, aCall } = await openGatewayBench())
})
afterEach(() => upstream.close())

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
  ])('[S2] [M2] refuses %j, names the field and sends nothing', async (body, field) => {
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
