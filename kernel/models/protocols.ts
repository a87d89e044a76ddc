import type { ModelChoice } from '../wire/events.ts'
import { createResponsesAnswer, type PartialAnswer } from './answer.ts'
import { createChatAnswer } from './chat-answer.ts'
import { type ChatBody, type ChatMessage, checkChatBody } from './chat-request.ts'
import { isFields } from './fields.ts'
import { chatParts, type PromptParts, responsesParts } from './prompt.ts'
import { checkResponsesBody } from './request.ts'
import { reportOfResponses } from './usage.ts'

/** A call as one API has it: checked, and ready to be sent as often as it takes. */
export interface ApiCall {
  /** Below the base URL. */
  path: string
  prompt: PromptParts
  /** Output that the caller asked for at most; null: it left that to the model. */
  askedTokens: number | null
  /** What is sent. @param outputTokens the most that may be generated; null: nobody says. */
  body(outputTokens: number | null): object
  answer(): PartialAnswer
}

/** @throws KernelError `invalid`, naming what may not be sent. */
export function apiCall(model: ModelChoice, body: Record<string, unknown>): ApiCall {
  return model.api === 'chat' ? chatCall(model, body) : responsesCall(model, body)
}

function responsesCall(model: ModelChoice, given: Record<string, unknown>): ApiCall {
  const checked = checkResponsesBody(given, model.name)
  return {
    path: '/responses',
    prompt: responsesParts(checked),
    askedTokens: checked.max_output_tokens ?? null,
    body: (limit) => ({
      ...checked,
      ...(limit === null ? {} : { max_output_tokens: limit }),
      stream: true,
      store: false,
    }),
    answer: () => createResponsesAnswer(reportOfResponses),
  }
}

function chatCall(model: ModelChoice, given: Record<string, unknown>): ApiCall {
  const checked = checkChatBody(given, model.name)
  const field = limitField(checked, model)
  return {
    path: '/chat/completions',
    prompt: chatParts(checked),
    askedTokens: checked.max_completion_tokens ?? checked.max_tokens ?? null,
    body: (limit) => ({
      ...checked,
      messages: checked.messages.map(readable),
      ...(limit === null ? {} : { [field]: limit }),
      stream: true,
      stream_options: { include_usage: true },
    }),
    answer: createChatAnswer,
  }
}

/**
 * Some servers read the arguments of earlier calls, and refuse every request with one that they cannot: what a model wrote
 * that is no JSON object is sent back as an empty one. What its call gave says what was wrong with it.
 */
function readable(message: ChatMessage): ChatMessage {
  if (message.role !== 'assistant' || message.tool_calls === undefined) return message
  const calls = message.tool_calls.map((call) =>
    call.type !== 'function' || isJsonObject(call.function.arguments)
      ? call
      : { ...call, function: { ...call.function, arguments: '{}' } },
  )
  return { ...message, tool_calls: calls }
}

function isJsonObject(text: string): boolean {
  try {
    return isFields(JSON.parse(text))
  } catch {
    return false
  }
}

/** The name that the caller used; else the one that the server knows: OpenAI's newer models refuse the old name, others know it alone. */
function limitField(body: ChatBody, { baseUrl }: ModelChoice): 'max_tokens' | 'max_completion_tokens' {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : ''
  if (body.max_completion_tokens != null) return 'max_completion_tokens'
  if (body.max_tokens != null) return 'max_tokens'
  return /(^|\.)openai\.(azure\.)?com$/.test(host) ? 'max_completion_tokens' : 'max_tokens'
}
