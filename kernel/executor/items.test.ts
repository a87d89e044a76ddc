import { describe, expect, it } from 'vitest'
import { answerItems, composition, itemKind, itemOf, requestItems, toolCalls, toolOutputs } from './items.ts'

const counter = { count: (text: string) => text.length }
const chat = (message: unknown) => ({ id: 'x', choices: [{ index: 0, message, finish_reason: 'stop' }] })
const called = (id: string, name: string, given: string) => ({
  id,
  type: 'function',
  function: { name, arguments: given },
})

describe('a request of Chat', () => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Go.' },
    { role: 'assistant', content: null, tool_calls: [called('c1', 'shell', '{}'), called('c2', 'read', '{"a":1}')] },
    { role: 'tool', tool_call_id: 'c1', content: 'one' },
    { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'two' }] },
    { role: 'system', content: 'Late.' },
  ]
  const items = messages.map(itemOf)
  const body = { model: 'm', messages, tools: [{ type: 'function', function: { name: 'shell' } }] }

  it('is stored with its standing instructions first, then its tools, then the rest in order', () => {
    expect(requestItems('chat', body, items).map(({ kind, json }) => [kind, JSON.parse(json)])).toEqual([
      ['instructions', messages[0]],
      ['tools', body.tools],
      ...messages.slice(1).map((message) => ['item', message]),
    ])
  })

  it('has its calls, outputs and tokens read from its messages', () => {
    expect(toolCalls(items)).toEqual([
      { call: 'c1', name: 'shell', arguments: '{}' },
      { call: 'c2', name: 'read', arguments: '{"a":1}' },
    ])
    expect(toolOutputs(items)).toEqual([
      { call: 'c1', text: 'one' },
      { call: 'c2', text: 'two' },
    ])
    expect(composition('chat', body, items, counter)).toEqual({
      instructions: 'Be brief.'.length,
      tools: JSON.stringify(body.tools).length,
      memory: 0,
      messages: 'Go.'.length + 'shell {}\nread {"a":1}'.length + 'Late.'.length,
      toolResults: 'one'.length + 'two'.length,
    })
  })
})

describe('an item of a request', () => {
  const summary = 'The eel pool lies east of the reeds.'
  const carried = { role: 'user', content: `Summary of the work so far:\n${summary}` }

  it('is memory where it carries what the agent kept, unless the model is who says it', () => {
    const said = { role: 'assistant', content: summary }
    const items = [carried, said, { role: 'user', content: 'Go.' }].map(itemOf)
    const { memory, messages } = composition('responses', {}, items, counter, [summary])
    expect({ memory, messages }).toEqual({ memory: carried.content.length, messages: summary.length + 3 })
    expect(composition('responses', {}, items, counter)).toMatchObject({ memory: 0 })
  })

  it.each([
    ['memory', carried],
    ['message', { role: 'user', content: 'Go.' }],
    ['message', { role: 'assistant', content: summary }],
    ['tool-call', { type: 'function_call', call_id: 'c', name: 'shell', arguments: '{}' }],
    ['tool-call', { role: 'assistant', content: null, tool_calls: [called('c1', 'shell', '{}')] }],
    ['tool-result', { type: 'function_call_output', call_id: 'c', output: summary }],
    ['tool-result', { role: 'tool', tool_call_id: 'c1', content: 'one' }],
    ['reasoning', { type: 'reasoning', summary: [] }],
    ['message', null],
  ])('%s is told from its shape: %j', (kind, value) => {
    expect(itemKind(value, [summary])).toBe(kind)
  })
})

describe('an answer', () => {
  it('of Chat is its first choice’s message, with function and custom calls', () => {
    const message = {
      role: 'assistant',
      content: 'Both.',
      tool_calls: [called('c1', 'shell', '{}'), { id: 'c2', type: 'custom', custom: { name: 'js', input: '1 + 1' } }],
    }
    const items = answerItems('chat', chat(message))
    expect(items).toEqual([itemOf(message)])
    expect(toolCalls(items)).toEqual([
      { call: 'c1', name: 'shell', arguments: '{}' },
      { call: 'c2', name: 'js', arguments: '1 + 1' },
    ])
  })

  it.each([
    ['says nothing', { role: 'assistant', content: '' }, 0],
    ['is null', { role: 'assistant', content: null, refusal: null, tool_calls: [] }, 0],
    ['only thinks', { role: 'assistant', content: '', reasoning_content: 'Hm.' }, 0],
    ['refuses', { role: 'assistant', content: null, refusal: 'No.' }, 1],
    ['speaks', { role: 'assistant', content: 'Yes.' }, 1],
  ])('of Chat that %s is an item or none', (_, message, count) => {
    expect(answerItems('chat', chat(message))).toHaveLength(count)
  })

  it('of Responses leaves out a call that was cut off, and keeps what was whole', () => {
    const call = (status: string) => ({ type: 'function_call', call_id: status, name: 'shell', arguments: '{', status })
    const text = { type: 'message', role: 'assistant', status: 'incomplete', content: [] }
    const output = [text, call('completed'), call('incomplete')]
    expect(answerItems('responses', { output }).map(({ value }) => value)).toEqual([text, call('completed')])
  })

  it.each([null, {}, { choices: [] }, { choices: 'x' }, { choices: [null] }, { choices: [{ message: [] }] }])(
    'that is none is empty: %j',
    (response) => {
      expect(answerItems('chat', response)).toEqual([])
      expect(answerItems('responses', response)).toEqual([])
    },
  )
})
