/** The closed list of error codes. All but `internal` carry their text across the wire; `internal` shows only its word. */
export const errorCodes = [
  'invalid',
  'not-found',
  'forbidden',
  'conflict',
  'over-budget',
  'unavailable',
  'cancelled',
  'internal',
] as const

export type ErrorCode = (typeof errorCodes)[number]

/** An error with a meaning that the caller can act on. `message` says what is wrong and what to do about it. */
export class KernelError extends Error {
  readonly code: ErrorCode
  /** Facts for the caller, JSON-serialisable, free of secrets. */
  readonly details: Record<string, unknown> | undefined

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; details?: Record<string, unknown> } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'KernelError'
    this.code = code
    this.details = options.details
  }
}

/** The code and text that may leave the kernel: an error without a code is `internal` and keeps its text to itself. */
export function publicError(error: unknown): { code: ErrorCode; message: string; details?: Record<string, unknown> } {
  if (error instanceof KernelError && error.code !== 'internal') {
    return error.details === undefined
      ? { code: error.code, message: error.message }
      : { code: error.code, message: error.message, details: error.details }
  }
  return { code: 'internal', message: 'internal error' }
}
