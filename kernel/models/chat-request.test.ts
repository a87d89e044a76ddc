import { describe, expect, it } from 'vitest'
import { checkChatBody } from './chat-request.ts'

const user = { role: 'user', content: 'hi' }
const body = { model: 'm', messages: [user] }
const call = { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"half' } }

describe('a Chat Completions body', () => {
  it('passes unchanged with everything that a policy needs', () => {
    const whole = {
      model: 'm',
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'developer', content: [{ type: 'text', text: 'x' }] },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
        { role: 'assistant', content: null, reasoning_content: 'hm', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'done' },
        { role: 'assistant', content: null, refusal: 'no', annotations: [] },
      ],
      tools: [{ type: 'function', function: { name: 'read', parameters: { type: 'object' }, strict: true } }],
      tool_choice: { type: 'function', function: { name: 'read' } },
      parallel_tool_calls: false,
      max_completion_tokens: 100,
      reasoning_effort: 'low',
      stop: ['END'],
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } },
    }
    expect(checkChatBody(whole, 'm')).toBe(whole)
  })

  it.each([
    ['a base URL', { baseURL: 'http://127.0.0.1:1' }, 'baseURL'],
    ['headers', { headers: { host: 'x' } }, 'headers'],
    ['extra_headers', { extra_headers: {} }, 'extra_headers'],
    ['a proxy', { proxy: 'http://127.0.0.1:1' }, 'proxy'],
    ['extra_body', { extra_body: {} }, 'extra_body'],
    ['storage', { store: true }, 'store'],
    ['several answers', { n: 2 }, 'n'],
    ['a stream of its own', { stream: false }, 'stream'],
    ['web search', { web_search_options: {} }, 'web_search_options'],
    ['other providers', { provider: { order: ['x'] } }, 'provider'],
    ['other models', { models: ['x'] }, 'models'],
    ['a hosted tool', { tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    ['a hidden field of a message', { messages: [{ ...user, cache_control: {} }] }, 'messages[0].cache_control'],
    [
      'a link to an image',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://x' } }] }] },
      'messages[0].content[0].image_url.url',
    ],
    ['a file', { messages: [{ role: 'user', content: [{ type: 'file', file: {} }] }] }, 'messages[0].content'],
    ['an unknown role', { messages: [{ role: 'root', content: 'x' }] }, 'messages[0].role'],
    ['no messages', { messages: [] }, 'messages'],
    ['two limits', { max_tokens: 1, max_completion_tokens: 1 }, 'max_tokens'],
  ])('[S2] with %s is refused, and the field is named', (_, more, field) => {
    expect(() => checkChatBody({ ...body, ...more }, 'm')).toThrow(field)
    expect(checkChatBody(body, 'm')).toBe(body)
  })

  it.each([-1, 0, 1.5, '9', Number.NaN, Number.POSITIVE_INFINITY])('[M2] may not ask for %s tokens', (limit) => {
    for (const field of ['max_tokens', 'max_completion_tokens'])
      expect(() => checkChatBody({ ...body, [field]: limit }, 'm')).toThrow(field)
  })

  it('keeps to the model of its task', () => {
    expect(() => checkChatBody({ ...body, model: 'dearer' }, 'm')).toThrow("this task runs on 'm', not 'dearer'")
  })
})
