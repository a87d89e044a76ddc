import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import { migrate, migrations } from './migrations.ts'
import { type Connection, openForReading, openForWriting } from './sqlite.ts'

let test: TestHistory
let db: Connection
beforeEach(async () => {
  test = await openTestHistory()
  const hash = await test.history.putBlob('a value')
  await test.history.append([
    { kind: 'note.added', data: { text: 'one' }, actor: 'kernel', agent: 'a', task: 'T-1' },
    { kind: 'artifact.written', data: { name: 'n', version: 1, hash, sizeBytes: 7 }, actor: 'kernel', agent: 'a' },
    { kind: 'note.added', data: { text: 'three' }, actor: 'kernel', agent: 'a' },
  ])
  await test.history.grantBlob('a', hash)
  const items = [{ kind: 'item' as const, json: '{}' }]
  await test.history.putRequest({ agent: 'a', task: 'T-1', model: 'm', items })
  db = openForWriting(join(test.dataDir, 'history.db'))
})
afterEach(async () => {
  db.close()
  await test.close()
})

const protectedTables = ['events', 'blobs', 'grants', 'requests', 'request_items', 'artifacts', 'schemas']

function everything(): unknown {
  return protectedTables.map((table) => db.prepare(`SELECT * FROM ${table}`).all())
}

describe('the writer’s own connection', () => {
  it('[C3] commits durably', () => {
    expect(db.pragma('synchronous', { simple: true })).toBe(2)
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal')
    expect(db.pragma('recursive_triggers', { simple: true })).toBe(1)
    expect(db.pragma('page_size', { simple: true })).toBe(8192)
  })

  it.each(protectedTables)('[C1] [A4] can neither change nor remove a row of %s', (table) => {
    const before = everything()
    const column = Object.keys(db.prepare(`SELECT * FROM ${table}`).get() as object)[0]
    expect(() => db.exec(`UPDATE ${table} SET ${column} = ${column}`)).toThrow(/append-only/)
    expect(() => db.exec(`DELETE FROM ${table}`)).toThrow(/append-only/)
    expect(everything()).toEqual(before)
  })

  const copied = `at, agent, task, run, generation, turn, step, actor, revision, kind, payload_hash, prev_hash, hash, data`
  it.each([
    ['a replaced row', `INSERT OR REPLACE INTO events (seq, ${copied}) SELECT 2, ${copied} FROM events WHERE seq = 1`],
    ['a repeated seq', `INSERT INTO events (seq, ${copied}) SELECT 3, ${copied} FROM events WHERE seq = 3`],
    ['a gap', `INSERT INTO events (seq, ${copied}) SELECT 9, ${copied} FROM events WHERE seq = 3`],
    ['no seq', `INSERT INTO events (${copied}) SELECT ${copied} FROM events WHERE seq = 3`],
    ['a seq before the first', `INSERT INTO events (seq, ${copied}) SELECT -1, ${copied} FROM events WHERE seq = 3`],
    ['a row that does not link', `INSERT INTO events (seq, ${copied}) SELECT 4, ${copied} FROM events WHERE seq = 3`],
    [
      'an upsert',
      `INSERT INTO events (seq, ${copied}) SELECT 1, ${copied} FROM events WHERE seq = 1 ON CONFLICT (seq) DO UPDATE SET data = 'x'`,
    ],
    ['a payload without a tombstone', 'UPDATE events SET data = NULL WHERE seq = 1'],
  ])('[C1] cannot write %s', (_name, sql) => {
    const before = everything()
    expect(() => db.exec(sql)).toThrow(/append-only/)
    expect(everything()).toEqual(before)
  })

  it('[C1] keeps the first bytes of a blob, whatever kind of INSERT comes', () => {
    const before = everything()
    db.exec("INSERT OR REPLACE INTO blobs (hash, bytes) SELECT hash, x'00' FROM blobs")
    db.exec(
      "INSERT INTO blobs (hash, bytes) SELECT hash, x'00' FROM blobs WHERE true ON CONFLICT DO UPDATE SET bytes = x'00'",
    )
    expect(everything()).toEqual(before)
  })

  it('refuses a reader every write', () => {
    const reader = openForReading(join(test.dataDir, 'history.db'))
    expect(() => reader.exec("INSERT INTO blobs (hash, bytes) VALUES ('x', x'00')")).toThrow(/readonly/)
    reader.close()
  })
})

describe('the schema', () => {
  const now = migrations.length
  const applied = migrations.map(() => '')

  it('[F27] of a newer version is refused, by name, and left as it is', () => {
    expect(db.pragma('user_version', { simple: true })).toBe(now)
    migrate(db, '9.9.9', [...applied, 'CREATE TABLE more (a)'])
    expect(() => migrate(db, '0.1.0')).toThrowError(
      new RegExp(`written by Exodesk 9\\.9\\.9 \\(schema ${now + 1}; this is 0\\.1\\.0 .*update`),
    )
    expect(db.pragma('user_version', { simple: true })).toBe(now + 1)
  })

  it('[F27] is copied aside before a migration, and a migration that fails changes nothing', () => {
    expect(() => migrate(db, '0.2.0', [...applied, 'CREATE TABLE two (a); CREATE TABLE two (a)'])).toThrow(
      /already exists/,
    )
    expect(db.pragma('user_version', { simple: true })).toBe(now)
    expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'two'").pluck().get()).toBe(0)
    const copy = openForReading(join(test.dataDir, `history.db.schema-${now}`))
    expect(copy.prepare('SELECT count(*) FROM events').pluck().get()).toBe(3)
    copy.close()
  })
})
