import { z } from 'zod'
import {
  callId,
  check,
  checkKind,
  checkModel,
  imageUrl,
  invalid,
  jsonSchemaFormat,
  nothing,
  schemaObject,
  text,
  toolName,
} from './allowlist.ts'

/** The allowlist of a Chat Completions request. */
const parts = {
  text: z.strictObject({ type: z.literal('text'), text }),
  refusal: z.strictObject({ type: z.literal('refusal'), refusal: text }),
  image_url: z.strictObject({
    type: z.literal('image_url'),
    image_url: z.strictObject({ url: imageUrl, detail: z.enum(['auto', 'low', 'high']).optional() }),
  }),
}
const texts = z.union([text, z.array(parts.text)])
const name = toolName.optional()

const call = z.discriminatedUnion('type', [
  z.strictObject({
    id: callId,
    type: z.literal('function'),
    function: z.strictObject({ name: toolName, arguments: text }),
  }),
  z.strictObject({ id: callId, type: z.literal('custom'), custom: z.strictObject({ name: toolName, input: text }) }),
])

const messages = {
  system: z.strictObject({ role: z.literal('system'), content: texts, name }),
  developer: z.strictObject({ role: z.literal('developer'), content: texts, name }),
  user: z.strictObject({
    role: z.literal('user'),
    content: z.union([text, z.array(z.discriminatedUnion('type', [parts.text, parts.image_url]))]),
    name,
  }),
  assistant: z.strictObject({
    role: z.literal('assistant'),
    content: z
      .union([text, z.array(z.discriminatedUnion('type', [parts.text, parts.refusal]))])
      .nullable()
      .optional(),
    refusal: text.nullable().optional(),
    annotations: nothing.optional(),
    // What some local models think, under the name by which their servers give it and take it back.
    reasoning_content: text.nullable().optional(),
    reasoning: text.nullable().optional(),
    tool_calls: z.array(call).min(1).optional(),
    name,
  }),
  tool: z.strictObject({ role: z.literal('tool'), tool_call_id: callId, content: texts }),
}

const tools = {
  function: z.strictObject({
    type: z.literal('function'),
    function: z.strictObject({
      name: toolName,
      description: text.optional(),
      parameters: schemaObject.optional(),
      strict: z.boolean().nullable().optional(),
    }),
  }),
  custom: z.strictObject({
    type: z.literal('custom'),
    custom: z.strictObject({
      name: toolName,
      description: text.optional(),
      format: z
        .discriminatedUnion('type', [
          z.strictObject({ type: z.literal('text') }),
          z.strictObject({
            type: z.literal('grammar'),
            grammar: z.strictObject({ syntax: z.enum(['lark', 'regex']), definition: text }),
          }),
        ])
        .optional(),
    }),
  }),
}

const limit = z.number().int().positive().nullable().optional()
const penalty = z.number().min(-2).max(2).nullable().optional()

const bodySchema = z.strictObject({
  model: text,
  messages: z.array(z.unknown()).min(1),
  tools: z.array(z.unknown()).optional(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: toolName }) }),
      z.strictObject({ type: z.literal('custom'), custom: z.strictObject({ name: toolName }) }),
    ])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  max_tokens: limit,
  max_completion_tokens: limit,
  temperature: z.number().min(0).max(2).nullable().optional(),
  top_p: z.number().min(0).max(1).nullable().optional(),
  presence_penalty: penalty,
  frequency_penalty: penalty,
  seed: z.number().int().nullable().optional(),
  stop: z
    .union([text, z.array(text).max(4)])
    .nullable()
    .optional(),
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullable().optional(),
  verbosity: z.enum(['low', 'medium', 'high']).nullable().optional(),
  response_format: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text') }),
      z.strictObject({ type: z.literal('json_object') }),
      z.strictObject({ type: z.literal('json_schema'), json_schema: jsonSchemaFormat }),
    ])
    .optional(),
  prompt_cache_key: z.string().max(256).optional(),
})

export type ChatMessage = z.infer<(typeof messages)[keyof typeof messages]>
export type ChatBody = Omit<z.infer<typeof bodySchema>, 'messages' | 'tools'> & {
  messages: ChatMessage[]
  tools?: z.infer<(typeof tools)[keyof typeof tools]>[]
}

/**
 * The body, unchanged, once everything in it is allowed.
 * @throws KernelError `invalid`, naming the first field that is not allowed or has no sensible value.
 */
export function checkChatBody(body: Record<string, unknown>, model: string): ChatBody {
  const fields = check(bodySchema, body, '')
  checkModel(fields.model, model)
  if (fields.max_tokens != null && fields.max_completion_tokens != null)
    throw invalid('max_tokens: is the older name of max_completion_tokens; send one of them')
  for (const [index, message] of fields.messages.entries())
    checkKind(messages, message, `messages[${index}]`, 'role', null)
  for (const [index, tool] of (fields.tools ?? []).entries()) checkKind(tools, tool, `tools[${index}]`, 'type', null)
  return body as ChatBody
}
