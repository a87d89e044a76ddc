import type { z } from 'zod'
import { KernelError, publicError } from '../errors.ts'
import type { RpcFailure } from '../wire/executor.ts'

export const rpcCodes = { parse: -32700, request: -32600, method: -32601, params: -32602, other: -32000 } as const

/** What an executor is told of an error: its code and text, and of an internal one only the word. */
export function failureOf(id: number | null, error: unknown, code: number = rpcCodes.other): RpcFailure {
  const told = publicError(error)
  return {
    jsonrpc: '2.0',
    id,
    error: {
      code: code === rpcCodes.other && told.code === 'invalid' ? rpcCodes.params : code,
      message: told.message,
      data: told.details === undefined ? { code: told.code } : { code: told.code, details: told.details },
    },
  }
}

/** The value as the schema knows it. @throws KernelError `invalid` that names the first fields that do not fit. */
export function parsed<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const problems = result.error.issues.slice(0, 3).map(({ path, message }) => {
    return path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`
  })
  throw new KernelError('invalid', `${what}: ${problems.join('; ')}`)
}
