import { hash } from 'node:crypto'
import type { OfferedTool, PlayerDecision } from './players/player.ts'
import { countTokens, headOf } from './tokens.ts'

/** A player's decision as output items of the Responses API, with what they cost in tokens. */
export interface Answer {
  id: string
  output: OutputItem[]
  outputTokens: number
  /** Part of `outputTokens`. */
  reasoningTokens: number
  /** False when `maxOutputTokens` cut it. */
  isComplete: boolean
}

export type OutputItem =
  | { type: 'reasoning'; id: string; summary: { type: 'summary_text'; text: string }[] }
  | {
      type: 'message'
      id: string
      status: ItemStatus
      role: 'assistant'
      content: ({ type: 'output_text'; text: string; annotations: [] } | { type: 'refusal'; refusal: string })[]
    }
  | { type: 'function_call'; id: string; status: ItemStatus; call_id: string; name: string; arguments: string }
  | { type: 'custom_tool_call'; id: string; status: ItemStatus; call_id: string; name: string; input: string }

type ItemStatus = 'completed' | 'incomplete'

/** @param requestHash ids derive from it: the same request gets the same answer, byte for byte. */
export function buildAnswer(
  decision: PlayerDecision,
  options: { requestHash: string; tools: OfferedTool[]; maxOutputTokens: number; parallelToolCalls: boolean },
): Answer {
  const output: OutputItem[] = []
  let left = options.maxOutputTokens
  let isComplete = true
  const id = (prefix: string) => `${prefix}_${hash('sha256', `${options.requestHash} ${output.length}`).slice(0, 32)}`
  const take = (text: string): string => {
    const tokens = countTokens(text)
    if (tokens <= left) {
      left -= tokens
      return text
    }
    const head = headOf(text, left)
    left = 0
    isComplete = false
    return head
  }
  const status = (): ItemStatus => (isComplete ? 'completed' : 'incomplete')

  if (decision.reasoning !== undefined)
    output.push({
      type: 'reasoning',
      id: id('rs'),
      summary: [{ type: 'summary_text', text: take(decision.reasoning) }],
    })
  const reasoningTokens = options.maxOutputTokens - left
  if (decision.text !== undefined && isComplete) {
    const text = take(decision.text)
    output.push({
      type: 'message',
      id: id('msg'),
      status: status(),
      role: 'assistant',
      content: [{ type: 'output_text', text, annotations: [] }],
    })
  }
  const calls = decision.toolCalls ?? []
  for (const call of options.parallelToolCalls ? calls : calls.slice(0, 1)) {
    if (!isComplete) break
    const isCustom = options.tools.find((tool) => tool.name === call.name)?.type === 'custom'
    const name = take(call.name)
    const text = take(typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments))
    if (isCustom)
      output.push({ type: 'custom_tool_call', id: id('ctc'), status: status(), call_id: id('call'), name, input: text })
    else
      output.push({ type: 'function_call', id: id('fc'), status: status(), call_id: id('call'), name, arguments: text })
  }
  return {
    id: `resp_${options.requestHash.slice(0, 32)}`,
    output,
    outputTokens: options.maxOutputTokens - left,
    reasoningTokens,
    isComplete,
  }
}
