import type { Comment } from '../../../kernel/wire/events.ts'
import type { FileHunks } from '../../../kernel/wire/operator-review.ts'
import { covers, type Ranges, seenOf } from './lines-seen.ts'

export type Hunk = FileHunks['hunks'][number]
export type Side = Comment['side']
export type Mark = 'accepted' | 'rejected'
export type Marks = Readonly<Record<string, Mark>>

/** A hunk and the file that it is of. */
export interface Place {
  path: string
  hunk: Hunk
}

/** Names a hunk among those of all files. */
export function keyOf(path: string, hunk: string): string {
  return `${path}\n${hunk}`
}

/** All hunks in the order in which the files are shown. */
export function placesOf(files: readonly FileHunks[], order: readonly string[]): Place[] {
  const rank = new Map(order.map((path, index) => [path, index]))
  return files
    .filter(({ path }) => rank.has(path))
    .toSorted((a, b) => (rank.get(a.path) ?? 0) - (rank.get(b.path) ?? 0))
    .flatMap(({ path, hunks }) => hunks.map((hunk) => ({ path, hunk })))
}

/** The side and the line at which a hunk is looked at: its new text, or what is gone where nothing took its place. */
export function anchorOf(hunk: Hunk): { side: Side; line: number } {
  return hunk.afterLines > 0
    ? { side: 'after', line: hunk.afterLine }
    : { side: 'before', line: Math.max(1, hunk.beforeLine) }
}

interface LineChange {
  originalStartLineNumber: number
  originalEndLineNumber: number
  modifiedStartLineNumber: number
  modifiedEndLineNumber: number
}

/** Where a line of the side before stands on the side after; of one that is gone, the last line of what took its place, or the one above. */
export function lineAfter(changes: readonly LineChange[], line: number): number {
  let shift = 0
  for (const each of changes) {
    // An end of 0: there is nothing on that side, and the start names the line above it.
    const [oldFrom, oldTo] = [each.originalStartLineNumber, each.originalEndLineNumber]
    const [newFrom, newTo] = [each.modifiedStartLineNumber, each.modifiedEndLineNumber]
    const last = newTo === 0 ? newFrom : newTo
    if (oldTo === 0 ? line <= oldFrom : line < oldFrom) break
    if (oldTo !== 0 && line <= oldTo) return last
    shift = last - (oldTo === 0 ? oldFrom : oldTo)
  }
  return line + shift
}

export interface Seen {
  before: Ranges
  after: Ranges
}
export const nothingSeen: Seen = { before: [], after: [] }

/** How much of a hunk was on the screen, in lines of both sides. */
export function hunkSeen(hunk: Hunk, seen: Seen): { lines: number; of: number; isWhole: boolean } {
  const { beforeLine, beforeLines, afterLine, afterLines } = hunk
  const [beforeEnd, afterEnd] = [beforeLine + beforeLines - 1, afterLine + afterLines - 1]
  const isWhole =
    (beforeLines === 0 || covers(seen.before, beforeLine, beforeEnd)) &&
    (afterLines === 0 || covers(seen.after, afterLine, afterEnd))
  const lines =
    (beforeLines === 0 ? 0 : seenOf(seen.before, beforeLine, beforeEnd)) +
    (afterLines === 0 ? 0 : seenOf(seen.after, afterLine, afterEnd))
  return { lines, of: beforeLines + afterLines, isWhole }
}

/** What a part keeps: all that is not marked rejected, file by file. */
export function keptOf(files: readonly FileHunks[], marks: Marks): { path: string; hunks: string[] }[] {
  return files.map(({ path, hunks }) => ({
    path,
    hunks: hunks.filter(({ id }) => marks[keyOf(path, id)] !== 'rejected').map(({ id }) => id),
  }))
}

/** Changed lines of a file that differ in white space alone, counted where both sides of a hunk have equally many. */
export function whitespaceChanges(hunks: readonly Hunk[], before: string, after: string): number {
  const [old, fresh] = [before.split('\n'), after.split('\n')]
  let count = 0
  for (const { beforeLine, beforeLines, afterLine, afterLines } of hunks) {
    if (beforeLines !== afterLines) continue
    for (let n = 0; n < afterLines; n++) {
      const [a = '', b = ''] = [old[beforeLine - 1 + n], fresh[afterLine - 1 + n]]
      if (a !== b && a.trim() === b.trim()) count += 1
    }
  }
  return count
}
