/** Words of one text in another, however they are laid out, quoted or put together. */
export interface Copy {
  /** Where in the text that copies, 0-based. */
  from: number
  to: number
  /** Index of the text that it is copied from. */
  of: number
  how: 'copied' | 'reworded'
}

/** Letters and digits in a row that are no accident. */
const copiedCharacters = 24
/** Words that carry meaning, in a row. */
const rewordedWords = 5

const fillers = new Set(
  'a all an and any are as at be but by can do does each every for from has have if in into is it its no not of on or so that the their then there they this to was we when where which with you your'.split(
    ' ',
  ),
)

interface Reduced {
  text: string
  /** Index in the original of each character. */
  at: number[]
}

/** Only letters and digits, in one case and form; what is written as an escape is what it stands for. */
function reduced(text: string): Reduced {
  const characters: string[] = []
  const at: number[] = []
  const piece = /\\u\{([0-9a-fA-F]+)\}|\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\[nrtfvb0]|[\p{L}\p{N}\p{M}]/gu
  for (const match of text.matchAll(piece)) {
    const [whole, braced, four, two] = match
    const code = braced ?? four ?? two
    if (code === undefined && whole.startsWith('\\')) continue
    const point = Number.parseInt(code ?? '0', 16)
    const character = code === undefined ? whole : point <= 0x10ffff ? String.fromCodePoint(point) : ''
    for (const plain of character
      .normalize('NFKD')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]/gu, '')) {
      characters.push(plain)
      at.push(match.index)
    }
  }
  return { text: characters.join(''), at }
}

interface Word {
  word: string
  from: number
  to: number
}

function wordsOf(text: string): Word[] {
  return [...text.matchAll(/[\p{L}\p{N}]+/gu)]
    .map((match) => ({
      word: match[0].toLowerCase().replace(/(?<=\w{3})(?:ing|ed|es|s)$/, ''),
      from: match.index,
      to: match.index + match[0].length,
    }))
    .filter(({ word }) => !fillers.has(word))
}

/** Looks for words of `sources` in texts, leaving out what `known` says already. */
export class Copying {
  readonly #grams = new Map<string, number>()
  readonly #shingles = new Map<string, number>()
  readonly #known: string
  readonly #knownWords: ReadonlySet<string>
  readonly #knownShingles: ReadonlySet<string>

  constructor(sources: readonly string[], known: string) {
    this.#known = reduced(known).text
    const knownWords = wordsOf(known)
    this.#knownWords = new Set(knownWords.map(({ word }) => word))
    this.#knownShingles = new Set(shingles(knownWords).map(({ key }) => key))
    for (const [of, source] of sources.entries()) {
      const { text } = reduced(source)
      for (let at = 0; at + copiedCharacters <= text.length; at += 1) {
        const gram = text.slice(at, at + copiedCharacters)
        if (!this.#grams.has(gram)) this.#grams.set(gram, of)
      }
      for (const { key } of shingles(wordsOf(source))) if (!this.#shingles.has(key)) this.#shingles.set(key, of)
    }
  }

  /** In the order of the text; the first twenty. */
  in(text: string): Copy[] {
    const copies = [...this.#copied(text), ...this.#reworded(text)].sort((a, b) => a.from - b.from)
    return copies.filter((copy, index) => !copies.slice(0, index).some(({ to }) => to > copy.from)).slice(0, 20)
  }

  #copied(text: string): Copy[] {
    const { text: plain, at } = reduced(text)
    const found: Copy[] = []
    for (let start = 0; start + copiedCharacters <= plain.length; start += 1) {
      const of = this.#grams.get(plain.slice(start, start + copiedCharacters))
      if (of === undefined) continue
      let end = start + copiedCharacters
      while (end < plain.length && this.#grams.has(plain.slice(end + 1 - copiedCharacters, end + 1))) end += 1
      const [from, to] = [at[start] ?? 0, (at[end - 1] ?? 0) + 1]
      if (!this.#known.includes(plain.slice(start, end)) && this.#isPeculiar(text.slice(from, to)))
        found.push({ from, to, of, how: 'copied' })
      start = end - 1
    }
    return found
  }

  #reworded(text: string): Copy[] {
    return shingles(wordsOf(text)).flatMap(({ key, from, to }): Copy[] => {
      const of = this.#shingles.get(key)
      if (of === undefined || this.#knownShingles.has(key) || !this.#isPeculiar(text.slice(from, to))) return []
      return [{ from, to, of, how: 'reworded' }]
    })
  }

  /** Two words at least that a policy does not use anyway: a common phrase is nobody's. */
  #isPeculiar(text: string): boolean {
    const words = new Set(wordsOf(text).map(({ word }) => word))
    return [...words].filter((word) => word.length > 2 && !this.#knownWords.has(word)).length >= 2
  }
}

function shingles(words: readonly Word[]): { key: string; from: number; to: number }[] {
  return words.slice(0, Math.max(0, words.length - rewordedWords + 1)).map((first, index) => {
    const row = words.slice(index, index + rewordedWords)
    return { key: row.map(({ word }) => word).join(' '), from: first.from, to: row.at(-1)?.to ?? first.to }
  })
}
