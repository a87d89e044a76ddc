import { ApiError } from './errors.ts'
import { type Fields, fields, list, missing, optionalCount, optionalText, text, textOf } from './fields.ts'
import type { Item, OfferedTool, PlayerRequest } from './players/player.ts'
import type { Stretch } from './tokens.ts'

/** The body of a request, read: what the player sees, what is counted, and what shapes the answer. */
export interface ParsedRequest {
  player: PlayerRequest
  /** The prompt in order, as tokens. */
  prompt: Stretch[]
  cacheKey: string | null
  maxOutputTokens: number | null
  parallelToolCalls: boolean
  stream: boolean
  /** Whether a stream ends with the usage. */
  streamsUsage: boolean
}

export type Tokenise = (kind: string, text: string) => Stretch

export function parseResponsesRequest(body: Fields, seed: number, tokenise: Tokenise): ParsedRequest {
  const model = optionalText(body, 'model')
  if (model === null) throw missing('model')
  const instructions = optionalText(body, 'instructions') ?? ''
  const tools = list(body, 'tools').map(readTool)
  const input = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : list(body, 'input')
  const items = input.map(readItem)
  checkAnswers(items)
  return {
    player: { model, instructions, tools, items, seed },
    prompt: promptOf(body.tools, instructions, items, tokenise),
    cacheKey: optionalText(body, 'prompt_cache_key'),
    maxOutputTokens: optionalCount(body, 'max_output_tokens'),
    parallelToolCalls: body.parallel_tool_calls !== false,
    stream: body.stream === true,
    streamsUsage: true,
  }
}

/** As the real service: each call has its output, and each output its call. */
function checkAnswers(items: readonly Item[]): void {
  const open = new Set<string>()
  for (const item of items) {
    if (item.type === 'call') open.add(item.callId)
    else if (item.type === 'output' && !open.delete(item.callId))
      throw new ApiError(400, `No tool call found for function call output with call_id ${item.callId}.`, {
        param: 'input',
      })
  }
  for (const callId of open)
    throw new ApiError(400, `No tool output found for function call ${callId}.`, { param: 'input' })
}

/** Tools, instructions and items as they are counted. An item's kind is part of what it is: other kinds share no token. */
export function promptOf(tools: unknown, instructions: string, items: readonly Item[], tokenise: Tokenise): Stretch[] {
  return [
    ...(Array.isArray(tools) && tools.length > 0 ? [tokenise('tools', JSON.stringify(tools))] : []),
    ...(instructions === '' ? [] : [tokenise('instructions', instructions)]),
    ...items.map((item) => tokenise(item.type === 'message' ? `message ${item.role}` : item.type, countedText(item))),
  ]
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

export const roles = ['system', 'developer', 'user', 'assistant'] as const

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
