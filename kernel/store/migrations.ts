import { rmSync } from 'node:fs'
import { KernelError } from '../errors.ts'
import { history } from './migrations/0001-history.ts'
import { type Connection, openInMemory } from './sqlite.ts'

/** The schema after the first n is version n. */
const migrations: readonly string[] = [history]

/** 'exod': says whose file it is. */
const applicationId = 0x65786f64

/**
 * Brings a database to the schema of this version, each step in a transaction of its own, after a copy was laid beside it.
 * @throws KernelError `unavailable` where the file is of a newer version or of another program; it is then left as it was.
 */
export function migrate(db: Connection, version: string, steps: readonly string[] = migrations): void {
  const from = db.pragma('user_version', { simple: true }) as number
  const owner = db.pragma('application_id', { simple: true }) as number
  if (owner !== applicationId && (from > 0 || tableCount(db) > 0)) {
    throw new KernelError('unavailable', `${db.name} is not a history of Exodesk: choose another folder with --data`)
  }
  if (from > steps.length) {
    const by = db.prepare('SELECT version FROM schemas WHERE number = ?').pluck().get(from) as string
    throw new KernelError(
      'unavailable',
      `${db.name} was written by Exodesk ${by} (schema ${from}; this is ${version} and knows up to ${steps.length}): update Exodesk`,
    )
  }
  if (from > 0 && from < steps.length) copyAside(db, from)
  for (const [index, step] of steps.entries()) {
    if (index < from) continue
    db.transaction(() => {
      db.exec(step)
      db.prepare('INSERT INTO schemas (number, version) VALUES (?, ?)').run(index + 1, version)
      db.pragma(`application_id = ${applicationId}`)
      db.pragma(`user_version = ${index + 1}`)
    }).immediate()
  }
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

function tableCount(db: Connection): number {
  return db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number
}

function copyAside(db: Connection, version: number): void {
  const copy = `${db.name}.schema-${version}`
  rmSync(copy, { force: true })
  db.prepare('VACUUM INTO ?').run(copy)
}
