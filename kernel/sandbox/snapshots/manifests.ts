import { open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Snapshot } from '../sandbox.ts'
import { syncFolder } from './objects.ts'
import type { Entry } from './walk.ts'

export interface Kept extends Entry {
  /** Of a file. */
  hash?: string
}

const headBytes = 4096

/** What a snapshot consists of: a line that describes it, and a line for each entry, parents first. */
export class Manifests {
  readonly #dir: string

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Oldest first. */
  async list(): Promise<Snapshot[]> {
    const found: Snapshot[] = []
    for (const file of await readdir(this.#dir)) if (file.endsWith('.snapshot')) found.push(await this.#head(file))
    return found.sort((a, b) => a.at - b.at)
  }

  async has(name: string): Promise<boolean> {
    return (await readdir(this.#dir)).includes(fileOf(name))
  }

  async read(name: string): Promise<Kept[]> {
    const lines = (await readFile(join(this.#dir, fileOf(name)), 'utf8')).split('\n')
    return lines.slice(1, -1).map((line) => JSON.parse(line) as Kept)
  }

  /** In place of an earlier one, in one step. */
  async write(snapshot: Snapshot, entries: readonly Kept[]): Promise<void> {
    const path = join(this.#dir, fileOf(snapshot.name))
    const text = [snapshot, ...entries].map((line) => `${JSON.stringify(line)}\n`).join('')
    await writeFile(`${path}.new`, text, { mode: 0o600, flush: true })
    await rename(`${path}.new`, path)
    await syncFolder(this.#dir)
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#dir, fileOf(name)), { force: true })
  }

  async #head(file: string): Promise<Snapshot> {
    const handle = await open(join(this.#dir, file), 'r')
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0)
      return JSON.parse(buffer.toString('utf8', 0, bytesRead).split('\n', 1)[0] ?? '') as Snapshot
    } finally {
      await handle.close()
    }
  }
}

function fileOf(name: string): string {
  return `${name}.snapshot`
}
