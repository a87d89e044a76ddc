import { type Api, type Item, isReasoner, outputLimit, schema } from './model.ts'

/** Chat Completions: instructions are the first message, an answer is one message with its calls, a result one of the role tool. */
export const chat: Api = {
  request: ({ model, cacheKey, instructions, tools, input, mayCall }) => ({
    api: 'chat',
    body: {
      model: model.name,
      messages: [{ role: 'system', content: instructions }, ...input],
      tools: tools.map((tool) => ({
        type: 'function',
        function: { name: tool.name, description: tool.description, parameters: schema(tool) },
      })),
      // Servers other than OpenAI's know the older name, and some refuse a field that they do not know.
      ...(isReasoner(model)
        ? { max_completion_tokens: outputLimit(model), prompt_cache_key: cacheKey }
        : { max_tokens: outputLimit(model) }),
      ...(mayCall ? {} : { tool_choice: 'none' }),
    },
  }),

  result: (call, output) => ({ role: 'tool', tool_call_id: call, content: output }),

  read(response) {
    const [choice] = (response.choices ?? []) as Item[]
    const message = (choice?.message ?? {}) as Item
    const text = String(message.content ?? '')
    const refusal = String(message.refusal ?? '')
    const calls = ((message.tool_calls ?? []) as Item[]).map((call) => {
      const { name, arguments: given } = (call.function ?? {}) as Item
      return { id: String(call.id), name: String(name), arguments: String(given) }
    })
    // A message that says nothing is none, as in history: services refuse to have it sent back.
    return { items: text + refusal === '' && calls.length === 0 ? [] : [message], calls, text, refusal }
  },
}
