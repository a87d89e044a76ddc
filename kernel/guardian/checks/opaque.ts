/** Bits a character of a word that says nothing to a reader: hexadecimal has nearly 4, base64 5 to 6, prose and names less or blanks in between. */
const opaqueBits = 3.4
/** Shorter words may be hashes or names. */
const wordCharacters = 48
/** What is cut into short words changes between small letters, capitals and digits as no name does. */
const shortCharacters = 12
const switchShare = 0.4
/** Signs of any kind without a blank, of as many kinds. */
const anyCharacters = 160
const anyBits = 5.2
/** In all of a file: a few hashes are no payload. */
const wordsMax = 512
const escapesMax = 64
const numbersMax = 256
/** Numbers that are all codes of characters say something, to a machine. */
const codesMax = 64
/** So many different ideographs in a row are no sentence. */
const ideographsMax = 96

/**
 * Data in a text that a reader cannot read: encoded words, long runs of escapes, long lists of numbers. Null: none to speak of.
 * A payload can always be disguised as prose; this keeps out what nobody would try to read.
 */
export function encodedData(text: string): { line: number; what: string } | null {
  const lineAt = (index: number): number => text.slice(0, index).split('\n').length
  // Pieces that are put together again are read as one.
  const whole = text.replaceAll(/(['"`])\s*\+\s*\1|(?<=[A-Za-z0-9+/=_-]{24})(['"`])\s*,\s*\2/g, '')
  const isPieced = whole.length < text.length
  const placeOf = (index: number): number =>
    isPieced ? lineAt(Math.max(0, text.indexOf(whole.slice(index, index + 16)))) : lineAt(index)
  let characters = 0
  let first = 0
  for (const { 0: word, index } of whole.matchAll(new RegExp(`[A-Za-z0-9+/=_-]{${shortCharacters},}`, 'g'))) {
    if (word.length < wordCharacters ? switches(word) < switchShare : entropy(word) < opaqueBits) continue
    if (characters === 0) first = index
    characters += word.length
  }
  if (characters > wordsMax) return { line: placeOf(first), what: `${characters} characters of encoded data` }
  const escapes = new RegExp(
    `(?:\\\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\\{[0-9a-fA-F]+\\})\\s*){${escapesMax},}`,
  ).exec(text)
  if (escapes !== null) return { line: lineAt(escapes.index), what: 'a long run of escaped characters' }
  const coded = /(?:%[0-9a-fA-F]{2}){48,}|\b[01]{128,}\b|(?:\b[01]{8}\b\s*,?\s*){24,}/.exec(text)
  if (coded !== null) return { line: lineAt(coded.index), what: 'a long run of encoded data' }
  const ideographs = new RegExp(`[\\u3400-\\u9fff\\uac00-\\ud7af\\u{20000}-\\u{3ffff}]{${ideographsMax},}`, 'u').exec(
    text,
  )
  if (ideographs !== null && new Set(ideographs[0]).size > 0.7 * [...ideographs[0]].length)
    return { line: lineAt(ideographs.index), what: 'a long run of signs that are no sentence' }
  const pictures = new RegExp(`[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\p{So}]{${ideographsMax},}`, 'u').exec(
    text,
  )
  if (pictures !== null) return { line: lineAt(pictures.index), what: 'a long run of signs that are no sentence' }
  for (const { 0: word, index } of text.matchAll(new RegExp(`[\\x21-\\x7e]{${anyCharacters},}`, 'g')))
    if (entropy(word) > anyBits) return { line: lineAt(index), what: `${word.length} characters of encoded data` }
  const codes = new RegExp(`(?:\\b(?:0x[0-7][0-9a-fA-F]|1[01]\\d|12[0-6]|[1-9]\\d|9)\\s*,\\s*){${codesMax},}`).exec(
    text,
  )
  if (codes !== null) return { line: lineAt(codes.index), what: 'a long list of codes of characters' }
  const numbers = new RegExp(`(?:-?\\b(?:0x[0-9a-fA-F]+|\\d+)\\s*,\\s*){${numbersMax},}`).exec(text)
  if (numbers !== null) return { line: lineAt(numbers.index), what: 'a long list of numbers' }
  return null
}

/** Part of its characters that are of another kind than the one before. */
function switches(word: string): number {
  const kindOf = (one: string): string =>
    /\d/.test(one) ? '0' : /[A-Z]/.test(one) ? 'A' : /[a-z]/.test(one) ? 'a' : '-'
  const kinds = [...word].map(kindOf)
  const found = kinds.filter(
    (kind, index) => index > 0 && kind !== '-' && kinds[index - 1] !== '-' && kind !== kinds[index - 1],
  )
  return found.length / word.length
}

/** Shannon's, bits a character. */
function entropy(word: string): number {
  const counts = new Map<string, number>()
  for (const character of word) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / word.length) * Math.log2(count / word.length)
  return bits
}
