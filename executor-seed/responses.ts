import { type Api, type Item, isReasoner, outputLimit, schema } from './model.ts'

/** The Responses API: instructions apart, a call and its result are items of their own. */
export const responses: Api = {
  request: ({ model, cacheKey, instructions, tools, input, mayCall }) => ({
    api: 'responses',
    body: {
      model: model.name,
      instructions,
      tools: tools.map((tool) => ({
        type: 'function',
        name: tool.name,
        description: tool.description,
        parameters: schema(tool),
        strict: false,
      })),
      input,
      max_output_tokens: outputLimit(model),
      prompt_cache_key: cacheKey,
      // Nothing is stored at the provider, so a reasoning item can be sent back only in its encrypted form.
      ...(isReasoner(model) ? { include: ['reasoning.encrypted_content'] } : {}),
      ...(mayCall ? {} : { tool_choice: 'none' }),
    },
  }),

  result: (call, output) => ({ type: 'function_call_output', call_id: call, output }),

  read(response) {
    const output = (response.output ?? []) as Item[]
    const items = output.filter((item) => item.type !== 'function_call' || item.status !== 'incomplete')
    const calls = items
      .filter((item) => item.type === 'function_call')
      .map((item) => ({ id: String(item.call_id), name: String(item.name), arguments: String(item.arguments) }))
    const parts = items
      .filter((item) => item.type === 'message')
      .flatMap((item) => (Array.isArray(item.content) ? (item.content as Item[]) : []))
    const all = (type: string, field: string) =>
      parts.map((part) => (part.type === type ? String(part[field]) : '')).join('')
    return { items, calls, text: all('output_text', 'text'), refusal: all('refusal', 'refusal') }
  },
}
