// The reference's way of storing: one JSON file an event, found again by reading every file.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { draftOf } from './log.ts'

export interface Reference {
  appendPerSecond: number
  lastPageMs: number
  byKindMs: number
  searchMs: number
}

export function measureReference(folder: string, size: number, word: string): Reference {
  mkdirSync(folder, { recursive: true })
  const start = performance.now()
  for (let n = 0; n < size; n += 1) {
    const name = `${String(n + 1).padStart(12, '0')}.json`
    writeFileSync(join(folder, name), JSON.stringify({ seq: n + 1, at: 1_700_000_000_000 + n, ...draftOf(n) }))
  }
  const appendPerSecond = (size / (performance.now() - start)) * 1000
  const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as { kind: string }
  const timed = (work: () => unknown) => {
    const from = performance.now()
    work()
    return performance.now() - from
  }
  return {
    appendPerSecond,
    lastPageMs: timed(() => readdirSync(folder).sort().slice(-100).map(read)),
    byKindMs: timed(() =>
      readdirSync(folder)
        .sort()
        .map(read)
        .filter(({ kind }) => kind === 'note.added')
        .slice(-100),
    ),
    searchMs: timed(() =>
      readdirSync(folder)
        .sort()
        .map((name) => readFileSync(join(folder, name), 'utf8'))
        .filter((text) => text.toLowerCase().includes(word))
        .slice(-100),
    ),
  }
}
