import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { KernelError } from '../errors.ts'
import { type Connection, openPlain, sqliteCode } from './sqlite.ts'

export interface Lock {
  /** False once lock.db was moved or replaced: a second host could then start, and this one must stop writing. */
  isIntact(): boolean
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
  let inode: number
  try {
    db.exec('BEGIN EXCLUSIVE')
    inode = statSync(file).ino
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
  return { isIntact: () => isSameFile(file, inode), release: () => release(db) }
}

function isSameFile(file: string, inode: number): boolean {
  // Never opened a second time: closing any descriptor of a file drops every POSIX lock that the process has on it.
  return statSync(file, { throwIfNoEntry: false })?.ino === inode
}

function release(db: Connection): void {
  if (!db.open) return
  db.exec('ROLLBACK')
  db.close()
}
