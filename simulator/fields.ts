import { ApiError } from './errors.ts'

/** A JSON object of a request, of which nothing is known yet. Every reader here throws an `ApiError` that names the field. */
export type Fields = Record<string, unknown>

/** A string, or the texts of a list of parts; an image stands as its URL's head, so that another image is another text. */
export function textOf(content: unknown, at: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw missing(at)
  return content
    .map((value, index) => {
      const part = fields(value, `${at}[${index}]`)
      if (typeof part.text === 'string') return part.text
      if (typeof part.refusal === 'string') return part.refusal
      const image = part.type === 'image_url' ? fields(part.image_url, `${at}[${index}].image_url`).url : part.image_url
      if ((part.type === 'input_image' || part.type === 'image_url') && typeof image === 'string')
        return `[image ${image.slice(0, 1024)}]`
      throw new ApiError(400, `Invalid value: '${part.type}' at ${at}[${index}].type.`, {
        param: `${at}[${index}].type`,
      })
    })
    .join('\n')
}

export function fields(value: unknown, at: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ApiError(400, `${at} must be an object.`, { param: at })
  return value as Fields
}

export function list(body: Fields, name: string): unknown[] {
  const value = body[name] ?? []
  if (!Array.isArray(value)) throw new ApiError(400, `${name} must be an array.`, { param: name })
  return value
}

export function text(item: Fields, name: string, at: string): string {
  const value = item[name]
  if (typeof value !== 'string') throw missing(`${at}.${name}`)
  return value
}

export function optionalText(body: Fields, name: string): string | null {
  const value = body[name] ?? null
  if (value !== null && typeof value !== 'string') throw new ApiError(400, `${name} must be a string.`, { param: name })
  return value
}

export function optionalCount(body: Fields, name: string): number | null {
  const value = body[name] ?? null
  if (value !== null && (typeof value !== 'number' || !Number.isInteger(value) || value < 1))
    throw new ApiError(400, `${name} must be a positive integer.`, { param: name })
  return value
}

export function missing(at: string): ApiError {
  return new ApiError(400, `Missing required parameter: '${at}'.`, { param: at })
}
