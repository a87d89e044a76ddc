import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { failpoint } from '../../failpoints.ts'

const chunkBytes = 256 * 1024
const nothing = Buffer.alloc(chunkBytes)

/** Contents of files by their SHA-256, below one folder. An object is whole and durable, or it is not there. */
export class Objects {
  readonly #dir: string
  readonly #making: string
  readonly #touched = new Set<string>()
  #made = 0

  constructor(dir: string) {
    this.#dir = join(dir, 'objects')
    this.#making = join(dir, 'making')
  }

  /** Removes what a kill left half made. */
  async open(): Promise<void> {
    await rm(this.#making, { recursive: true, force: true })
    await mkdir(this.#making, { recursive: true, mode: 0o700 })
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
  }

  pathOf(hash: string): string {
    return join(this.#dir, hash.slice(0, 2), hash.slice(2))
  }

  /** Keeps what the file holds; `addedBytes` is 0 where it was there. Holes stay holes. @param maxBytes a file that grows is cut off with an error. */
  async put(file: FileHandle, maxBytes: number): Promise<{ hash: string; addedBytes: number }> {
    this.#made += 1
    const temporary = join(this.#making, String(this.#made))
    const copy = await open(temporary, 'wx', 0o600)
    const hash = createHash('sha256')
    const buffer = Buffer.allocUnsafe(chunkBytes)
    let size = 0
    try {
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, chunkBytes, size)
        if (bytesRead === 0) break
        const chunk = buffer.subarray(0, bytesRead)
        hash.update(chunk)
        if (!chunk.equals(nothing.subarray(0, bytesRead))) await writeAll(copy, chunk, size)
        size += bytesRead
        if (size > maxBytes) throw new Error('a file grew while it was kept')
      }
      await copy.truncate(size)
      const name = hash.digest('hex')
      const path = this.pathOf(name)
      if (existsSync(path)) {
        await rm(temporary)
        return { hash: name, addedBytes: 0 }
      }
      await copy.sync()
      const { blocks } = await copy.stat()
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      failpoint('snapshot:before-object')
      await rename(temporary, path)
      this.#touched.add(dirname(path))
      return { hash: name, addedBytes: blocks * 512 }
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    } finally {
      await copy.close()
    }
  }

  /** Until then the names of what was put may be lost with the power. */
  async settle(): Promise<void> {
    for (const dir of [...this.#touched, this.#dir]) await syncFolder(dir)
    this.#touched.clear()
  }

  /** Removes all that is not named. */
  async keepOnly(used: ReadonlySet<string>): Promise<void> {
    for (const part of await readdir(this.#dir)) {
      for (const rest of await readdir(join(this.#dir, part)))
        if (!used.has(part + rest)) await rm(join(this.#dir, part, rest), { force: true })
    }
  }
}

export async function syncFolder(dir: string): Promise<void> {
  const folder = await open(dir, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

async function writeAll(file: FileHandle, chunk: Buffer, at: number): Promise<void> {
  for (let done = 0; done < chunk.length; )
    done += (await file.write(chunk, done, chunk.length - done, at + done)).bytesWritten
}
