import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatch, structuredPatch } from 'diff'
import type { TreeFile } from '../sandbox/sandbox.ts'
import type { PolicyFileChange } from '../wire/executor.ts'

/** Comparing may hold up the loop for this long in all, ms; files left then are shown whole. */
const timeLimitMs = 500

interface FileDifference {
  change: PolicyFileChange
  patch: StructuredPatch
  /** False where there was no time to compare line by line: every line counts as changed. */
  isCompared: boolean
}

/** Files that differ, by path, with the lines that came and went. */
export function compareTrees(from: readonly TreeFile[], to: readonly TreeFile[]): PolicyFileChange[] {
  return differences(from, to).map(({ change }) => change)
}

/** @see Revisions.diff */
export function diffTrees(from: readonly TreeFile[], to: readonly TreeFile[], maxBytes: number): string {
  let text = ''
  let left = maxBytes
  const all = differences(from, to)
  for (const [index, { change, patch, isCompared }] of all.entries()) {
    const note = isCompared ? '' : `# ${change.path}: too much changed to compare line by line; shown whole\n`
    const part = note + formatPatch(patch, FILE_HEADERS_ONLY)
    const size = Buffer.byteLength(part)
    if (size > left) {
      const shown = wholeLines(part, left)
      const more = all.length - index
      return `${text}${shown}# cut at ${maxBytes} bytes: the rest of ${change.path}${more > 1 ? ` and ${more - 1} more files` : ''} is not shown\n`
    }
    text += part
    left -= size
  }
  return text
}

function differences(from: readonly TreeFile[], to: readonly TreeFile[]): FileDifference[] {
  const before = new Map(from.map(({ path, text }) => [path, text]))
  const after = new Map(to.map(({ path, text }) => [path, text]))
  const deadline = performance.now() + timeLimitMs
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((path) => before.get(path) !== after.get(path))
    .sort()
    .map((path) => difference(path, before.get(path), after.get(path), deadline))
}

function difference(
  path: string,
  before: string | undefined,
  after: string | undefined,
  deadline: number,
): FileDifference {
  const change = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed'
  const names = [
    before === undefined ? '/dev/null' : `a/${path}`,
    after === undefined ? '/dev/null' : `b/${path}`,
  ] as const
  const timeout = Math.max(1, deadline - performance.now())
  const compared = structuredPatch(...names, before ?? '', after ?? '', undefined, undefined, { context: 3, timeout })
  const patch = compared ?? whole(names, before ?? '', after ?? '')
  const lines = patch.hunks.flatMap((hunk) => hunk.lines)
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length
  return {
    change: { path, change, addedLines: count('+'), removedLines: count('-') },
    patch,
    isCompared: compared !== undefined,
  }
}

/** A patch that takes every line away and puts every line in. */
function whole([oldFileName, newFileName]: readonly [string, string], before: string, after: string): StructuredPatch {
  const removed = signed(before, '-')
  const added = signed(after, '+')
  const [oldLines, newLines] = [removed.count, added.count]
  const hunk = {
    oldStart: Math.min(1, oldLines),
    oldLines,
    newStart: Math.min(1, newLines),
    newLines,
    lines: [...removed.lines, ...added.lines],
  }
  return { oldFileName, newFileName, oldHeader: undefined, newHeader: undefined, hunks: [hunk] }
}

function signed(text: string, sign: '+' | '-'): { lines: string[]; count: number } {
  if (text === '') return { lines: [], count: 0 }
  const lines = text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => sign + line)
  const count = lines.length
  return { lines: text.endsWith('\n') ? lines : [...lines, '\\ No newline at end of file'], count }
}

function wholeLines(text: string, maxBytes: number): string {
  const cut = Buffer.from(text).subarray(0, maxBytes)
  const end = cut.lastIndexOf(10)
  return cut.subarray(0, end + 1).toString('utf8')
}
