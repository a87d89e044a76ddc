import type { Json } from '#wire'
import type { Kernel } from './kernel.ts'

/** One tool of the model's. Its file is `tools/NAME.ts`, and one line in `tools/index.ts` offers it. */
export interface Tool<A = Record<string, string>> {
  /** What the model calls: lower-case letters, digits, `_`. */
  name: string
  /** Sent with every request, so each word costs at every step. */
  description: string
  /** Properties of the arguments as JSON Schema. Checked before `run`. */
  properties: { [argument: string]: { type: 'string' | 'integer' | 'boolean' | 'array'; [keyword: string]: Json } }
  /** Names of the arguments that must be there. */
  required: (string & keyof A)[]
  /** Longest result in bytes, 4096 unless said; what is over is cut from the middle and kept as a blob. */
  outputBytes?: number
  /**
   * What to answer the model. A failure is thrown, or is text that begins with `error:`; either way the model reads it
   * and the kernel counts it, so say what to do about it.
   */
  run(args: A, kernel: Kernel): Promise<string>
}

/** A tool whose arguments are its own business. */
export type AnyTool = Tool<never>
