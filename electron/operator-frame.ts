/**
 * What a page or a script may say over a transport of the operator contract: a request, or that an answer is no longer wanted.
 * The library that reads it takes more (files, forms, streams of input), and throws where it is spoken to out of form: into its
 * own log, or at nobody, which ends the process. So what is not of this form never reaches it.
 */

/** Why a connection is closed that says something else. */
export const noFrame = 'that is no message of the operator contract'

const noLongerWanted = 4
const idMost = 64

/** The frame as text, whatever it came as; null where it is none. */
export function operatorFrame(given: unknown): string | null {
  const text = typeof given === 'string' ? given : bytesOf(given)?.toString('utf8')
  if (text === undefined) return null
  try {
    return isFrame(JSON.parse(text)) ? text : null
  } catch {
    return null
  }
}

function bytesOf(given: unknown): Buffer | undefined {
  if (Array.isArray(given)) return given.every(Buffer.isBuffer) ? Buffer.concat(given) : undefined
  if (ArrayBuffer.isView(given)) return Buffer.from(given.buffer, given.byteOffset, given.byteLength)
  return given instanceof ArrayBuffer ? Buffer.from(given) : undefined
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function isFrame(frame: unknown): boolean {
  if (!isObject(frame)) return false
  const { i: id, t: type, p: payload } = frame
  if (typeof id !== 'string' || id.length > idMost) return false
  if (type === noLongerWanted) return true
  if (type !== undefined || !isObject(payload)) return false
  const { u: path, h: headers, m: method, b: body } = payload
  const isPlain = headers === undefined && method === undefined && (body === undefined || isObject(body))
  return isPlain && typeof path === 'string' && /^(\/[A-Za-z]+){1,4}$/.test(path)
}
