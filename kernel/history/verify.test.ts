import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { KernelError } from '../errors.ts'
import { genesis, headerColumns, link, sha256 } from '../store/chain.ts'
import { type Connection, openPlain, passing } from '../store/sqlite.ts'
import { verifyFully } from '../store/verify/full.ts'
import { openTestHistory, type TestHistory } from './fixture.ts'

let test: TestHistory
beforeEach(async () => {
  test = await openTestHistory()
  for (let n = 1; n <= 5; n += 1) {
    await test.history.append([
      { kind: 'note.added', data: { text: `note ${n}` }, actor: 'executor', agent: 'a', task: 'T-1' },
      { kind: 'task.started', data: {}, actor: 'kernel', agent: 'a', task: 'T-1' },
    ])
  }
  await test.reopen()
})
afterEach(() => test.close())

it('a verification that the end of the app cuts off is no finding: history is not read-only afterwards', async () => {
  for (const threads of [1, 2]) {
    const cut = test.history.verify({ threads })
    const told = expect(cut).rejects.toMatchObject({ code: 'unavailable', message: 'the store is closed' })
    await test.history.close()
    await told
    expect(existsSync(join(test.dataDir, 'quarantine.txt'))).toBe(false)
    await test.reopen()
    expect(test.history.problem).toBeNull()
  }
})

it('one whose thread is ended in the middle reports nothing; one that meets damage does', async () => {
  const ended = new KernelError('unavailable', 'the store is closed', { details: passing })
  await expect(verifyFully([{ ask: () => Promise.reject(ended) }])).rejects.toBe(ended)
  const damaged = new KernelError('unavailable', 'history.db: it is damaged')
  const found = await verifyFully([{ ask: () => Promise.reject(damaged) }])
  expect(found).toMatchObject({ ok: false, of: 'log', problem: expect.stringContaining('it is damaged') })
})

/** As somebody does who has the files and no respect for triggers; then starts Exodesk again. */
async function tamper(change: (db: Connection) => void): Promise<void> {
  await test.history.close()
  const db = openPlain(join(test.dataDir, 'history.db'), 1_000)
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string
    sql: string
  }[]
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
  db.pragma('foreign_keys = OFF')
  change(db)
  for (const { sql } of triggers) db.exec(sql)
  db.close()
  await test.reopen()
}

/** Makes the links fit again from `seq` on. */
function relink(db: Connection, seq: number): void {
  const rows = db
    .prepare(`SELECT seq, data, ${headerColumns.join(', ')} FROM events WHERE seq >= ? ORDER BY seq`)
    .all(seq)
  let prevHash =
    (db
      .prepare('SELECT hash FROM events WHERE seq = ?')
      .pluck()
      .get(seq - 1) as string | undefined) ?? genesis
  for (const row of rows as Record<string, string | number | null>[]) {
    const payloadHash = sha256(String(row.data))
    const hash = link(
      Number(row.seq),
      headerColumns.map((name) => row[name] ?? null),
      payloadHash,
      prevHash,
    )
    db.prepare('UPDATE events SET payload_hash = ?, prev_hash = ?, hash = ? WHERE seq = ?').run(
      payloadHash,
      prevHash,
      hash,
      row.seq,
    )
    prevHash = hash
  }
}

describe('verify', () => {
  it('[H7] [C2] positive control: finds nothing in a history that was left alone', async () => {
    expect(await test.history.verify()).toMatchObject({
      ok: true,
      events: 10,
      head: { seq: 10 },
      firstBadSeq: null,
      problem: null,
    })
    expect(test.history.problem).toBeNull()
  })

  it.each<[string, (db: Connection) => void, number | null, RegExp]>([
    [
      'a changed payload',
      (db) => db.exec(`UPDATE events SET data = replace(data, '2', '3') WHERE seq = 3`),
      3,
      /event 3 \(note\.added\).*payload/,
    ],
    [
      'a changed header',
      (db) => db.exec('UPDATE events SET at = at + 1 WHERE seq = 4'),
      4,
      /event 4 \(task\.started\).*header/,
    ],
    ['a changed actor', (db) => db.exec(`UPDATE events SET actor = 'operator' WHERE seq = 5`), 5, /event 5.*header/],
    ['a removed payload', (db) => db.exec('UPDATE events SET data = NULL WHERE seq = 5'), 5, /no event says why/],
    ['a dropped tail', (db) => db.exec('DELETE FROM events WHERE seq > 7'), 8, /events 8 to 10 are missing/],
    ['a hole', (db) => db.exec('DELETE FROM events WHERE seq = 6'), 6, /event 6 is missing/],
    [
      'swapped rows',
      (db) =>
        db.exec(
          'UPDATE events SET seq = -1 WHERE seq = 2; UPDATE events SET seq = 2 WHERE seq = 3; UPDATE events SET seq = 3 WHERE seq = -1',
        ),
      2,
      /event 2 .*link/,
    ],
    [
      'a chain that was recomputed after a change',
      (db) => {
        db.exec(`UPDATE events SET data = '{"text":"forged"}' WHERE seq = 3`)
        relink(db, 3)
      },
      10,
      /event 10 \(task\.started\) is not the one that was signed/,
    ],
    ['an emptied history', (db) => db.exec('DELETE FROM events'), 1, /events 1 to 10 are missing/],
    ['a dropped trigger', (db) => db.exec('CREATE TABLE more (a)'), null, /tables or the triggers/],
  ])('[H7] [C2] names %s, and the history opens for reading only', async (_name, change, firstBadSeq, problem) => {
    await tamper(change)
    expect(await test.history.verify()).toMatchObject({
      ok: false,
      firstBadSeq,
      problem: expect.stringMatching(problem),
    })
    expect(test.history.problem).toMatch(problem)
    const before = test.history.head()
    await expect(
      test.history.append([{ kind: 'note.added', data: { text: 'more' }, actor: 'kernel' }]),
    ).rejects.toMatchObject({ code: 'unavailable', message: expect.stringMatching(/reading only/) })
    expect(test.history.head()).toEqual(before)
    expect((await test.history.read({ agent: null }, { limit: 2 })).events).toBeDefined()
  })

  it('[H7] [C2] notices an older copy of the database', async () => {
    await test.history.close()
    const file = join(test.dataDir, 'history.db')
    const copy = join(test.dataDir, 'older')
    cpSync(file, copy)
    await test.reopen()
    await test.history.append([{ kind: 'note.added', data: { text: 'later' }, actor: 'kernel' }])
    await test.history.close()
    for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true })
    cpSync(copy, file)
    await test.reopen()
    expect(await test.history.verify()).toMatchObject({ ok: false, firstBadSeq: 11 })
  })

  it.each([
    ['head.json', (file: string) => rmSync(file), /head\.json is missing/],
    ['head.json', (file: string) => writeFileSync(file, '{}'), /head\.json is damaged/],
    [
      'head.json',
      (file: string) => writeFileSync(file, readFileSync(file, 'utf8').replace('"seq":10', '"seq":9')),
      /signature/,
    ],
    ['head.key', (file: string) => rmSync(file), /head\.key is missing/],
    ['head.key', (file: string) => writeFileSync(file, 'f'.repeat(64)), /signature/],
  ])('[C2] [F8] notices that %s was tampered with (%#)', async (name, change, problem) => {
    await test.history.close()
    change(join(test.dataDir, name))
    await test.reopen()
    expect(await test.history.verify()).toMatchObject({ ok: false, problem: expect.stringMatching(problem) })
  })

  it('[A6] names the event whose blob was changed or is missing, and only that blob cannot be read', async () => {
    const [good, bad] = await Promise.all(['good', 'bad'].map((text) => test.history.putBlob(text)))
    const written = (name: string, hash = '') =>
      ({
        kind: 'artifact.written',
        data: { name, version: 1, hash, sizeBytes: 3 },
        actor: 'kernel',
        agent: 'a',
      }) as const
    await test.history.append([written('good', good), written('bad', bad)])
    await tamper((db) => db.prepare(`UPDATE blobs SET bytes = x'626164FF' WHERE hash = ?`).run(bad))
    expect(await test.history.verify()).toMatchObject({
      ok: false,
      firstBadSeq: 12,
      problem: expect.stringMatching(/artifact\.written/),
    })
    await expect(test.history.getBlob(bad ?? '')).rejects.toMatchObject({ code: 'internal' })
    expect(String(await test.history.getBlob(good ?? ''))).toBe('good')
    await tamper((db) => db.prepare('DELETE FROM blobs WHERE hash = ?').run(bad))
    expect(await test.history.verify()).toMatchObject({
      ok: false,
      firstBadSeq: 12,
      problem: expect.stringMatching(/missing/),
    })
  })

  it('accepts a payload that an operator had removed, which nobody can read any more', async () => {
    const secret = 'sk-leaked'
    await test.history.append([{ kind: 'note.added', data: { text: secret }, actor: 'executor', agent: 'a' }])
    await test.history.append([
      { kind: 'payload.tombstoned', data: { seq: 11, reason: 'a leaked key' }, actor: 'operator', agent: 'a' },
    ])
    expect(await test.history.verify()).toMatchObject({ ok: true, events: 12 })
    expect(await test.history.get({ agent: 'a' }, 11)).toMatchObject({ seq: 11, data: { tombstoned: true } })
    await test.reopen()
    expect(test.history.problem).toBeNull()
    expect(readFileSync(join(test.dataDir, 'history.db'), 'latin1')).not.toContain(secret)
  })

  it('[F8] says that a file is no database rather than start anew over it', async () => {
    await test.history.close()
    writeFileSync(join(test.dataDir, 'history.db'), 'not a database at all, but long enough to look at'.repeat(100))
    await expect(test.reopen()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/damaged.*backup/),
    })
  })
})
