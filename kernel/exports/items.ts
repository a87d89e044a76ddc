// What a request or an answer is made of, whichever API it came by. All of it was written by a model or an executor:
// nothing of its form is assumed.

export interface Said {
  role: 'system' | 'user' | 'assistant' | 'tool' | null
  text: string
  reasoning: string
  calls: { id: string; name: string; arguments: string }[]
  /** The call that this is the result of. */
  resultOf: string | null
}

type Fields = Record<string, unknown>

/** One item of the Responses API, or one message of Chat Completions. */
export function saidBy(item: unknown): Said {
  const said: Said = { role: null, text: '', reasoning: '', calls: [], resultOf: null }
  if (typeof item === 'string') return { ...said, role: 'user', text: item }
  if (!isFields(item)) return said
  const role = item.role === 'developer' ? 'system' : item.role
  if (role === 'system' || role === 'user' || role === 'assistant') said.role = role
  said.text = textOf(item.content) || textOf(item.refusal)
  switch (item.type) {
    case 'function_call':
    case 'custom_tool_call': {
      const given = item.arguments ?? item.input
      return {
        ...said,
        role: 'assistant',
        calls: [{ id: str(item.call_id), name: str(item.name), arguments: str(given) }],
      }
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { ...said, role: 'tool', text: textOf(item.output), resultOf: str(item.call_id) }
    case 'reasoning':
      return { ...said, role: 'assistant', text: '', reasoning: textOf(item.summary) || textOf(item.content) }
  }
  if (item.role === 'tool') return { ...said, role: 'tool', resultOf: str(item.tool_call_id) }
  said.reasoning = str(item.reasoning_content) || str(item.reasoning)
  if (Array.isArray(item.tool_calls)) said.calls = item.tool_calls.flatMap(chatCall)
  return said
}

/** The items of one answer, taken together. */
export function answerOf(items: readonly unknown[]): Pick<Said, 'text' | 'reasoning' | 'calls'> {
  const parts = items.map(saidBy)
  const joined = (of: 'text' | 'reasoning') =>
    parts
      .map((part) => part[of])
      .filter((text) => text !== '')
      .join('\n\n')
  return { text: joined('text'), reasoning: joined('reasoning'), calls: parts.flatMap(({ calls }) => calls) }
}

export interface FunctionTool {
  type: 'function'
  function: { name: string; description?: string; parameters: Fields }
}

/** Tools as Chat Completions writes them; those of another kind than functions are left out. */
export function functionTools(tools: unknown): FunctionTool[] {
  if (!Array.isArray(tools)) return []
  return tools.flatMap((tool: unknown) => {
    if (!isFields(tool) || tool.type !== 'function') return []
    const from = isFields(tool.function) ? tool.function : tool
    if (typeof from.name !== 'string') return []
    const parameters = isFields(from.parameters) ? from.parameters : { type: 'object', properties: {} }
    const description = typeof from.description === 'string' ? { description: from.description } : {}
    return [{ type: 'function' as const, function: { name: from.name, ...description, parameters } }]
  })
}

function chatCall(value: unknown): Said['calls'] {
  if (!isFields(value)) return []
  const called = isFields(value.function) ? value.function : value.custom
  if (!isFields(called)) return []
  return [{ id: str(value.id), name: str(called.name), arguments: str(called.arguments ?? called.input) }]
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .flatMap((part) => (typeof part === 'string' ? [part] : isFields(part) ? [str(part.text ?? part.refusal)] : []))
    .filter((text) => text !== '')
    .join('\n')
}

const str = (value: unknown): string => (typeof value === 'string' ? value : value == null ? '' : JSON.stringify(value))

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
