/** Characters that a reviewer cannot see, or that change how the rest is seen (CVE-2021-42574 and its kin). */
export interface HiddenCharacter {
  /** 1-based. */
  line: number
  /** `U+202E`. */
  codePoint: string
  what: string
}

const shownAtMost = 10

// Ranges by code point, so that this file holds none of them. Tab and line feed are plain text.
const kinds: [what: string, pattern: RegExp][] = [
  ['a carriage return', /\r/u],
  ['a line or paragraph separator', /[\u2028\u2029\u0085]/u],
  ['a character that turns the reading direction', /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u],
  [
    'a zero-width character',
    /\u034f|[\u180b-\u180f]|[\u17b4\u17b5]|[\u00ad\u115f\u1160\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0]/u,
  ],
  ['a variation selector', /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u],
  ['a tag character', /[\u{e0000}-\u{e007f}]/u],
  ['a control character', /(?![\t\n])\p{Cc}/u],
  ['an invisible format character', /\p{Cf}/u],
  ['a private or unassigned character', /[\p{Co}\p{Cn}\ufffc]/u],
  // Braille without dots and a note without a head are drawn as nothing.
  ['a space that is not a plain one', /(?! )\p{Zs}|[\u2800\u{1d159}]/u],
]

/** The first ten. */
export function hiddenCharacters(text: string): HiddenCharacter[] {
  const found: HiddenCharacter[] = []
  // Plain ASCII is nearly all there is.
  if (/^[\t\n\x20-\x7e]*$/.test(text)) return found
  let line = 1
  for (const character of text) {
    if (character === '\n') line += 1
    if (character >= ' ' && character <= '~') continue
    const kind = kinds.find(([, pattern]) => pattern.test(character))
    if (kind === undefined) continue
    const hex = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
    found.push({ line, codePoint: `U+${hex}`, what: kind[0] })
    if (found.length === shownAtMost) return found
  }
  return found
}
