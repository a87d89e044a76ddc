// Text by an agent, a tool or a world is shown, never obeyed: characters that hide or reorder text become visible tokens.

export interface Piece {
  text: string
  /** True for a stand-in of a character that a reader would not see. */
  isToken: boolean
}

/** Controls, format and bidirectional marks, zero-width and other invisible characters, lone surrogates; not tab, newline and the emoji selector. */
const hidden = /(?!\t|\n|\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/** Most text is this, and needs no closer look. */
const plain = /^[\t\n\x20-\x7e]*$/

export function inertPieces(text: string): Piece[] {
  const source = text.replaceAll('\r\n', '\n')
  if (plain.test(source)) return source === '' ? [] : [{ text: source, isToken: false }]
  const pieces: Piece[] = []
  let from = 0
  for (const match of source.matchAll(hidden)) {
    if (match.index > from) pieces.push({ text: source.slice(from, match.index), isToken: false })
    pieces.push({ text: tokenOf(match[0]), isToken: true })
    from = match.index + match[0].length
  }
  if (from < source.length) pieces.push({ text: source.slice(from), isToken: false })
  return pieces
}

/** The same as one string, for places that take no elements (titles, labels). */
export function inert(text: string): string {
  return inertPieces(text)
    .map((piece) => piece.text)
    .join('')
}

/** The first line, cut to `max` characters with an ellipsis. */
export function firstLine(text: string, max = 240): string {
  const trimmed = text.trimStart()
  const end = trimmed.indexOf('\n')
  const line = end < 0 ? trimmed : trimmed.slice(0, end)
  if (line.length > max) return `${line.slice(0, max)}…`
  return end < 0 || trimmed.slice(end).trim() === '' ? line : `${line} …`
}

function tokenOf(character: string): string {
  if (character === '\u001b') return '⟦ESC⟧'
  const code = character.codePointAt(0) ?? 0
  return `⟦U+${code.toString(16).toUpperCase().padStart(4, '0')}⟧`
}
