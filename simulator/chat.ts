import type { Answer } from './answer.ts'
import { pieces, type ResponseFacts } from './responses.ts'

type ToolCall =
  | { id: string; type: 'function'; function: { name: string; arguments: string } }
  | { id: string; type: 'custom'; custom: { name: string; input: string } }

/** What Chat Completions says about one request, as one object. Reasoning is counted and, as at OpenAI, not shown. */
export function chatCompletion(facts: ResponseFacts): Record<string, unknown> {
  const { content, refusal, calls } = partsOf(facts.answer)
  const message = {
    role: 'assistant',
    content: content === '' && (calls.length > 0 || refusal !== null) ? null : content,
    refusal,
    annotations: [],
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  }
  const choice = { index: 0, message, logprobs: null, finish_reason: finishReason(facts.answer, calls) }
  return {
    ...head(facts, 'chat.completion'),
    choices: [choice],
    ...(facts.usage === null ? {} : { usage: usageOf(facts) }),
  }
}

/** The same as it is streamed. */
export function* chatBlocks(facts: ResponseFacts, withUsage: boolean): Generator<string> {
  for (const chunk of chatChunks(facts, withUsage)) yield `data: ${JSON.stringify(chunk)}\n\n`
  yield 'data: [DONE]\n\n'
}

/** Usage comes last and only where it was asked for. */
function* chatChunks(facts: ResponseFacts, withUsage: boolean): Generator<Record<string, unknown>> {
  const { content, refusal, calls } = partsOf(facts.answer)
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...head(facts, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    ...(withUsage ? { usage: null } : {}),
  })
  yield chunk({ role: 'assistant', content: content === '' && calls.length > 0 ? null : '', refusal: null })
  for (const piece of pieces(content)) yield chunk({ content: piece })
  for (const piece of pieces(refusal ?? '')) yield chunk({ refusal: piece })
  for (const [index, call] of calls.entries()) {
    yield chunk({ tool_calls: [{ index, ...emptied(call) }] })
    const given = call.type === 'function' ? call.function.arguments : call.custom.input
    for (const piece of pieces(given))
      yield chunk({
        tool_calls: [
          call.type === 'function' ? { index, function: { arguments: piece } } : { index, custom: { input: piece } },
        ],
      })
  }
  yield chunk({}, finishReason(facts.answer, calls))
  if (withUsage && facts.usage !== null)
    yield { ...head(facts, 'chat.completion.chunk'), choices: [], usage: usageOf(facts) }
}

function head({ answer, createdAt, model }: ResponseFacts, object: string) {
  return { id: answer.id.replace('resp_', 'chatcmpl-'), object, created: createdAt, model, system_fingerprint: null }
}

function partsOf({ output }: Answer): { content: string; refusal: string | null; calls: ToolCall[] } {
  let content = ''
  let refusal: string | null = null
  const calls: ToolCall[] = []
  for (const item of output) {
    if (item.type === 'message') {
      for (const part of item.content) {
        if (part.type === 'output_text') content += part.text
        else refusal = `${refusal ?? ''}${part.refusal}`
      }
    } else if (item.type === 'function_call')
      calls.push({ id: item.call_id, type: 'function', function: { name: item.name, arguments: item.arguments } })
    else if (item.type === 'custom_tool_call')
      calls.push({ id: item.call_id, type: 'custom', custom: { name: item.name, input: item.input } })
  }
  return { content, refusal, calls }
}

function emptied(call: ToolCall): ToolCall {
  return call.type === 'function'
    ? { ...call, function: { ...call.function, arguments: '' } }
    : { ...call, custom: { ...call.custom, input: '' } }
}

function finishReason({ isComplete }: Answer, calls: readonly ToolCall[]): string {
  if (!isComplete) return 'length'
  return calls.length > 0 ? 'tool_calls' : 'stop'
}

function usageOf({ usage }: ResponseFacts) {
  if (usage === null) return null
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  }
}
