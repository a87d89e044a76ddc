// The one place that opens SQLite, so that no connection can miss a pragma.
import Database from 'better-sqlite3'
import { KernelError } from '../errors.ts'

export type Connection = Database.Database
export type Statement = Database.Statement

/** A locked database is waited for this long before a write gives up, ms. */
const busyTimeoutMs = 15_000

/**
 * The writer's connection: every commit is on disk when it returns.
 * @throws KernelError `unavailable` where the file cannot be opened, is no database, or durable commits cannot be had.
 */
export function openForWriting(file: string): Connection {
  return opening(file, () => {
    const db = new Database(file, { timeout: busyTimeoutMs })
    // Both take effect only before the first table exists, or before the journal is a WAL.
    db.pragma('page_size = 8192')
    db.pragma('auto_vacuum = NONE')
    db.pragma('journal_mode = WAL')
    // After journal_mode: entering WAL would otherwise leave a build's own default, which may lose commits at a power loss.
    db.pragma('synchronous = FULL')
    // Without it, REPLACE deletes a row without firing the trigger that forbids deleting.
    db.pragma('recursive_triggers = ON')
    db.pragma('foreign_keys = ON')
    db.pragma('trusted_schema = OFF')
    db.pragma('secure_delete = ON')
    db.pragma('cache_size = -32000')
    // Pages of the write-ahead log, 32 MB: each move into the database waits for the disk twice, and writes what is often
    // changed once for all of its changes.
    db.pragma('wal_autocheckpoint = 4000')
    // Triggers and savepoints keep the pages before each statement: in memory, not in a temporary file.
    db.pragma('temp_store = MEMORY')
    const durable = { journal_mode: 'wal', synchronous: 2, recursive_triggers: 1, foreign_keys: 1, auto_vacuum: 0 }
    for (const [pragma, wanted] of Object.entries(durable)) {
      const found = db.pragma(pragma, { simple: true })
      if (found !== wanted) throw new Error(`PRAGMA ${pragma} is ${String(found)} and must be ${wanted}`)
    }
    return db
  })
}

/**
 * A connection that cannot write. Sees every commit made before each statement.
 * @param file Also as a URI with `immutable=1`, where nothing at all may be written beside it.
 */
export function openForReading(file: string): Connection {
  return opening(file, () => {
    const db = new Database(file, { readonly: true, fileMustExist: true, timeout: busyTimeoutMs })
    db.pragma('trusted_schema = OFF')
    db.pragma('query_only = ON')
    db.pragma('cache_size = -32000')
    return db
  })
}

/** A small file with no durability of its own, for locks and for what can be built anew. */
export function openPlain(file: string, timeoutMs: number): Connection {
  return opening(file, () => new Database(file, { timeout: timeoutMs }))
}

export function openInMemory(): Connection {
  return new Database(':memory:')
}

/** What others make of an error of SQLite: the disk has no room, or the file is damaged. */
export type Fault = 'disk-full' | 'damaged'

export function faultOf(error: unknown): Fault | null {
  const code = sqliteCode(error) ?? ''
  if (code.startsWith('SQLITE_FULL') || code === 'SQLITE_IOERR_SHMSIZE') return 'disk-full'
  return /^SQLITE_(CORRUPT|NOTADB)/.test(code) ? 'damaged' : null
}

/** Details of an error that says nothing of what is stored. */
export const passing = { isPassing: true } as const

/** Whether something could not be read for a reason outside the file: it could not be opened just now, or the store was closed. */
export function isPassing(error: unknown): boolean {
  if (error instanceof KernelError) return error.details?.isPassing === true
  return /^SQLITE_(BUSY|LOCKED|CANTOPEN|PERM|AUTH|NOMEM|INTERRUPT|FULL)/.test(sqliteCode(error) ?? '')
}

export function sqliteCode(error: unknown): string | null {
  return error instanceof Database.SqliteError ? error.code : null
}

/** What an error of SQLite means for the caller, and what to do about it. */
export function explain(error: unknown, file: string): KernelError {
  if (error instanceof KernelError) return error
  const code = sqliteCode(error) ?? ''
  const text = error instanceof Error ? error.message : String(error)
  const meaning =
    faultOf(error) === 'disk-full'
      ? 'the disk is full; free some space and try again'
      : /^SQLITE_(BUSY|LOCKED)/.test(code)
        ? `another program has kept it locked for ${busyTimeoutMs / 1000} s; close that program and try again`
        : /^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/.test(code)
          ? 'it cannot be opened for writing; check the permissions of the file and its folder'
          : faultOf(error) === 'damaged'
            ? 'it is damaged; keep it aside and restore a backup'
            : /^SQLITE_IOERR/.test(code)
              ? 'the disk reported an error; check the disk'
              : 'the operation failed'
  return new KernelError('unavailable', `${file}: ${meaning} (${code === '' ? text : `${code}: ${text}`})`, {
    cause: error,
    ...(isPassing(error) ? { details: passing } : {}),
  })
}

function opening(file: string, open: () => Connection): Connection {
  try {
    return open()
  } catch (error) {
    throw explain(error, file)
  }
}
