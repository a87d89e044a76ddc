import { ApiError } from './errors.ts'
import type { Item, OfferedTool, PlayerRequest } from './players/player.ts'
import type { Stretch } from './tokens.ts'

/** A `/responses` body, read: what the player sees, what is counted, and what shapes the answer. */
export interface ParsedRequest {
  player: PlayerRequest
  /** The prompt in order, as tokens. */
  prompt: Stretch[]
  cacheKey: string | null
  maxOutputTokens: number | null
  parallelToolCalls: boolean
  stream: boolean
}

type Fields = Record<string, unknown>
type Tokenise = (kind: string, text: string) => Stretch

export function parseResponsesRequest(body: Fields, seed: number, tokenise: Tokenise): ParsedRequest {
  const model = optionalText(body, 'model')
  if (model === null) throw new ApiError(400, "Missing required parameter: 'model'.", { param: 'model' })
  const instructions = optionalText(body, 'instructions') ?? ''
  const tools = list(body, 'tools').map(readTool)
  const input = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : list(body, 'input')
  const items = input.map(readItem)
  const prompt = [
    ...(tools.length > 0 ? [tokenise('tools', JSON.stringify(body.tools))] : []),
    ...(instructions === '' ? [] : [tokenise('instructions', instructions)]),
    ...items.map((item) => tokenise(item.type === 'message' ? `message ${item.role}` : item.type, countedText(item))),
  ]
  return {
    player: { model, instructions, tools, items, seed },
    prompt,
    cacheKey: optionalText(body, 'prompt_cache_key'),
    maxOutputTokens: optionalCount(body, 'max_output_tokens'),
    parallelToolCalls: body.parallel_tool_calls !== false,
    stream: body.stream === true,
  }
}

function countedText(item: Item): string {
  return item.type === 'call' ? `${item.name}${item.arguments}` : item.text
}

function readTool(value: unknown, index: number): OfferedTool {
  const tool = fields(value, `tools[${index}]`)
  if (tool.type !== 'function' && tool.type !== 'custom')
    throw new ApiError(400, `The simulator has no hosted tools: tools[${index}].type must be 'function' or 'custom'.`, {
      param: `tools[${index}].type`,
    })
  if (typeof tool.name !== 'string') throw missing(`tools[${index}].name`)
  return {
    type: tool.type,
    name: tool.name,
    description: typeof tool.description === 'string' ? tool.description : '',
    parameters: typeof tool.parameters === 'object' && tool.parameters !== null ? { ...tool.parameters } : {},
  }
}

const roles = ['system', 'developer', 'user', 'assistant'] as const

function readItem(value: unknown, index: number): Item {
  const at = `input[${index}]`
  const item = fields(value, at)
  switch (item.type ?? 'message') {
    case 'message': {
      const role = roles.find((known) => known === item.role)
      if (role === undefined)
        throw new ApiError(400, `Invalid value: '${item.role}' at ${at}.role.`, { param: `${at}.role` })
      return { type: 'message', role, text: textOf(item.content, `${at}.content`) }
    }
    case 'function_call':
      return {
        type: 'call',
        callId: text(item, 'call_id', at),
        name: text(item, 'name', at),
        arguments: text(item, 'arguments', at),
      }
    case 'custom_tool_call':
      return {
        type: 'call',
        callId: text(item, 'call_id', at),
        name: text(item, 'name', at),
        arguments: text(item, 'input', at),
      }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { type: 'output', callId: text(item, 'call_id', at), text: textOf(item.output, `${at}.output`) }
    case 'reasoning':
      return { type: 'reasoning', text: textOf(item.summary ?? [], `${at}.summary`) }
    default:
      throw new ApiError(400, `Invalid value: '${item.type}' at ${at}.type.`, { param: `${at}.type` })
  }
}

/** A string, or the texts of a list of parts; an image stands as its URL's head, so that another image is another text. */
function textOf(content: unknown, at: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw missing(at)
  return content
    .map((value, index) => {
      const part = fields(value, `${at}[${index}]`)
      if (typeof part.text === 'string') return part.text
      if (part.type === 'input_image' && typeof part.image_url === 'string')
        return `[image ${part.image_url.slice(0, 1024)}]`
      throw new ApiError(400, `Invalid value: '${part.type}' at ${at}[${index}].type.`, {
        param: `${at}[${index}].type`,
      })
    })
    .join('\n')
}

function fields(value: unknown, at: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ApiError(400, `${at} must be an object.`, { param: at })
  return value as Fields
}

function list(body: Fields, name: string): unknown[] {
  const value = body[name] ?? []
  if (!Array.isArray(value)) throw new ApiError(400, `${name} must be an array.`, { param: name })
  return value
}

function text(item: Fields, name: string, at: string): string {
  const value = item[name]
  if (typeof value !== 'string') throw missing(`${at}.${name}`)
  return value
}

function optionalText(body: Fields, name: string): string | null {
  const value = body[name] ?? null
  if (value !== null && typeof value !== 'string') throw new ApiError(400, `${name} must be a string.`, { param: name })
  return value
}

function optionalCount(body: Fields, name: string): number | null {
  const value = body[name] ?? null
  if (value !== null && (typeof value !== 'number' || !Number.isInteger(value) || value < 1))
    throw new ApiError(400, `${name} must be a positive integer.`, { param: name })
  return value
}

function missing(at: string): ApiError {
  return new ApiError(400, `Missing required parameter: '${at}'.`, { param: at })
}
