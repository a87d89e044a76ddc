import { hash } from 'node:crypto'
import { decode, encode } from 'gpt-tokenizer/encoding/o200k_base'

/**
 * The tokenizer's time grows with the square of an unbroken run ('a' × 20,000 takes half a second), so longer runs are
 * cut here: one token more or less per 512 characters, in text that no prose or code contains.
 */
const longRun = /\S{512}|\s{512}/
const cuts = /\S{1,512}|\s{1,512}/g
const allowSpecial = { disallowedSpecial: new Set<string>() }

function tokenise(text: string): number[] {
  if (!longRun.test(text)) return encode(text, allowSpecial)
  return joinShort(text).flatMap((piece) => encode(piece, allowSpecial))
}

/** Cuts only inside long runs; ordinary stretches stay whole so that their tokens are exact. */
function joinShort(text: string): string[] {
  const pieces: string[] = []
  let stretch = ''
  for (const [run] of text.matchAll(cuts)) {
    stretch += run
    if (run.length < 512) continue
    pieces.push(stretch)
    stretch = ''
  }
  if (stretch !== '') pieces.push(stretch)
  return pieces
}

export function countTokens(text: string): number {
  return tokenise(text).length
}

/** The longest head of `text` with at most `tokens` tokens. */
export function headOf(text: string, tokens: number): string {
  return decode(tokenise(text).slice(0, tokens))
}

/** One stretch of a prompt. Stretches with the same `key` are the same; those with another `kind` share no token. */
export interface Stretch {
  key: string
  kind: string
  tokens: ArrayLike<number>
}

/** Tokenises each distinct text once; the oldest are forgotten when the memo holds more than `capacity` tokens. */
export function createStretches(capacity = 8_000_000): (kind: string, text: string) => Stretch {
  const known = new Map<string, Stretch>()
  let held = 0
  return (kind, text) => {
    const key = hash('sha256', `${kind}\n${text}`)
    const found = known.get(key)
    if (found !== undefined) {
      known.delete(key)
      known.set(key, found)
      return found
    }
    const stretch = { key, kind, tokens: Uint32Array.from(tokenise(text)) }
    known.set(key, stretch)
    held += stretch.tokens.length
    for (const [oldest, { tokens }] of known) {
      if (held <= capacity || oldest === key) break
      known.delete(oldest)
      held -= tokens.length
    }
    return stretch
  }
}
