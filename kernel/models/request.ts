import { z } from 'zod'
import {
  check,
  checkKind,
  checkModel,
  callId as id,
  imageUrl,
  jsonSchemaFormat,
  toolName as name,
  nothing,
  schemaObject,
  text,
} from './allowlist.ts'

/** The allowlist of a Responses request. */
const itemStatus = z.enum(['in_progress', 'completed', 'incomplete'])
const phase = z.enum(['commentary', 'final_answer']).nullable()

export const contentParts = {
  input_text: z.strictObject({ type: z.literal('input_text'), text }),
  output_text: z.strictObject({
    type: z.literal('output_text'),
    text,
    annotations: nothing.optional(),
    logprobs: nothing.optional(),
  }),
  refusal: z.strictObject({ type: z.literal('refusal'), refusal: text }),
  input_image: z.strictObject({
    type: z.literal('input_image'),
    image_url: imageUrl,
    detail: z.enum(['auto', 'low', 'high', 'original']).optional(),
  }),
  summary_text: z.strictObject({ type: z.literal('summary_text'), text }),
  reasoning_text: z.strictObject({ type: z.literal('reasoning_text'), text }),
}

const toolOutput = z.union([
  text,
  z.array(z.discriminatedUnion('type', [contentParts.input_text, contentParts.input_image])),
])

export const inputItems = {
  message: z.strictObject({
    type: z.literal('message').optional(),
    id: id.optional(),
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    status: itemStatus.optional(),
    phase: phase.optional(),
    content: z.union([
      text,
      z.array(
        z.discriminatedUnion('type', [
          contentParts.input_text,
          contentParts.output_text,
          contentParts.refusal,
          contentParts.input_image,
        ]),
      ),
    ]),
  }),
  reasoning: z.strictObject({
    type: z.literal('reasoning'),
    id,
    status: itemStatus.nullable().optional(),
    summary: z.array(contentParts.summary_text),
    content: z.array(contentParts.reasoning_text).nullable().optional(),
    encrypted_content: text.nullable().optional(),
  }),
  function_call: z.strictObject({
    type: z.literal('function_call'),
    id: id.optional(),
    status: itemStatus.optional(),
    call_id: id,
    name,
    arguments: text,
  }),
  function_call_output: z.strictObject({
    type: z.literal('function_call_output'),
    id: id.optional(),
    status: itemStatus.optional(),
    call_id: id,
    output: toolOutput,
  }),
  custom_tool_call: z.strictObject({
    type: z.literal('custom_tool_call'),
    id: id.optional(),
    status: itemStatus.optional(),
    call_id: id,
    name,
    input: text,
  }),
  custom_tool_call_output: z.strictObject({
    type: z.literal('custom_tool_call_output'),
    id: id.optional(),
    status: itemStatus.optional(),
    call_id: id,
    output: toolOutput,
  }),
}

const tools = {
  function: z.strictObject({
    type: z.literal('function'),
    name,
    description: text.nullable().optional(),
    parameters: schemaObject.nullable(),
    strict: z.boolean().nullable().optional(),
  }),
  custom: z.strictObject({
    type: z.literal('custom'),
    name,
    description: text.optional(),
    format: z
      .discriminatedUnion('type', [
        z.strictObject({ type: z.literal('text') }),
        z.strictObject({ type: z.literal('grammar'), syntax: z.enum(['lark', 'regex']), definition: text }),
      ])
      .optional(),
  }),
}

const namedTool = z.strictObject({ type: z.enum(['function', 'custom']), name })

const bodySchema = z.strictObject({
  model: text,
  instructions: text.nullable().optional(),
  input: z.union([text, z.array(z.unknown())]),
  tools: z.array(z.unknown()).optional(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      namedTool,
      z.strictObject({
        type: z.literal('allowed_tools'),
        mode: z.enum(['auto', 'required']),
        tools: z.array(namedTool),
      }),
    ])
    .optional(),
  parallel_tool_calls: z.boolean().nullable().optional(),
  max_output_tokens: z.number().int().positive().nullable().optional(),
  temperature: z.number().min(0).max(2).nullable().optional(),
  top_p: z.number().min(0).max(1).nullable().optional(),
  reasoning: z
    .strictObject({
      effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullable().optional(),
      summary: z.enum(['auto', 'concise', 'detailed']).nullable().optional(),
    })
    .nullable()
    .optional(),
  text: z
    .strictObject({
      verbosity: z.enum(['low', 'medium', 'high']).nullable().optional(),
      format: z
        .discriminatedUnion('type', [
          z.strictObject({ type: z.literal('text') }),
          z.strictObject({ type: z.literal('json_object') }),
          jsonSchemaFormat.extend({ type: z.literal('json_schema') }),
        ])
        .optional(),
    })
    .optional(),
  include: z
    .array(z.enum(['reasoning.encrypted_content']))
    .nullable()
    .optional(),
  prompt_cache_key: z.string().max(256).optional(),
  truncation: z.enum(['auto', 'disabled']).nullable().optional(),
})

export type InputItem = z.infer<(typeof inputItems)[keyof typeof inputItems]>
export type OfferedTool = z.infer<(typeof tools)[keyof typeof tools]>
export type ResponsesBody = Omit<z.infer<typeof bodySchema>, 'input' | 'tools'> & {
  input: string | InputItem[]
  tools?: OfferedTool[]
}

/**
 * The body, unchanged, once everything in it is allowed.
 * @throws KernelError `invalid`, naming the first field that is not allowed or has no sensible value.
 */
export function checkResponsesBody(body: Record<string, unknown>, model: string): ResponsesBody {
  const fields = check(bodySchema, body, '')
  checkModel(fields.model, model)
  if (typeof fields.input !== 'string')
    for (const [index, item] of fields.input.entries())
      checkKind(inputItems, item, `input[${index}]`, 'type', 'message')
  for (const [index, tool] of (fields.tools ?? []).entries()) checkKind(tools, tool, `tools[${index}]`, 'type', null)
  return body as ResponsesBody
}
