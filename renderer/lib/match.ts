/**
 * How well a query fits a text, 0 or more; null: not at all. Each word of the query must be found, letters in order; a
 * word that begins one of the text counts more than one inside it, and letters that stand together more than scattered ones.
 */
export function matchOf(query: string, text: string): number | null {
  const target = text.toLowerCase()
  let total = 0
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const points = wordIn(word, target)
    if (points === null) return null
    total += points
  }
  // Of two that fit alike, the shorter.
  return total === 0 ? 0 : total - Math.min(text.length, 100) / 1000
}

function wordIn(word: string, target: string): number | null {
  const at = target.indexOf(word)
  const begin = target.search(new RegExp(`(?<![\\p{L}\\p{N}])${escaped(word)}`, 'u'))
  if (begin >= 0) return 100 + word.length * 4 + (begin === 0 ? 20 : 0)
  if (at >= 0) return 60 + word.length * 4
  return scattered(word, target)
}

/** Letters in order with gaps: at most as far apart as a person abbreviates. */
function scattered(word: string, target: string): number | null {
  if (word.length < 2) return null
  let points = 10
  let from = 0
  for (const letter of word) {
    const found = target.indexOf(letter, from)
    if (found < 0) return null
    const isStart = found === 0 || !/[\p{L}\p{N}]/u.test(target.charAt(found - 1))
    points += isStart ? 6 : found === from ? 4 : -Math.min(found - from, 8)
    from = found + 1
  }
  return points > 0 ? points : null
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
