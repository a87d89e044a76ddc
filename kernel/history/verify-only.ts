import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { KernelError } from '../errors.ts'
import { openForReading } from '../store/sqlite.ts'
import { verifyStore } from '../store/store.ts'
import type { VerifyReport } from './history.ts'

/**
 * Verifies the history of a data directory without opening it: nothing is written there, so that a copy, a read-only
 * disk and a full one can be looked at. What a running host adds meanwhile is left out.
 * @throws KernelError `not-found` (no history there), `unavailable` (of another version; not to be read).
 */
export async function verifyDataDir(options: {
  dataDir: string
  version: string
  writerUrl?: URL | string
}): Promise<VerifyReport> {
  const file = join(options.dataDir, 'history.db')
  if (!existsSync(file)) throw new KernelError('not-found', `there is no history in ${options.dataDir}`)
  const place = placeToRead(file)
  try {
    return await verifyStore({ ...options, file: place.file })
  } finally {
    place.leave()
  }
}

/** Where it can be read: as it lies, as a file that nobody changes, or in a copy. */
function placeToRead(file: string): { file: string; leave: () => void } {
  const leave = () => {}
  if (isReadable(file)) return { file, leave }
  // Reading beside a write-ahead log needs a file of shared memory, which a full or read-only disk does not take.
  const log = `${file}-wal`
  const isFinished = !existsSync(log) || statSync(log).size === 0
  const unchanging = `${pathToFileURL(file).href}?immutable=1`
  if (isFinished && isReadable(unchanging)) return { file: unchanging, leave }
  const folder = mkdtempSync(join(tmpdir(), 'exodesk-verify-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const copy = join(folder, 'history.db')
    copyFileSync(file, copy)
    if (!isFinished) copyFileSync(log, `${copy}-wal`)
    return { file: copy, leave: remove }
  } catch (error) {
    remove()
    throw new KernelError(
      'unavailable',
      `${file} cannot be read where it is, nor copied to ${tmpdir()} to be read there: ${(error as Error).message}`,
      { cause: error },
    )
  }
}

function isReadable(file: string): boolean {
  try {
    const db = openForReading(file)
    try {
      db.prepare('SELECT count(*) FROM sqlite_schema').get()
      return true
    } finally {
      db.close()
    }
  } catch (error) {
    // What is no database is no better elsewhere: its reader says so.
    return /SQLITE_(CORRUPT|NOTADB)/.test(String((error as Error).message))
  }
}
