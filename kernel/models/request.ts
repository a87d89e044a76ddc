import { z } from 'zod'
import { KernelError } from '../errors.ts'

/**
 * The allowlist of a Responses request. What is not named here does not reach a provider: no hosted tools, no URLs that a
 * provider would fetch, no ids of things that it stores, no headers, no endpoint.
 */
const text = z.string()
const name = z.string().min(1).max(256)
const id = z
  .string()
  .max(256)
  .regex(/^[\w.:-]*$/)
const schemaObject = z.record(text, z.json())
const itemStatus = z.enum(['in_progress', 'completed', 'incomplete'])
const phase = z.enum(['commentary', 'final_answer']).nullable()

/** Links in an answer come from hosted tools; there are none, so there is nothing to echo. */
const nothing = z.array(z.json()).max(0)

const parts = {
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
    image_url: z
      .string()
      .regex(/^data:image\/[\w.+-]+;base64,[A-Za-z0-9+/=]*$/, 'must be a data: URL with base64 content'),
    detail: z.enum(['auto', 'low', 'high', 'original']).optional(),
  }),
  summary_text: z.strictObject({ type: z.literal('summary_text'), text }),
  reasoning_text: z.strictObject({ type: z.literal('reasoning_text'), text }),
}

const toolOutput = z.union([text, z.array(z.discriminatedUnion('type', [parts.input_text, parts.input_image]))])

const items = {
  message: z.strictObject({
    type: z.literal('message').optional(),
    id: id.optional(),
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    status: itemStatus.optional(),
    phase: phase.optional(),
    content: z.union([
      text,
      z.array(z.discriminatedUnion('type', [parts.input_text, parts.output_text, parts.refusal, parts.input_image])),
    ]),
  }),
  reasoning: z.strictObject({
    type: z.literal('reasoning'),
    id,
    status: itemStatus.nullable().optional(),
    summary: z.array(parts.summary_text),
    content: z.array(parts.reasoning_text).nullable().optional(),
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
          z.strictObject({
            type: z.literal('json_schema'),
            name,
            description: text.optional(),
            schema: schemaObject,
            strict: z.boolean().nullable().optional(),
          }),
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

export type InputItem = z.infer<(typeof items)[keyof typeof items]>
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
  if (fields.model !== model)
    throw invalid(`model: this task runs on '${model}', not '${fields.model}'; send that name`)
  if (typeof fields.input !== 'string')
    for (const [index, item] of fields.input.entries()) checkKind(items, item, `input[${index}]`, 'message')
  for (const [index, tool] of (fields.tools ?? []).entries()) checkKind(tools, tool, `tools[${index}]`, null)
  return body as ResponsesBody
}

/** Checks against the schema of the value's own `type`: an error then names the field, not the list of alternatives. */
function checkKind(kinds: Record<string, z.ZodType>, value: unknown, at: string, otherwise: string | null): void {
  if (typeof value !== 'object' || value === null) throw invalid(`${at}: must be an object`)
  const type = 'type' in value ? value.type : otherwise
  if (typeof type !== 'string' || !Object.hasOwn(kinds, type))
    throw invalid(
      `${at}.type: ${JSON.stringify(type)?.slice(0, 100)} is not allowed; allowed are ${Object.keys(kinds).join(', ')}`,
    )
  check(kinds[type] as z.ZodType, value, at)
}

function check<T extends z.ZodType>(schema: T, value: unknown, at: string): z.infer<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = deepest(parsed.error.issues)
  const path = [at, ...issue.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))]
    .join('')
    .replace(/^\./, '')
  if (issue.code === 'unrecognized_keys')
    throw invalid(
      `${[path, issue.keys[0]].filter(Boolean).join('.').slice(0, 200)}: unknown field; it is not among those that may be sent`,
    )
  throw invalid(`${path.slice(0, 200)}: ${issue.message.slice(0, 300)}`)
}

type Issue = z.core.$ZodIssue

/** A union reports one issue that hides the alternatives' own: the one that got furthest says what is wrong. */
function deepest(issues: readonly Issue[], above: PropertyKey[] = []): Issue {
  const found = issues.map((issue): Issue => {
    const path = [...above, ...issue.path]
    return issue.code === 'invalid_union' && issue.errors.length > 0
      ? deepest(issue.errors.flat(), path)
      : { ...issue, path }
  })
  return found.reduce((best, issue) =>
    issue.path.length > best.path.length ||
    (issue.code === 'unrecognized_keys' && best.code !== 'unrecognized_keys' && issue.path.length === best.path.length)
      ? issue
      : best,
  )
}

function invalid(message: string): KernelError {
  return new KernelError('invalid', `model.call body: ${message}`)
}
