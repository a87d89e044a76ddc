import { createHash } from 'node:crypto'
import { diffLines } from 'diff'
import { KernelError } from '../errors.ts'
import type { TreeFile } from '../sandbox/sandbox.ts'
import type { FileHunks, Hunk, KeptHunks } from './revisions.ts'

/** Comparing may hold up the loop for this long in all, ms; each file left then is one hunk. */
const timeLimitMs = 500

/** The changed files by path, each cut into its runs of changed lines. A file that comes or goes is one hunk. */
export function cutHunks(from: readonly TreeFile[], to: readonly TreeFile[]): FileHunks[] {
  const [before, after] = [textsOf(from), textsOf(to)]
  const deadline = performance.now() + timeLimitMs
  return changedPaths(before, after).map((path) => cut(path, before.get(path), after.get(path), deadline))
}

/**
 * `from` with the kept hunks of `to` alone: byte for byte `to` where all are kept, and `from` where none is.
 * @throws KernelError `invalid` for a hunk that there is not.
 */
export function keepHunks(from: readonly TreeFile[], to: readonly TreeFile[], keep: readonly KeptHunks[]): TreeFile[] {
  const [before, after] = [textsOf(from), textsOf(to)]
  const files = cutHunks(from, to)
  const known = new Map(files.map(({ path, hunks }) => [path, new Set(hunks.map(({ id }) => id))]))
  const kept = new Map<string, Set<string>>()
  for (const { path, hunks } of keep) {
    const own = kept.get(path) ?? new Set()
    kept.set(path, own)
    for (const id of hunks) own.add(id)
    const unknown = hunks.filter((id) => !known.get(path)?.has(id))
    if (!known.has(path) || unknown.length > 0)
      throw new KernelError('invalid', `${path.slice(0, 400)} has no change ${listOf(unknown)}: look again`)
  }
  const result = new Map(before)
  for (const { path, change, hunks } of files) {
    const chosen = hunks.filter(({ id }) => kept.get(path)?.has(id))
    if (chosen.length === 0) continue
    if (change === 'removed') result.delete(path)
    else result.set(path, apply(before.get(path) ?? '', after.get(path) ?? '', chosen))
  }
  return [...result].map(([path, text]) => ({ path, text }))
}

function apply(before: string, after: string, hunks: readonly Hunk[]): string {
  const [old, now] = [linesOf(before), linesOf(after)]
  const parts: string[] = []
  let at = 0
  for (const { beforeStart, beforeLines, afterStart, afterLines } of hunks) {
    parts.push(...old.slice(at, beforeStart), ...now.slice(afterStart, afterStart + afterLines))
    at = beforeStart + beforeLines
  }
  return [...parts, ...old.slice(at)].join('')
}

function cut(path: string, before: string | undefined, after: string | undefined, deadline: number): FileHunks {
  const change = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed'
  const [old, now] = [linesOf(before ?? ''), linesOf(after ?? '')]
  const timeout = Math.max(1, deadline - performance.now())
  const parts = change === 'changed' ? diffLines(before ?? '', after ?? '', { timeout }) : undefined
  const whole = { beforeStart: 0, beforeLines: old.length, afterStart: 0, afterLines: now.length }
  const ranges = parts === undefined ? [whole] : rangesOf(parts)
  const hunks = ranges.map((range) => ({ id: idOf(path, range, old, now), ...range }))
  return { path, change, hunks, isCompared: change !== 'changed' || parts !== undefined }
}

type Range = Omit<Hunk, 'id'>

function rangesOf(parts: readonly { count: number; added: boolean; removed: boolean }[]): Range[] {
  const ranges: Range[] = []
  let open: Range | null = null
  let [beforeStart, afterStart] = [0, 0]
  for (const { count, added, removed } of parts) {
    if (!added && !removed) open = null
    else if (open === null) {
      open = { beforeStart, beforeLines: 0, afterStart, afterLines: 0 }
      ranges.push(open)
    }
    if (!added) beforeStart += count
    if (!removed) afterStart += count
    if (open !== null && removed) open.beforeLines += count
    if (open !== null && added) open.afterLines += count
  }
  return ranges
}

function idOf(path: string, range: Range, old: readonly string[], now: readonly string[]): string {
  const { beforeStart, beforeLines, afterStart, afterLines } = range
  const lines = [old.slice(beforeStart, beforeStart + beforeLines), now.slice(afterStart, afterStart + afterLines)]
  const named = JSON.stringify([path, beforeStart, beforeLines, ...lines])
  return createHash('sha256').update(named).digest('hex').slice(0, 16)
}

/** Each with its end, so that joining them gives the text again. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

const listOf = (ids: readonly string[]): string =>
  ids.length > 3 ? `${listOf(ids.slice(0, 3))} and ${ids.length - 3} more` : ids.map((id) => id.slice(0, 64)).join(', ')

const textsOf = (files: readonly TreeFile[]) => new Map(files.map(({ path, text }) => [path, text]))

function changedPaths(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path)).sort()
}
