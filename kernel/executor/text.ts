/** The last `limit` characters of a text that only grows at its end. */
export class Tail {
  readonly #limit: number
  #text = ''

  constructor(limit: number) {
    this.#limit = limit
  }

  add(text: string): void {
    this.#text = (this.#text + text).slice(-this.#limit)
  }

  toString(): string {
    return this.#text
  }
}

/** At most `bytes` of UTF-8, never half a character. */
export function headOf(text: string, bytes: number): string {
  const buffer = Buffer.from(text)
  if (buffer.length <= bytes) return text
  return decodeWhole(buffer.subarray(0, bytes))
}

/**
 * Bytes as text within `bytes`: the first and the last half, with a line between that says what is missing.
 * Bytes that are not UTF-8 become U+FFFD; a character cut in two is left out.
 */
export function excerpt(buffer: Buffer, totalBytes: number, bytes: number): { text: string; isCut: boolean } {
  if (totalBytes <= bytes && totalBytes <= buffer.length) return { text: buffer.toString('utf8'), isCut: false }
  const half = Math.floor(Math.min(bytes, buffer.length) / 2)
  const head = decodeWhole(buffer.subarray(0, half))
  const tail = decodeWhole(buffer.subarray(buffer.length - half))
  return { text: `${head}\n[… ${totalBytes - 2 * half} bytes are not shown …]\n${tail}`, isCut: true }
}

/** Decodes without the characters that begin before or end after the piece. */
function decodeWhole(piece: Buffer): string {
  let from = 0
  while (from < Math.min(3, piece.length) && ((piece[from] ?? 0) & 0xc0) === 0x80) from += 1
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(piece.subarray(from), { stream: true })
}
