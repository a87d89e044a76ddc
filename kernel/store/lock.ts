import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { KernelError } from '../errors.ts'
import { type Connection, openPlain, sqliteCode } from './sqlite.ts'

export interface Lock {
  release(): void
}

/**
 * Makes this process the only host of a data directory, by whatever path it is reached, until it releases or ends;
 * the operating system takes the lock back from a process that was killed.
 * @throws KernelError `conflict` while another process (or another part of this one) holds it; `unavailable` where the
 * directory cannot be written.
 */
export function holdLock(dataDir: string): Lock {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, 'lock.db')
  // Not the main database: its readers must go on. A transaction, not a pid file: it cannot outlive its process.
  const db = openPlain(file, 0)
  try {
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (sqliteCode(error)?.startsWith('SQLITE_BUSY')) {
      throw new KernelError(
        'conflict',
        `another Exodesk is using ${dataDir}: use that one, stop it, or choose another folder with --data`,
      )
    }
    throw new KernelError('unavailable', `${file} cannot be locked: ${(error as Error).message}`, { cause: error })
  }
  return { release: () => release(db) }
}

/**
 * Whether the lock file of a directory is still the one that is there now. Once it was moved or replaced, a second host can
 * start, and this one must stop writing. Where there is no lock file, nobody holds one.
 */
export function watchLock(dataDir: string): () => boolean {
  const file = join(dataDir, 'lock.db')
  // Never opened: closing any descriptor of a file drops every POSIX lock that the process has on it.
  const inode = () => statSync(file, { throwIfNoEntry: false })?.ino
  const held = inode()
  return () => held === undefined || inode() === held
}

function release(db: Connection): void {
  if (!db.open) return
  db.exec('ROLLBACK')
  db.close()
}
