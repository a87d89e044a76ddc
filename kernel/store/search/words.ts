// What a search finds: text in any case, from the start of a word on. Words are runs of letters and digits.

/** Of a longer word the index has only the start. */
const longest = 24
const word = /[\p{L}\p{N}\p{M}]+/gu
const isWordChar = /[\p{L}\p{N}\p{M}]/u

/** The text of a payload, in lower case: JSON with its escapes resolved, so that a line's first word is one. */
export function searchable(data: string): string {
  const text = data.includes('\\') ? data.replace(/\\(u[0-9a-fA-F]{4}|.)/g, resolve) : data
  return text.toLowerCase()
}

function resolve(_match: string, code: string): string {
  if (code.length === 5) return String.fromCharCode(Number.parseInt(code.slice(1), 16))
  return { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }[code] ?? code
}

/** Its words, each once, as the index has them. */
export function wordsOf(searchableText: string): string {
  const words = new Set<string>()
  for (const [found] of searchableText.matchAll(word)) words.add(found.slice(0, longest))
  return [...words].join(' ')
}

/** Words that no text has: where an event belongs, so that a common word is looked up within one task. */
export function placeWord(of: 'agent' | 'task' | 'kind', name: string): string {
  return `§${of}${name.toLowerCase().replace(/[^a-z0-9]/g, '§')}`
}

/** Whether `data` has the text, from the start of a word on. `folded`: in lower case. */
export function matches(data: string, folded: string): boolean {
  const text = searchable(data)
  const isWord = isWordChar.test(folded[0] ?? '')
  for (let at = text.indexOf(folded); at !== -1; at = text.indexOf(folded, at + 1)) {
    if (!isWord || !isWordChar.test(text.slice(0, at).at(-1) ?? '')) return true
  }
  return false
}

/** An FTS5 expression that every match fulfils; null: the text has no word to look up. */
export function expressionOf(folded: string): string | null {
  const found = [...folded.matchAll(word)]
  if (found.length === 0) return null
  return found
    .map(({ 0: text, index }) => {
      // The last word may go on in what is found.
      const isOpen = index + text.length === folded.length && text.length < longest
      return `"${text.slice(0, longest)}"${isOpen ? '*' : ''}`
    })
    .join(' AND ')
}
