import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { copyFile } from './files.ts'
import { history } from './migrations/0001-history.ts'
import { durability } from './migrations/0002-durability.ts'
import { tools } from './migrations/0003-tools.ts'
import { effects } from './migrations/0004-effects.ts'
import { speed } from './migrations/0005-speed.ts'
import { costs } from './migrations/0006-costs.ts'
import { deriveCosts } from './migrations/0006-derive.ts'
import { type Connection, openInMemory } from './sqlite.ts'

type Migration = string | ((db: Connection) => void)

/** The schema after the first n is version n. */
export const migrations: readonly Migration[] = [
  history,
  durability,
  tools,
  effects,
  speed,
  (db) => {
    db.exec(costs)
    deriveCosts(db)
  },
]

/** 'exod': says whose file it is. */
const applicationId = 0x65786f64

/**
 * Brings a database to the schema of this version, each step in a transaction of its own, after a copy was laid beside it.
 * The caller alone writes to it.
 * @throws KernelError `unavailable` where the file is of a newer version or of another program, is damaged, or there is
 * no room for the copy; it is then left as it was.
 */
export function migrate(db: Connection, version: string, steps: readonly Migration[] = migrations): void {
  const from = schemaNumber(db, version, steps.length)
  if (from > 0 && from < steps.length) copyAside(db, from)
  for (const [index, step] of steps.entries()) {
    if (index < from) continue
    db.transaction(() => {
      if (typeof step === 'string') db.exec(step)
      else step(db)
      db.prepare('INSERT INTO schemas (number, version) VALUES (?, ?)').run(index + 1, version)
      db.pragma(`application_id = ${applicationId}`)
      db.pragma(`user_version = ${index + 1}`)
      failpoint('migrate:before-commit')
    }).immediate()
    failpoint('migrate:after-commit')
  }
}

/**
 * The schema's number; 0: there is none yet.
 * @throws KernelError `unavailable` where the file is of a newer version or of another program, or is damaged.
 */
function schemaNumber(db: Connection, version: string, known = migrations.length): number {
  const number = db.pragma('user_version', { simple: true }) as number
  const owner = db.pragma('application_id', { simple: true }) as number
  const tables = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number
  if (owner !== applicationId && (number > 0 || tables > 0)) {
    throw new KernelError('unavailable', `${db.name} is not a history of Exodesk: choose another folder with --data`)
  }
  if (tables === 0 && number === 0) return 0
  const made = db.prepare('SELECT number, version FROM schemas ORDER BY number DESC LIMIT 1').get() as
    | { number: number; version: string }
    | undefined
  if (made?.number !== number) {
    throw new KernelError(
      'unavailable',
      `${db.name} is damaged: it says schema ${number} in one place and ${made?.number ?? 'none'} in another; keep it aside and restore a backup`,
    )
  }
  if (number > known) {
    throw new KernelError(
      'unavailable',
      `${db.name} was written by Exodesk ${made.version} (schema ${number}; this is ${version} and knows up to ${known}): update Exodesk`,
    )
  }
  return number
}

/** @throws KernelError `unavailable` unless the schema is that of this version. */
export function requireCurrentSchema(db: Connection, version: string): void {
  const number = schemaNumber(db, version)
  if (number === migrations.length) return
  throw new KernelError(
    'unavailable',
    `${db.name} has schema ${number}, of an earlier Exodesk: start this one (${version}) on it once, which brings it to schema ${migrations.length} and keeps a copy`,
  )
}

/** Names and texts of the triggers and tables that must be there: a database without them was tampered with. */
export function schemaOf(db: Connection): string {
  const rows = db
    .prepare("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
    .raw()
    .all()
  return JSON.stringify(rows)
}

let expected: string | undefined

/** `schemaOf` a database that nobody tampered with. */
export function expectedSchema(): string {
  if (expected === undefined) {
    const fresh = openInMemory()
    migrate(fresh, '')
    expected = schemaOf(fresh)
    fresh.close()
  }
  return expected
}

/** The whole file, since a migration may touch any of it. */
function copyAside(db: Connection, version: number): void {
  failpoint('migrate:before-copy')
  // Into the file itself, so that one file is all.
  db.pragma('wal_checkpoint(TRUNCATE)')
  const copy = `${db.name}.schema-${version}`
  try {
    copyFile(db.name, copy)
  } catch (error) {
    throw new KernelError(
      'unavailable',
      `${db.name} must be brought to a newer schema, and no copy of it can be laid beside it (${(error as Error).message}): free as much space as it has, then start again`,
      { cause: error },
    )
  }
  failpoint('migrate:after-copy')
}
