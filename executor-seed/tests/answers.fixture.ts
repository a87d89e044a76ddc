import type { Json, TaskBrief } from '#wire'

/** An item of the Responses API, or a message of Chat. */
export type Output = { [key: string]: Json }
export type Api = TaskBrief['model']['api']

/** An answer that was cut off at its limit. */
export class Cut {
  readonly output: Output[]
  constructor(...output: Output[]) {
    this.output = output
  }
}

let lastCall = 0
export function calls(name: string, args: object): Output {
  lastCall += 1
  return {
    type: 'function_call',
    id: `fc_${lastCall}`,
    call_id: `call_${lastCall}`,
    name,
    arguments: JSON.stringify(args),
    status: 'completed',
  }
}

export function says(text: string): Output {
  return {
    type: 'message',
    id: `msg_${++lastCall}`,
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [] }],
  }
}

/** The calls among these items, of either API. */
export function callsIn(items: readonly Output[]): { id: string; name: string; given: string }[] {
  return items.flatMap((item) => {
    if (item.type === 'function_call') {
      return [{ id: String(item.call_id), name: String(item.name), given: String(item.arguments) }]
    }
    return ((item.tool_calls ?? []) as { id: string; function: { name: string; arguments: string } }[]).map(
      ({ id, function: called }) => ({ id, name: called.name, given: called.arguments }),
    )
  })
}

/** The results of calls among these items, of either API. */
export function resultsIn(items: readonly Output[]): { id: string; output: string }[] {
  return items.flatMap((item) => {
    if (item.type === 'function_call_output') return [{ id: String(item.call_id), output: String(item.output) }]
    return item.role === 'tool' ? [{ id: String(item.tool_call_id), output: String(item.content) }] : []
  })
}

/** Why a provider would refuse this conversation; null: it would not. */
export function unanswered(items: readonly Output[]): string | null {
  const open = new Set<string>()
  for (const item of items) {
    if (open.size > 0 && callsIn([item]).length + resultsIn([item]).length === 0 && item.role !== 'assistant') break
    for (const { id } of callsIn([item])) open.add(id)
    for (const { id } of resultsIn([item])) if (!open.delete(id)) return `${id} answers no call`
    if (item.role === 'assistant' && item.tool_calls === undefined && !item.content && !item.refusal)
      return 'an empty message'
  }
  return open.size === 0 ? null : `no output for ${[...open].join(', ')}`
}

const isCut = (item: Output) => item.type === 'function_call' && item.status === 'incomplete'

export function responsesAnswer(output: Output[], status: string): { response: Output; kept: Output[] } {
  return { response: { id: 'resp', model: 'sim', status, output }, kept: output.filter((item) => !isCut(item)) }
}

/** The same as one message, as the gateway hands it over. */
export function chatAnswer(output: Output[], status: string): { response: Output; kept: Output[] } {
  const parts = output.flatMap((item) => (item.type === 'message' ? (item.content as Output[]) : []))
  const all = (field: string) => parts.map((part) => String(part[field] ?? '')).join('')
  const calls = output
    .filter((item) => item.type === 'function_call' && !isCut(item))
    .map((item) => ({
      id: item.call_id ?? null,
      type: 'function',
      function: { name: item.name ?? null, arguments: item.arguments ?? null },
    }))
  const message: Output = {
    role: 'assistant',
    content: all('text') === '' && (calls.length > 0 || all('refusal') !== '') ? null : all('text'),
    ...(all('refusal') === '' ? {} : { refusal: all('refusal') }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  const saysNothing = message.content === '' && calls.length === 0
  const reason = status === 'incomplete' ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop'
  return {
    response: { id: 'chat', model: 'sim', choices: [{ index: 0, message, finish_reason: reason }] },
    kept: saysNothing ? [] : [message],
  }
}

export function refuses(text: string): Output {
  return {
    type: 'message',
    id: `msg_${++lastCall}`,
    role: 'assistant',
    content: [{ type: 'refusal', refusal: text }],
  }
}
