/** What is in plain sight by the letter and yet out of it for a reader: white space, and signs that look like others. */
export interface Trick {
  /** 1-based. */
  line: number
  what: string
}

/** Blanks within a line that push what follows out of view; no table is as wide. */
const gapColumns = 80
const indentColumns = 160
const trailingCharacters = 40
/** In all of a file, runs of two aside: those break lines of Markdown. */
const trailingTotal = 256
const blankLines = 60

// By code point, so that this file holds none of them: stars, slashes, a semicolon and an exclamation mark that are none.
const stars = '*\\u2217\\u204e\\uff0a\\u2731\\ufe61\\u066d'
const slashes = '/\\uff0f\\u2044\\u2215\\u2571\\u29f8'
const signs: [what: string, pattern: RegExp][] = [
  ['what looks like the end of a comment', new RegExp(`(?!\\*/)[${stars}][${slashes}]`, 'u')],
  [
    'what looks like the beginning of a comment',
    new RegExp(`(?!/\\*)[${slashes}][${stars}]|(?!//)(?<![\\p{L}\\p{N}])[${slashes}]{2}`, 'u'),
  ],
  ['a sign that looks like a semicolon', /\u037e/u],
  ['a letter that looks like an exclamation mark', /\u01c3/u],
]

/** The first of each kind. */
export function tricksIn(text: string, isCode: boolean): Trick[] {
  const lines = text.split('\n')
  const first = (what: string, fits: (line: string, index: number) => boolean): Trick[] => {
    const index = lines.findIndex(fits)
    return index < 0 ? [] : [{ line: index + 1, what }]
  }
  const trailing = lines.map((line) => line.length - line.trimEnd().length)
  const total = trailing.filter((length) => length > 2).reduce((sum, length) => sum + length, 0)
  let blank = 0
  return [
    ...first('text far to the right of the rest', (line) => new RegExp(`\\S[ \\t]{${gapColumns},}\\S`).test(line)),
    ...first('text far to the right', (line) => columns(/^[ \t]*(?=\S)/.exec(line)?.[0] ?? '') > indentColumns),
    ...first('a pile of marks on one letter', (line) => /\p{M}{5,}/u.test(line)),
    ...first('blanks at its end', (_line, index) => (trailing[index] ?? 0) > trailingCharacters),
    ...(total > trailingTotal
      ? first('blanks at its end, as many others have', (_line, index) => (trailing[index] ?? 0) > 2)
      : []),
    ...first('text far below the rest', (line) => {
      const isFar = blank > blankLines && line.trim() !== ''
      blank = line.trim() === '' ? blank + 1 : 0
      return isFar
    }),
    ...(isCode ? signs.flatMap(([what, pattern]) => first(what, (line) => pattern.test(line))) : []),
  ]
}

function columns(blanks: string): number {
  return [...blanks].reduce((sum, one) => sum + (one === '\t' ? 8 : 1), 0)
}
