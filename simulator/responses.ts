import type { Answer, OutputItem } from './answer.ts'
import type { Counts } from './usage.ts'

/** What is said about one request, whichever API asked. */
export interface ResponseFacts {
  model: string
  createdAt: number
  answer: Answer
  /** null: none is reported. */
  usage: Counts | null
}

export function responseObject({ model, createdAt, answer, usage }: ResponseFacts): Record<string, unknown> {
  return {
    id: answer.id,
    object: 'response',
    created_at: createdAt,
    status: answer.isComplete ? 'completed' : 'incomplete',
    error: null,
    incomplete_details: answer.isComplete ? null : { reason: 'max_output_tokens' },
    model,
    output: answer.output,
    store: false,
    usage:
      usage === null
        ? null
        : {
            input_tokens: usage.input,
            input_tokens_details: { cached_tokens: usage.cached },
            output_tokens: usage.output,
            output_tokens_details: { reasoning_tokens: usage.reasoning },
            total_tokens: usage.input + usage.output,
          },
  }
}

/** Characters in one delta: about eight tokens. */
const deltaLength = 32

/** The events as they go over the wire. */
export function* responseBlocks(facts: ResponseFacts): Generator<string> {
  let sequence = 0
  for (const event of responseEvents(facts)) {
    yield `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: sequence })}\n\n`
    sequence += 1
  }
}

/** The events in the order and nesting in which OpenAI sends them. */
function* responseEvents(facts: ResponseFacts): Generator<Record<string, unknown>> {
  const whole = responseObject(facts)
  const begun = { ...whole, status: 'in_progress', incomplete_details: null, output: [], usage: null }
  yield { type: 'response.created', response: begun }
  yield { type: 'response.in_progress', response: begun }
  for (const [index, item] of facts.answer.output.entries()) yield* itemEvents(item, index)
  yield { type: facts.answer.isComplete ? 'response.completed' : 'response.incomplete', response: whole }
}

function* itemEvents(item: OutputItem, outputIndex: number): Generator<Record<string, unknown>> {
  const place = { item_id: item.id, output_index: outputIndex }
  yield { type: 'response.output_item.added', output_index: outputIndex, item: emptied(item) }
  switch (item.type) {
    case 'reasoning':
      for (const [index, part] of item.summary.entries()) {
        const here = { ...place, summary_index: index }
        yield { type: 'response.reasoning_summary_part.added', ...here, part: { ...part, text: '' } }
        for (const delta of pieces(part.text)) yield { type: 'response.reasoning_summary_text.delta', ...here, delta }
        yield { type: 'response.reasoning_summary_text.done', ...here, text: part.text }
        yield { type: 'response.reasoning_summary_part.done', ...here, part }
      }
      break
    case 'message':
      for (const [index, part] of item.content.entries()) {
        const here = { ...place, content_index: index }
        if (part.type === 'refusal') {
          yield { type: 'response.content_part.added', ...here, part: { ...part, refusal: '' } }
          for (const delta of pieces(part.refusal)) yield { type: 'response.refusal.delta', ...here, delta }
          yield { type: 'response.refusal.done', ...here, refusal: part.refusal }
          yield { type: 'response.content_part.done', ...here, part }
          continue
        }
        yield { type: 'response.content_part.added', ...here, part: { ...part, text: '' } }
        for (const delta of pieces(part.text))
          yield { type: 'response.output_text.delta', ...here, delta, logprobs: [] }
        yield { type: 'response.output_text.done', ...here, text: part.text, logprobs: [] }
        yield { type: 'response.content_part.done', ...here, part }
      }
      break
    case 'function_call':
      for (const delta of pieces(item.arguments))
        yield { type: 'response.function_call_arguments.delta', ...place, delta }
      yield { type: 'response.function_call_arguments.done', ...place, name: item.name, arguments: item.arguments }
      break
    case 'custom_tool_call':
      for (const delta of pieces(item.input)) yield { type: 'response.custom_tool_call_input.delta', ...place, delta }
      yield { type: 'response.custom_tool_call_input.done', ...place, input: item.input }
      break
  }
  yield { type: 'response.output_item.done', output_index: outputIndex, item }
}

function emptied(item: OutputItem): Record<string, unknown> {
  switch (item.type) {
    case 'reasoning':
      return { ...item, summary: [] }
    case 'message':
      return { ...item, status: 'in_progress', content: [] }
    case 'function_call':
      return { ...item, status: 'in_progress', arguments: '' }
    case 'custom_tool_call':
      return { ...item, status: 'in_progress', input: '' }
  }
}

export function* pieces(text: string): Generator<string> {
  for (let start = 0; start < text.length; start += deltaLength) yield text.slice(start, start + deltaLength)
}
