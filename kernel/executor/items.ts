import type { RequestDraft } from '../history/history.ts'
import type { TokenCounter } from '../models/models.ts'
import type { EventData, requestItemKinds } from '../wire/events.ts'

/** What a request or an answer is made of, whichever API it speaks. Everything here comes from an executor or a provider: nothing is assumed. */
export type Api = 'responses' | 'chat'
type Body = Readonly<Record<string, unknown>>

/** One item of a conversation: a message, a call, an output. `json` is what its hash is taken over. */
export interface Item {
  value: unknown
  json: string
}

export interface ToolCall {
  call: string
  name: string
  arguments: string
}
export interface ToolOutput {
  call: string
  text: string
}

/** The field of the body that holds the conversation. */
export const conversationField = { responses: 'input', chat: 'messages' } as const

export function itemOf(value: unknown): Item {
  return { value, json: JSON.stringify(value) ?? 'null' }
}

/** Stored order: instructions and tools first, since that is what a provider's cache sees first. */
export function requestItems(api: Api, body: Body, items: readonly Item[]): RequestDraft['items'] {
  const lead = api === 'chat' ? leadingInstructions(items) : 0
  const stored: RequestDraft['items'] = []
  if (typeof body.instructions === 'string') {
    stored.push({ kind: 'instructions', json: JSON.stringify(body.instructions) })
  }
  for (const { json } of items.slice(0, lead)) stored.push({ kind: 'instructions', json })
  if (Array.isArray(body.tools)) stored.push({ kind: 'tools', json: JSON.stringify(body.tools) })
  for (const { json } of items.slice(lead)) stored.push({ kind: 'item', json })
  return stored
}

/**
 * Tokens by part of the request; by o200k, memoised by the counter, so that a step pays for new items alone.
 * @param kept texts that the agent has kept for itself: a message that holds one is memory.
 */
export function composition(
  api: Api,
  body: Body,
  items: readonly Item[],
  tokens: TokenCounter,
  kept: readonly string[] = [],
): Required<EventData<'model.called'>['composition']> {
  const lead = api === 'chat' ? leadingInstructions(items) : 0
  const parts = { instructions: 0, tools: 0, memory: 0, messages: 0, toolResults: 0 }
  if (typeof body.instructions === 'string') parts.instructions += tokens.count(body.instructions)
  if (Array.isArray(body.tools)) parts.tools += tokens.count(JSON.stringify(body.tools))
  for (const [index, { value }] of items.entries()) {
    const count = itemTokens(value, tokens)
    if (index < lead) parts.instructions += count
    else if (outputOf(value)) parts.toolResults += count
    else if (isMemory(value, kept)) parts.memory += count
    else parts.messages += count
  }
  return parts
}

/** What one item of the conversation is. */
export function itemKind(value: unknown, kept: readonly string[]): (typeof requestItemKinds)[number] {
  if (outputOf(value)) return 'tool-result'
  if (isObject(value) && value.type === 'reasoning') return 'reasoning'
  if (callsOf(value).length > 0) return 'tool-call'
  return isMemory(value, kept) ? 'memory' : 'message'
}

/** What the model said itself is no memory, though it be kept word for word. */
function isMemory(value: unknown, kept: readonly string[]): boolean {
  if (kept.length === 0 || (isObject(value) && value.role === 'assistant')) return false
  const text = textOf(value)
  return kept.some((one) => text.includes(one))
}

/** As `composition` counts one item of the conversation. */
export function itemTokens(value: unknown, tokens: TokenCounter): number {
  return tokens.count(outputOf(value)?.text ?? textOf(value))
}

/**
 * The answer's items in order; of Chat, the first choice's message. What a provider would refuse to have sent back is none:
 * a call that was cut off, a message that says nothing.
 */
export function answerItems(api: Api, response: Body | null): Item[] {
  if (api === 'responses') {
    return Array.isArray(response?.output) ? response.output.filter((item) => !isCutCall(item)).map(itemOf) : []
  }
  const choice: unknown = Array.isArray(response?.choices) ? response.choices[0] : undefined
  const message = isObject(choice) ? choice.message : undefined
  return isObject(message) && saysSomething(message) ? [itemOf(message)] : []
}

function isCutCall(item: unknown): boolean {
  if (!isObject(item) || (item.type !== 'function_call' && item.type !== 'custom_tool_call')) return false
  return item.status === 'incomplete' || item.status === 'in_progress'
}

function saysSomething({ content, refusal, tool_calls: calls }: Record<string, unknown>): boolean {
  const isSaid = (text: unknown) => text !== undefined && text !== null && text !== ''
  return isSaid(content) || isSaid(refusal) || (Array.isArray(calls) && calls.length > 0)
}

export function typeOf(item: unknown): string {
  return isObject(item) && typeof item.type === 'string' ? item.type.slice(0, 64) : 'message'
}

/** The calls that the model has asked for. */
export function toolCalls(items: readonly Item[]): ToolCall[] {
  return items.flatMap(({ value }) => callsOf(value))
}

/** The outputs of tools among these items. */
export function toolOutputs(items: readonly Item[]): ToolOutput[] {
  return items.flatMap(({ value }) => outputOf(value) ?? [])
}

function callsOf(item: unknown): ToolCall[] {
  if (!isObject(item)) return []
  if (Array.isArray(item.tool_calls)) return item.tool_calls.flatMap(chatCall)
  if (item.type !== 'function_call' && item.type !== 'custom_tool_call') return []
  const given = item.type === 'function_call' ? item.arguments : item.input
  if (typeof item.call_id !== 'string' || typeof item.name !== 'string' || typeof given !== 'string') return []
  return [{ call: item.call_id, name: item.name, arguments: given }]
}

function chatCall(value: unknown): ToolCall[] {
  if (!isObject(value) || typeof value.id !== 'string') return []
  const called = value.function ?? value.custom
  if (!isObject(called)) return []
  const { name, arguments: given = called.input } = called
  return typeof name === 'string' && typeof given === 'string' ? [{ call: value.id, name, arguments: given }] : []
}

function outputOf(item: unknown): ToolOutput | null {
  if (!isObject(item)) return null
  if (item.role === 'tool' && typeof item.tool_call_id === 'string') {
    return { call: item.tool_call_id, text: contentText(item.content) }
  }
  const isOutput = item.type === 'function_call_output' || item.type === 'custom_tool_call_output'
  if (!isOutput || typeof item.call_id !== 'string') return null
  return { call: item.call_id, text: contentText(item.output) }
}

function textOf(item: unknown): string {
  if (typeof item === 'string') return item
  if (!isObject(item)) return ''
  const calls = callsOf(item).map((call) => `${call.name} ${call.arguments}`)
  return [contentText(item.content), contentText(item.summary), ...calls].filter((part) => part !== '').join('\n')
}

/** A string, or the texts of its parts; images have no text. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.flatMap((part) => (isObject(part) && typeof part.text === 'string' ? [part.text] : [])).join('\n')
}

function leadingInstructions(items: readonly Item[]): number {
  const first = items.findIndex(
    ({ value }) => !isObject(value) || (value.role !== 'system' && value.role !== 'developer'),
  )
  return first === -1 ? items.length : first
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
