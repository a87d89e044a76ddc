import type { TokenCounter } from './models.ts'
import type { InputItem, ResponsesBody } from './request.ts'

/** Tokens that the service adds around an item, and what an image may cost; both on the high side, for reservations. */
const tokensPerItem = 8
const tokensPerImage = 2048

export interface PromptSize {
  /** By o200k, on the high side where the service's own rules are not known. */
  tokens: number
  /** No service counts more tokens than bytes: a figure beyond this is nonsense. */
  mostTokens: number
}

/** How large this request's prompt is, before anything is sent. Costs a look-up for each item seen before. */
export function sizeOf(body: ResponsesBody, counter: TokenCounter): PromptSize {
  const items = typeof body.input === 'string' ? [body.input] : body.input
  const texts = [body.instructions ?? '', ...(body.tools ?? []).map((tool) => JSON.stringify(tool))]
  if (body.text?.format !== undefined) texts.push(JSON.stringify(body.text.format))
  let images = 0
  let imageBytes = 0
  for (const item of items) {
    if (typeof item === 'string') {
      texts.push(item)
      continue
    }
    for (const part of partsOf(item)) {
      if ('image' in part) {
        images += 1
        imageBytes += part.image.length
      } else texts.push(part.text)
    }
  }
  const overhead = 64 + (items.length + texts.length) * tokensPerItem + images * tokensPerImage
  const tokens = texts.reduce((sum, text) => sum + counter.count(text), overhead)
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), imageBytes)
  return { tokens, mostTokens: bytes + 4 * overhead }
}

type Part = { text: string } | { image: string }

function partsOf(item: InputItem): Part[] {
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

type Content = Extract<InputItem, { content: unknown; role: unknown }>['content']

function contentParts(content: Content): Part[] {
  if (typeof content === 'string') return [{ text: content }]
  return content.map((part): Part => {
    if (part.type === 'input_image') return { image: part.image_url }
    return { text: part.type === 'refusal' ? part.refusal : part.text }
  })
}
