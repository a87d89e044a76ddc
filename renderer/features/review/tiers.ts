// How a file is shown, by how much of it changed. Nothing is cut silently: what a diff cannot carry is read in parts.

export type Tier = 'normal' | 'large' | 'huge'

const largeFrom = 2000
const hugeFrom = 20_000
/** A line that no screen shows whole, and that an editor would cut. */
const longestLine = 10_000

export function tierOf(
  file: { addedLines: number; removedLines: number },
  texts: readonly (string | null)[] = [],
): Tier {
  const changed = file.addedLines + file.removedLines
  if (changed >= hugeFrom || texts.some((text) => text !== null && hasLongLine(text))) return 'huge'
  return changed >= largeFrom ? 'large' : 'normal'
}

function hasLongLine(text: string): boolean {
  if (text.length <= longestLine) return false
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from)
    if ((end < 0 ? text.length : end) - from > longestLine) return true
    if (end < 0) return false
    from = end + 1
  }
  return false
}

export interface Part {
  text: string
  /** 1-based, of its first and last line in the whole. */
  fromLine: number
  toLine: number
}

const partLines = 500
const partLength = 20_000

/** The whole of a text in pieces that a page can carry, in order and without gap. A line that is too long goes over several. */
export function partsOf(text: string): Part[] {
  const parts: Part[] = []
  let line = 1
  for (let from = 0; from < text.length; ) {
    let end = from
    let ends = 0
    while (end < text.length && ends < partLines && end - from < partLength) {
      const next = text.indexOf('\n', end)
      const stop = next < 0 ? text.length : next + 1
      if (stop - from > partLength) {
        if (end === from) end = from + cutAt(text, from)
        break
      }
      end = stop
      if (next >= 0) ends += 1
    }
    const piece = text.slice(from, end)
    const endsLine = piece.endsWith('\n')
    parts.push({ text: piece, fromLine: line, toLine: line + Math.max(0, ends - (endsLine ? 1 : 0)) })
    line += ends
    from = end
  }
  return parts
}

/** Never between the two halves of one character. */
function cutAt(text: string, from: number): number {
  const last = text.charCodeAt(from + partLength - 1)
  return last >= 0xd800 && last <= 0xdbff ? partLength - 1 : partLength
}
