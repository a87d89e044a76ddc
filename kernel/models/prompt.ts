import type { ChatBody, ChatMessage } from './chat-request.ts'
import type { TokenCounter } from './models.ts'
import type { InputItem, ResponsesBody } from './request.ts'

/** Tokens that a service adds around an item, and what an image may cost; both on the high side, for reservations. */
const tokensPerItem = 8
const tokensPerImage = 2048
/** What a server's own template may put before everything: a date, a system prompt, how tools are called. */
const mostTemplateTokens = 2048

/** What a prompt is made of, whichever API it is sent by. An image is a data: URL. */
export interface PromptParts {
  items: number
  texts: string[]
  images: string[]
}

export interface PromptSize {
  /** By o200k, on the high side where the service's own rules are not known. */
  tokens: number
  /** No service counts more tokens than bytes: a figure beyond this is nonsense. */
  mostTokens: number
}

/** How large a prompt is, before anything is sent. Costs a look-up for each text seen before. */
export function sizeOf({ items, texts, images }: PromptParts, counter: TokenCounter): PromptSize {
  const overhead = 64 + (items + texts.length) * tokensPerItem + images.length * tokensPerImage
  const tokens = texts.reduce((sum, text) => sum + counter.count(text), overhead)
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const imageBytes = images.reduce((sum, image) => sum + image.length, 0)
  return { tokens, mostTokens: bytes + imageBytes + 4 * overhead + mostTemplateTokens }
}

type Part = { text: string } | { image: string }

export function responsesParts(body: ResponsesBody): PromptParts {
  const items = typeof body.input === 'string' ? [] : body.input
  const lead = [typeof body.input === 'string' ? body.input : '', body.instructions ?? '', ...offered(body.tools)]
  if (body.text?.format !== undefined) lead.push(JSON.stringify(body.text.format))
  return gather(lead, items.map(itemParts))
}

export function chatParts(body: ChatBody): PromptParts {
  const lead = offered(body.tools)
  if (body.response_format !== undefined) lead.push(JSON.stringify(body.response_format))
  return gather(lead, body.messages.map(messageParts))
}

function offered(tools: readonly object[] | undefined): string[] {
  return (tools ?? []).map((tool) => JSON.stringify(tool))
}

function gather(lead: string[], items: Part[][]): PromptParts {
  const parts = items.flat()
  return {
    items: items.length,
    texts: [...lead, ...parts.flatMap((part) => ('text' in part ? [part.text] : []))],
    images: parts.flatMap((part) => ('image' in part ? [part.image] : [])),
  }
}

function itemParts(item: InputItem): Part[] {
  switch (item.type) {
    case 'function_call':
      return [{ text: item.name }, { text: item.arguments }]
    case 'custom_tool_call':
      return [{ text: item.name }, { text: item.input }]
    case 'function_call_output':
    case 'custom_tool_call_output':
      return contentParts(item.output)
    case 'reasoning':
      return [
        ...item.summary.map(({ text }) => ({ text })),
        ...(item.content ?? []).map(({ text }) => ({ text })),
        // The service decrypts it: base64 of about three bytes a token's text.
        { text: item.encrypted_content ?? '' },
      ]
    default:
      return contentParts(item.content)
  }
}

function messageParts(message: ChatMessage): Part[] {
  const parts = contentParts(message.content ?? '')
  if (message.role !== 'assistant') return parts
  const { refusal, reasoning_content, reasoning, tool_calls = [] } = message
  const said = [refusal, reasoning_content, reasoning].flatMap((text) => (text ? [{ text }] : []))
  const calls = tool_calls.flatMap((call) =>
    call.type === 'function'
      ? [{ text: call.function.name }, { text: call.function.arguments }]
      : [{ text: call.custom.name }, { text: call.custom.input }],
  )
  return [...parts, ...said, ...calls]
}

type ContentPart =
  | { type: string; text: string }
  | { type: string; refusal: string }
  | { type: string; image_url: string | { url: string } }

function contentParts(content: string | readonly ContentPart[]): Part[] {
  if (typeof content === 'string') return [{ text: content }]
  return content.map((part): Part => {
    if ('image_url' in part) return { image: typeof part.image_url === 'string' ? part.image_url : part.image_url.url }
    return { text: 'refusal' in part ? part.refusal : part.text }
  })
}
