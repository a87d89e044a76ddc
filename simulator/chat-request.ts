import { ApiError } from './errors.ts'
import { type Fields, fields, list, missing, optionalCount, optionalText, text, textOf } from './fields.ts'
import type { Item, OfferedTool } from './players/player.ts'
import { type ParsedRequest, promptOf, roles, type Tokenise } from './request.ts'

/**
 * A `/chat/completions` body in the shape that players see. The system messages at its head are the instructions, so that a
 * player decides the same whichever API asks.
 */
export function parseChatRequest(body: Fields, seed: number, tokenise: Tokenise): ParsedRequest {
  const model = optionalText(body, 'model')
  if (model === null) throw missing('model')
  const tools = list(body, 'tools').map(readTool)
  const messages = list(body, 'messages')
  if (messages.length === 0) throw missing('messages')
  const read = messages.map(readMessage)
  const firstOther = read.findIndex(([item]) => item?.type !== 'message' || !isStanding(item.role))
  const lead = firstOther < 0 ? read.length : firstOther
  const instructions = read
    .slice(0, lead)
    .flatMap(([item]) => (item?.type === 'message' ? [item.text] : []))
    .join('\n')
  const items = read.slice(lead).flat()
  checkAnswers(items)
  const maxOutputTokens = optionalCount(body, 'max_completion_tokens') ?? optionalCount(body, 'max_tokens')
  const { include_usage } = fields(body.stream_options ?? {}, 'stream_options')
  return {
    player: { model, instructions, tools, items, seed },
    prompt: promptOf(body.tools, instructions, items, tokenise),
    cacheKey: optionalText(body, 'prompt_cache_key'),
    maxOutputTokens,
    parallelToolCalls: body.parallel_tool_calls !== false,
    stream: body.stream === true,
    streamsUsage: include_usage === true,
  }
}

function isStanding(role: string): boolean {
  return role === 'system' || role === 'developer'
}

function readTool(value: unknown, index: number): OfferedTool {
  const at = `tools[${index}]`
  const { type, ...rest } = fields(value, at)
  if (type !== 'function' && type !== 'custom')
    throw new ApiError(400, `Invalid value: '${type}'. Supported values are: 'function' and 'custom'.`, {
      param: `${at}.type`,
    })
  const tool = fields(rest[type], `${at}.${type}`)
  return {
    type,
    name: text(tool, 'name', `${at}.${type}`),
    description: typeof tool.description === 'string' ? tool.description : '',
    parameters: typeof tool.parameters === 'object' && tool.parameters !== null ? { ...tool.parameters } : {},
  }
}

/** One message as items: an assistant's may hold words and calls. */
function readMessage(value: unknown, index: number): Item[] {
  const at = `messages[${index}]`
  const message = fields(value, at)
  if (message.role === 'tool')
    return [
      {
        type: 'output',
        callId: text(message, 'tool_call_id', at),
        text: textOf(message.content, `${at}.content`),
      },
    ]
  const role = roles.find((known) => known === message.role)
  if (role === undefined)
    throw new ApiError(400, `Invalid value: '${message.role}' at ${at}.role.`, { param: `${at}.role` })
  const calls =
    role === 'assistant' ? list(message, 'tool_calls').map((call, n) => readCall(call, `${at}.tool_calls[${n}]`)) : []
  const said = message.content ?? message.refusal ?? (calls.length > 0 ? '' : null)
  const words = textOf(said, `${at}.content`)
  return words === '' && calls.length > 0 ? calls : [{ type: 'message', role, text: words }, ...calls]
}

function readCall(value: unknown, at: string): Item {
  const call = fields(value, at)
  const isCustom = call.type === 'custom'
  const kind = isCustom ? 'custom' : 'function'
  const called = fields(call[kind], `${at}.${kind}`)
  return {
    type: 'call',
    callId: text(call, 'id', at),
    name: text(called, 'name', `${at}.${kind}`),
    arguments: text(called, isCustom ? 'input' : 'arguments', `${at}.${kind}`),
  }
}

/** As the real service: the outputs of an assistant's calls follow it, each once, before anything else. */
function checkAnswers(items: readonly Item[]): void {
  const open = new Set<string>()
  for (const item of items) {
    if (item.type === 'call') open.add(item.callId)
    else if (item.type === 'output' && !open.delete(item.callId))
      throw new ApiError(
        400,
        `messages with role 'tool' must be a response to a preceding message with 'tool_calls': ${item.callId}.`,
        {
          param: 'messages',
        },
      )
    else if (item.type === 'message' && open.size > 0) throw unanswered(open)
  }
  if (open.size > 0) throw unanswered(open)
}

function unanswered(open: ReadonlySet<string>): ApiError {
  return new ApiError(
    400,
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. These did not have response messages: ${[...open].join(', ')}.`,
    { param: 'messages' },
  )
}
