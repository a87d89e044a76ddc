import type { ExecutorToKernel, Json, ModelBrief, ModelCallResult } from '#wire'
import type { Item } from './context.ts'
import type { AnyTool } from './tool.ts'
import { WireError } from './wire.ts'

/** What the policy wants said, apart from how the Responses API words it. */
export interface Request {
  model: ModelBrief
  /** Names the prompt cache that the requests of a task share. */
  cacheKey: string
  instructions: string
  tools: readonly AnyTool[]
  input: Json[]
  /** False: an answer in text only. */
  mayCall: boolean
}

export interface Call {
  id: string
  name: string
  /** JSON, as the model wrote it. */
  arguments: string
}

export interface Answer {
  seq: number
  items: Item[]
  calls: Call[]
  text: string
  /** Of the request and this answer. */
  tokens: number
}

/** Keeps the budget that a call reserves small; no step of ours needs longer answers. */
const OUTPUT_TOKENS_MAX = 16_384

export function request(wanted: Request): ExecutorToKernel['model.call']['params'] {
  const { model } = wanted
  if (model.api !== 'responses')
    throw new WireError(
      'invalid',
      `this policy speaks the Responses API only, and ${model.name} is set to ${model.api}`,
    )
  return {
    api: 'responses',
    body: {
      model: model.name,
      instructions: wanted.instructions,
      tools: wanted.tools.map(declaration),
      input: wanted.input,
      max_output_tokens: Math.min(model.maxOutputTokens, OUTPUT_TOKENS_MAX),
      prompt_cache_key: wanted.cacheKey,
      // Nothing is stored at the provider, so a reasoning item can be sent back only in its encrypted form.
      ...(/^(o\d|gpt-[5-9])/.test(model.name) ? { include: ['reasoning.encrypted_content'] } : {}),
      ...(wanted.mayCall ? {} : { tool_choice: 'none' }),
    },
  }
}

function declaration(tool: AnyTool): Item {
  const parameters = { type: 'object', properties: tool.properties, required: [...tool.required] }
  return { type: 'function', name: tool.name, description: tool.description, parameters, strict: false }
}

export function readAnswer(result: ModelCallResult): Answer {
  const items = (result.response.output ?? []) as Item[]
  const calls = items
    .filter((item) => item.type === 'function_call')
    .map((item) => ({ id: String(item.call_id), name: String(item.name), arguments: String(item.arguments) }))
  const text = items
    .filter((item) => item.type === 'message')
    .flatMap((item) => (Array.isArray(item.content) ? (item.content as Item[]) : []))
    .map((part) => (part.type === 'output_text' ? String(part.text) : ''))
    .join('')
  const { uncached, cacheRead, cacheWrite, output } = result.usage
  return { seq: result.seq, items, calls, text, tokens: uncached + cacheRead + cacheWrite + output }
}
