import { createHash } from 'node:crypto'
import { KernelError } from '../errors.ts'
import type { TreeFile } from '../sandbox/sandbox.ts'

/** One file of a tree as its manifest names it. */
export interface ManifestEntry {
  path: string
  sizeBytes: number
  sha256: string
}

/** Names at the root that the kernel writes itself. */
const kernelFileNames = ['package.json', 'wire.d.ts'] as const

/**
 * What the hash of a revision is taken over: one line of JSON for each file, sorted by path.
 * @throws KernelError `invalid` where a path could mean different files on different systems, or leave the tree.
 */
export function manifestOf(files: readonly TreeFile[]): { text: string; hash: string } {
  checkTree(files)
  const entries = files.map(({ path, text }) => ({
    path,
    sizeBytes: Buffer.byteLength(text),
    sha256: createHash('sha256').update(text).digest('hex'),
  }))
  const text = textOf(entries)
  return { text, hash: createHash('sha256').update(text).digest('hex') }
}

/** @throws KernelError `not-found` where the text is no manifest. */
export function parseManifest(text: string, revision: string): ManifestEntry[] {
  const entries = text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as ManifestEntry)
  if (textOf(entries) !== text) throw new KernelError('not-found', `no revision ${revision}`)
  return entries
}

function textOf(entries: readonly ManifestEntry[]): string {
  return entries
    .map(({ path, sizeBytes, sha256 }) => ({ path, sizeBytes, sha256 }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map((entry) => `${JSON.stringify(entry)}\n`)
    .join('')
}

function checkTree(files: readonly TreeFile[]): void {
  if (files.length === 0) throw new KernelError('invalid', 'a revision has at least one file')
  const seen = new Map<string, string>()
  for (const { path, text } of files) {
    const problem = problemOf(path) ?? (/\p{Cs}/u.test(text) ? 'has half of a surrogate pair in its text' : null)
    if (problem !== null) throw new KernelError('invalid', `${JSON.stringify(path)} ${problem}`)
    // Also each folder on the way: on some systems `Lib/a.ts` and `lib/b.ts` would share one.
    const parts = path.split('/')
    for (let depth = 1; depth <= parts.length; depth += 1) {
      const name = parts.slice(0, depth).join('/') + (depth < parts.length ? '/' : '')
      const folded = name.toLowerCase().replace(/\/$/, '')
      const known = seen.get(folded)
      const isSameFolder = known === name && name.endsWith('/')
      if (known !== undefined && !isSameFolder) {
        throw new KernelError(
          'invalid',
          `${JSON.stringify(path)} has the same name as ${JSON.stringify(known)} on some systems`,
        )
      }
      seen.set(folded, name)
    }
  }
}

function problemOf(path: string): string | null {
  if (path !== path.normalize('NFC')) return 'is not in Unicode NFC'
  if (/[\p{Cc}\p{Cs}\\:]/u.test(path)) return 'has a control character, a backslash or a colon'
  if (Buffer.byteLength(path) > 1_000) return 'is longer than 1000 bytes'
  for (const part of path.split('/')) {
    if (part === '' || part === '.' || part === '..') return 'is not a plain relative path'
    if (Buffer.byteLength(part) > 200) return 'has a part longer than 200 bytes'
  }
  const isKernels = kernelFileNames.some((name) => name === path.toLowerCase())
  return isKernels ? 'is written by the kernel and no part of a revision' : null
}
