import type { TreeFile } from '../../sandbox/sandbox.ts'
import type { HiddenCharacter } from './hidden.ts'

const shownAtMost = 10
const word = /[\p{L}\p{M}\p{N}_$]+/gu
/** Scripts that have letters in the shape of Latin ones (UTS #39), and letters that phonetics took from Latin. */
const alike =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}\p{Script=Deseret}\p{Script=Osage}\u0131\u0237\u0250-\u02af\u1d00-\u1dbf]/u

// Pairs of a code point and the Latin letter that it looks like, so that this file holds none of them.
const shapes = new Map(
  [
    // Cyrillic
    '430a 435e 43Eo 440p 441c 443y 445x 456i 458j 455s 501d 51Bq 51Dw 4BBh 475v 4AFy 4CFl 43Ak 433r',
    '410A 412B 415E 41AK 41CM 41DH 41EO 420P 421C 422T 423Y 425X 405S 406I 408J 4C0I 4AEY 50CG 51CW 474V',
    // Greek
    '3B1a 3B3y 3B9i 3BAk 3BDv 3BFo 3C1p 3C5u 3C7x 3F2c 3F3j 391A 392B 395E 396Z 397H 399I 39AK 39CM 39DN 39FO 3A1P 3A4T 3A5Y 3A7X',
    // Armenian
    '585o 57Du 570h 578n 581g 566q 555O 54DU 54FS 53CL',
  ].flatMap((list) =>
    list.split(' ').map((pair) => [String.fromCodePoint(Number.parseInt(pair.slice(0, -1), 16)), pair.slice(-1)]),
  ) as [string, string][],
)

/** Every ASCII word of these files: what a word in other letters could pass for. */
export function latinWords(files: readonly TreeFile[]): ReadonlySet<string> {
  return new Set(files.flatMap(({ text }) => text.match(/[A-Za-z][A-Za-z0-9_$]*/g) ?? []))
}

/**
 * Words of a program that a reader takes for others: Latin letters mixed with those of a script that looks the same, forms of
 * Latin letters under other code points, and whole words in the shape of one that the tree has in Latin. The first ten.
 */
export function lookalikes(text: string, latin: ReadonlySet<string>): HiddenCharacter[] {
  const found: HiddenCharacter[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (/^[\t\x20-\x7e]*$/.test(line)) continue
    for (const [part] of line.matchAll(word)) {
      const character = oddOf(part, latin)
      if (character === null) continue
      const hex = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
      found.push({ line: index + 1, codePoint: `U+${hex}`, what: 'a word with a letter that looks like another' })
      if (found.length === shownAtMost) return found
    }
  }
  return found
}

/** The letter that misleads; null: none. */
function oddOf(part: string, latin: ReadonlySet<string>): string | null {
  if (/^[\w$]*$/.test(part)) return null
  const characters = [...part]
  const form = characters.find(
    (one) => one > '\x7f' && /[\p{L}\p{Nd}]/u.test(one) && /^[A-Za-z0-9]+$/.test(one.normalize('NFKC')),
  )
  if (form !== undefined) return form
  const other = characters.find((one) => alike.test(one))
  if (other === undefined) return null
  if (/[A-Za-z]/.test(part)) return other
  const shape = characters.map((one) => shapes.get(one) ?? one).join('')
  return latin.has(shape) ? other : null
}
