import { lstat, readdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sizes } from '../wire/operator-settings.ts'

type What = Sizes['rows'][number]['what']

const order: readonly What[] = ['log', 'search', 'archive', 'revisions', 'tasks', 'snapshots', 'other']
/** By the first folder, or the start of the name, below the data directory. */
const places: readonly [RegExp, What][] = [
  [/^history-search\.db/, 'search'],
  [/^(history\.db|head\.)/, 'log'],
  [/^archive(\/|$)/, 'archive'],
  [/^boxes\/revisions(\/|$)/, 'revisions'],
  [/^boxes\/tasks(\/|$)/, 'tasks'],
  [/^boxes\/snapshots(\/|$)/, 'snapshots'],
]

/** What lies in a data directory, by kind. A file with several names counts once; what vanishes meanwhile is left out. */
export async function measureSizes(dataDir: string): Promise<Sizes> {
  const found = new Map(order.map((what) => [what, { what, sizeBytes: 0, files: 0 }]))
  const unread: string[] = []
  const seen = new Set<string>()

  async function count(path: string): Promise<void> {
    const { size, ino, dev, nlink } = await lstat(join(dataDir, path))
    if (nlink > 1) {
      const name = `${dev} ${ino}`
      if (seen.has(name)) return
      seen.add(name)
    }
    const row = found.get(places.find(([place]) => place.test(path))?.[1] ?? 'other')
    if (row === undefined) return
    row.sizeBytes += size
    row.files += 1
  }

  async function walk(folder: string): Promise<void> {
    const entries = await readdir(join(dataDir, folder), { withFileTypes: true }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') unread.push(folder)
        return []
      },
    )
    for (const entry of entries) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) await walk(path)
      else await count(path).catch((error: NodeJS.ErrnoException) => error.code !== 'ENOENT' && unread.push(path))
    }
  }

  await walk('')
  const rows = [...found.values()]
  const space = await statfs(dataDir).catch(() => null)
  return {
    dataDir,
    rows,
    totalBytes: rows.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    freeBytes: space === null ? null : space.bavail * space.bsize,
    unread: unread.slice(0, 20),
  }
}
