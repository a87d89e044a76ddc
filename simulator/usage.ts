/** Tokens of one request, as they are reported. */
export interface Counts {
  input: number
  /** Part of `input`. */
  cached: number
  output: number
  /** Part of `output`. */
  reasoning: number
}
