import type { ExecutorToKernel, Json, ModelBrief, ModelCallResult } from '#wire'
import type { AnyTool } from './tool.ts'

/** One element of a request's input, or of an answer. */
export type Item = { [key: string]: Json }

/** What the policy wants said, apart from how an API words it. */
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

/** What came back. A call that was cut off is none, as in history. */
export interface Answer {
  items: Item[]
  calls: Call[]
  text: string
  /** What the model said instead of an answer. */
  refusal: string
}

/** How an API words requests, tool results and answers. A message of the user's is the same in both. */
export interface Api {
  request(wanted: Request): ExecutorToKernel['model.call']['params']
  result(call: string, output: string): Item
  read(response: ModelCallResult['response']): Answer
}

/** Keeps the budget that a call reserves small; no step of ours needs longer answers. */
const OUTPUT_TOKENS_MAX = 16_384

export function outputLimit(model: ModelBrief): number {
  return Math.min(model.maxOutputTokens, OUTPUT_TOKENS_MAX)
}

/** OpenAI's models that reason take fields that others refuse. */
export function isReasoner(model: ModelBrief): boolean {
  return /^(o\d|gpt-[5-9])/.test(model.name)
}

export function schema(tool: AnyTool): Item {
  return { type: 'object', properties: tool.properties, required: [...tool.required] }
}
