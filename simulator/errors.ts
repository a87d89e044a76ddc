/** An answer in the shape of OpenAI's errors. */
export class ApiError extends Error {
  readonly status: number
  readonly body: { error: { message: string; type: string; param: string | null; code: string | null } }

  constructor(status: number, message: string, options: { param?: string; code?: string } = {}) {
    super(message)
    this.status = status
    const type = status >= 500 ? 'server_error' : 'invalid_request_error'
    this.body = { error: { message, type, param: options.param ?? null, code: options.code ?? null } }
  }
}
