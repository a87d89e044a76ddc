import type { Event } from '../wire/events.ts'
import { isKind } from './entries.ts'
import type { Writer } from './exports.ts'
import { type FunctionTool, functionTools, saidBy } from './items.ts'

interface Example {
  event: Event<'model.called'>
  output: readonly unknown[]
  /** So many of the request's items stand in an example before. */
  known: number
}

interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string | null
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[]
  tool_call_id?: string
  /** 0: not to be learned from, as an example before has it. */
  weight?: 0 | 1
}

/**
 * What the model was sent and what it answered, an example a line, in the form that fine-tuning takes. A request that a
 * later one goes on from is part of that one's example: each answer is learned from once.
 */
export const fineTuning: Writer = async function* (entries, context) {
  const open = new Map<string, Example>()
  const line = async (example: Example) => {
    const items = await context.request(example.event)
    return exampleOf(items, example)
  }
  for await (const { event, output } of entries) {
    if (!isKind(event, 'model.called') || event.data.status !== 'completed' || output.length === 0) continue
    const task = event.task ?? ''
    const before = open.get(task)
    const { parent, keptItems } = event.data
    const goesOn = before !== undefined && parent === before.event.data.request && keptItems === before.event.data.items
    if (before !== undefined && !goesOn) yield await line(before)
    const known = before === undefined ? 0 : goesOn ? before.known : parent === null ? 0 : keptItems
    open.set(task, { event, output, known })
  }
  for (const example of open.values()) yield await line(example)
}

function exampleOf(items: readonly { kind: string; value: unknown }[], { output, known }: Example): string {
  const messages: Message[] = []
  let tools: FunctionTool[] = []
  for (const [index, { kind, value }] of items.entries()) {
    if (kind === 'tools') tools = functionTools(value)
    else if (kind === 'instructions' && typeof value === 'string') messages.push({ role: 'system', content: value })
    else add(messages, value, index < known ? 0 : 1)
  }
  for (const item of output) add(messages, item, 1)
  const isTaught = messages.some(({ role, weight }) => role === 'assistant' && weight === 1)
  return isTaught ? `${JSON.stringify({ messages, ...(tools.length === 0 ? {} : { tools }) })}\n` : ''
}

/** One answer is one message, though the Responses API has an item for each of its parts. */
function add(messages: Message[], item: unknown, weight: 0 | 1): void {
  const { role, text, calls, resultOf } = saidBy(item)
  if (role === null) return
  if (role === 'tool') {
    messages.push({ role, content: text, tool_call_id: resultOf ?? '' })
    return
  }
  if (role !== 'assistant') {
    messages.push({ role, content: text })
    return
  }
  if (text === '' && calls.length === 0) return
  const last = messages.at(-1)
  const isSame = last?.role === 'assistant' && last.weight === weight
  const message: Message = isSame ? last : { role, content: null, weight }
  if (!isSame) messages.push(message)
  if (text !== '') message.content = message.content === null ? text : `${message.content}\n\n${text}`
  const made = calls.map(({ id, name, arguments: given }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: given },
  }))
  if (made.length > 0) message.tool_calls = [...(message.tool_calls ?? []), ...made]
}
