import { isFields } from './fields.ts'

/** How an attempt failed, in words that hold no header and no key of ours; what a server said may hold anything. */
export class UpstreamError extends Error {
  readonly httpStatus: number | null
  readonly code: string | null
  /** From Retry-After, as sent. */
  readonly retryAfter: string | null
  /** True when the request did not reach a server, or was turned away before an answer began: nothing was generated. */
  readonly isUnanswered: boolean

  constructor(
    message: string,
    facts: { httpStatus?: number | null; code?: string | null; retryAfter?: string | null; isUnanswered: boolean },
  ) {
    super(message)
    this.name = 'UpstreamError'
    this.httpStatus = facts.httpStatus ?? null
    this.code = facts.code ?? null
    this.retryAfter = facts.retryAfter ?? null
    this.isUnanswered = facts.isUnanswered
  }
}

const shownLength = 500

/** What the body of a refusal says. Servers put it in `error` (an object or a text), `message` or `detail`. */
export function refusalOf(body: string): { message: string; code: string | null } {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    return { message: body.trim().slice(0, shownLength) || 'no reason given', code: null }
  }
  const said = isFields(parsed) && isFields(parsed.error) ? parsed.error : parsed
  if (!isFields(said)) return { message: body.slice(0, shownLength), code: null }
  const text = [said.message, said.error, said.detail].find((candidate) => typeof candidate === 'string')
  // A code of the kind is worth more than one that repeats the status.
  const code = [said.code, said.type].find((candidate) => typeof candidate === 'string')
  return {
    message: (typeof text === 'string' && text !== '' ? text : body).slice(0, shownLength),
    code: typeof code === 'string' ? code.slice(0, 100) : null,
  }
}
