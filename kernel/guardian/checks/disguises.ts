/** A text as it would be under one of the usual disguises of a text. */
export interface Disguise {
  text: string
  /** 1-based, where it stands. */
  line: number
  how: string
}

/** Shorter ones hide nothing that is worth it. */
const encodedCharacters = 20

/** Encoded words of a text that come to plain text, and the text turned round and with its letters shifted by half. */
export function disguises(text: string): Disguise[] {
  const lines = text.split('\n')
  const encoded = lines.flatMap((line, index) =>
    [...line.matchAll(new RegExp(`[A-Za-z0-9+/_-]{${encodedCharacters},}={0,2}`, 'g'))].flatMap(([word]) =>
      (/^(?:[0-9a-fA-F]{2})+$/.test(word) ? (['hex', 'base64'] as const) : (['base64'] as const)).flatMap(
        (encoding) => {
          const plain = Buffer.from(word, encoding).toString('latin1')
          return /^[\t\n\r\x20-\x7e]{12,}$/.test(plain) ? [{ text: plain, line: index + 1, how: `in ${encoding}` }] : []
        },
      ),
    ),
  )
  const turned = lines.map((line, index) => ({
    text: [...line].reverse().join(''),
    line: index + 1,
    how: 'turned round',
  }))
  const shifted = lines.map((line, index) => ({ text: rot13(line), line: index + 1, how: 'with shifted letters' }))
  return [...encoded, ...[...turned, ...shifted].filter((one) => one.text.length >= encodedCharacters)]
}

function rot13(text: string): string {
  return text.replaceAll(/[a-z]/gi, (letter) => {
    const start = letter <= 'Z' ? 65 : 97
    return String.fromCharCode(((letter.charCodeAt(0) - start + 13) % 26) + start)
  })
}
