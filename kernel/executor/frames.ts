import { isUtf8 } from 'node:buffer'

const newline = 10
const noiseKept = 400

/** One line of the executor's stdout: a JSON value of bounded size and depth, or what is wrong with it. */
export type Frame = { ok: true; value: unknown } | { ok: false; isParseError: boolean; problem: string; text: string }

/**
 * Cuts a hostile byte stream into frames. Linear in the bytes, whatever their chunks: only new bytes are searched,
 * a line over the limit is dropped as it comes, and nothing recursive runs over a value before its depth is known.
 */
export class FrameReader {
  readonly #frameBytes: number
  readonly #depth: number
  #parts: Buffer[] = []
  #bytes = 0
  #dropping = false

  constructor(limits: { frameBytes: number; depth: number }) {
    this.#frameBytes = limits.frameBytes
    this.#depth = limits.depth
  }

  /** The frames that end in this chunk. Each further `frameBytes` of a line that never ends is one more bad frame. */
  *push(chunk: Buffer): Generator<Frame> {
    let from = 0
    while (from < chunk.length) {
      const end = chunk.indexOf(newline, from)
      const piece = chunk.subarray(from, end === -1 ? chunk.length : end)
      from = end === -1 ? chunk.length : end + 1
      this.#bytes += piece.length
      if (this.#bytes >= this.#frameBytes) {
        const head = this.#parts[0] ?? piece
        if (!this.#dropping || end === -1) yield bad(`a line over ${this.#frameBytes} bytes`, head)
        this.#dropping = true
        this.#parts = []
        this.#bytes = 0
      } else if (!this.#dropping && piece.length > 0) {
        this.#parts.push(piece)
      }
      if (end === -1) continue
      if (!this.#dropping) yield this.#parse()
      this.#dropping = false
      this.#parts = []
      this.#bytes = 0
    }
  }

  #parse(): Frame {
    const line = this.#parts.length === 1 && this.#parts[0] ? this.#parts[0] : Buffer.concat(this.#parts)
    if (line.length === 0) return bad('an empty line', line)
    if (line.at(-1) === 13) return bad('a line that ends in CR LF', line)
    if (!isUtf8(line)) return bad('bytes that are not UTF-8', line, true)
    if (line.includes(0)) return bad('a NUL byte', line)
    let value: unknown
    try {
      // V8 parses without recursion, so depth can be judged after; see the test with 100,000 levels.
      value = JSON.parse(line.toString('utf8'))
    } catch {
      return bad('a line that is not JSON', line, true)
    }
    const problem = shapeProblem(value, this.#depth)
    return problem === null ? { ok: true, value } : bad(problem, line)
  }
}

/** Walks with its own stack. A key named `__proto__` has no honest use here and misleads whoever copies keys. */
function shapeProblem(value: unknown, maxDepth: number): string | null {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = []
    for (const node of level) {
      if (typeof node !== 'object' || node === null) continue
      if (depth >= maxDepth) return `nesting deeper than ${maxDepth}`
      if (Array.isArray(node)) {
        for (const child of node) if (typeof child === 'object' && child !== null) next.push(child)
        continue
      }
      if (Object.hasOwn(node, '__proto__')) return 'a key named __proto__'
      for (const child of Object.values(node)) if (typeof child === 'object' && child !== null) next.push(child)
    }
    level = next
  }
  return null
}

function bad(problem: string, line: Buffer, isParseError = false): Frame {
  return { ok: false, isParseError, problem, text: line.subarray(0, noiseKept).toString('utf8') }
}
