import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestHistory } from '../history/fixture.ts'
import { verifyDataDir } from '../history/verify-only.ts'
import { createCommits } from './commits.ts'
import { history } from './migrations/0001-history.ts'
import { costs } from './migrations/0006-costs.ts'
import { migrate, migrations } from './migrations.ts'
import { startSignedHead, writeSignedHead } from './signed-head.ts'
import { type Connection, openForReading, openForWriting, openPlain } from './sqlite.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'exodesk-migration-'))
  makeFirst()
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const file = () => join(dataDir, 'history.db')
const columns = 'seq, at, agent, kind, data, hash'

/** A real database of schema 1, written by the code of then as far as that is the code of now. */
function makeFirst(): void {
  const db = openForWriting(file())
  migrate(db, '0.1.0', [history])
  startSignedHead(dataDir)
  // What the first schema has not, the statements of today are prepared on; it goes again before anything is written.
  db.exec('CREATE TABLE archived_blobs (hash, file, offset, size_bytes, by)')
  db.exec('CREATE TABLE tool_operations (agent, task, name, operation, calls)')
  const added = ['tool_errors', 'policy_work']
  for (const column of added) db.exec(`ALTER TABLE step_rollup ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0`)
  const before = tablesOf(db, "name LIKE 'cache_breaks%'")
  db.exec(costs)
  const commits = createCommits(db)
  const rows = Array.from({ length: 40 }, (_, n) => {
    const data = JSON.stringify({ text: `note ${n}` })
    return [1_000 + n, 'a', 'T-1', 'task', 1, 1, n, 'executor', null, 'note.added', data] as const
  })
  const { outcomes } = commits.run([
    { id: 1, op: { op: 'append', expect: null, events: rows } },
    { id: 2, op: { op: 'request', agent: 'a', task: 'T-1', model: 'm', items: [] } },
  ])
  expect(outcomes.every(({ ok }) => ok)).toBe(true)
  writeSignedHead(dataDir, commits.head() ?? { seq: 0, hash: '' })
  db.exec('DROP TABLE archived_blobs; DROP TABLE tool_operations')
  for (const column of added) db.exec(`ALTER TABLE step_rollup DROP COLUMN ${column}`)
  db.exec('DROP INDEX repeated_calls_most')
  for (const table of costTables) db.exec(`DROP TABLE ${table}`)
  for (const sql of before) db.exec(sql)
  db.close()
}

const costTables = ['spend_slots', 'step_costs', 'tool_slots', 'repeats', 'troubled_calls', 'cache_breaks']

function tablesOf(db: Connection, which: string): string[] {
  return db.prepare(`SELECT sql FROM sqlite_schema WHERE ${which} AND sql IS NOT NULL`).pluck().all() as string[]
}

function events(path: string): unknown {
  const db = openForReading(path)
  try {
    return db.prepare(`SELECT ${columns} FROM events ORDER BY seq`).all()
  } finally {
    db.close()
  }
}

function schema(path: string): unknown {
  const db = openForReading(path)
  try {
    return db.pragma('user_version', { simple: true })
  } finally {
    db.close()
  }
}

async function startAndDie(failpoint: string): Promise<void> {
  const script = `import { openHistory } from ${JSON.stringify(join(import.meta.dirname, '../history/open.ts'))}
    await openHistory({ dataDir: process.argv[1], clock: { now: Date.now, monotonic: () => 0 }, version: '0.2.0' })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, dataDir], {
    env: { ...process.env, EXODESK_FAILPOINT: failpoint },
    stdio: 'ignore',
  })
  expect(await once(child, 'close')).toEqual([null, 'SIGKILL'])
}

describe('a migration of schema 1', () => {
  it('[F27] keeps every event byte for byte, lays a copy of what was beside it, and goes on', async () => {
    const before = events(file())
    expect(schema(file())).toBe(1)
    const test = await openTestHistory({ dataDir })
    expect(test.history.problem).toBeNull()
    expect(await test.history.verify()).toMatchObject({ ok: true, events: 40 })
    await test.history.append([{ kind: 'note.added', data: { text: 'later' }, actor: 'kernel' }])
    await test.history.close()
    expect(schema(file())).toBe(migrations.length)
    expect((events(file()) as unknown[]).slice(0, 40)).toEqual(before)
    expect(schema(`${file()}.schema-1`)).toBe(1)
    expect(events(`${file()}.schema-1`)).toEqual(before)
  })

  it.each(['migrate:before-copy', 'migrate:after-copy', 'migrate:before-commit', 'migrate:after-commit'])(
    '[F27] killed at %s is the old one or the new one, and the next start completes it',
    async (point) => {
      const before = events(file())
      await startAndDie(point)
      const found = schema(file())
      expect(found).toBe(point === 'migrate:after-commit' ? 2 : 1)
      expect(events(file())).toEqual(before)
      if (found === 2) expect(existsSync(`${file()}.schema-1`)).toBe(true)
      const test = await openTestHistory({ dataDir })
      expect(test.history.problem).toBeNull()
      expect(await test.history.verify()).toMatchObject({ ok: true, events: 40 })
      await test.history.close()
    },
  )

  it('[F27] is not begun by a verification, which says what to do instead', async () => {
    await expect(verifyDataDir({ dataDir, version: '0.2.0' })).resolves.toMatchObject({
      ok: false,
      problem: expect.stringMatching(/has schema 1, of an earlier Exodesk: start this one \(0\.2\.0\) on it once/),
    })
    expect(schema(file())).toBe(1)
  })

  it('[F8] is refused where the number of the schema is damaged', async () => {
    for (const number of [0, 2]) {
      const db = openPlain(file(), 1_000)
      db.pragma(`user_version = ${number}`)
      db.close()
      await expect(openTestHistory({ dataDir })).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/is damaged: it says schema \d in one place and 1 in another/),
      })
    }
  })
})
