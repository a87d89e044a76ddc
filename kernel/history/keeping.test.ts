import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openPlain } from '../store/sqlite.ts'
import { openTestHistory, type TestHistory } from './fixture.ts'
import { verifyDataDir } from './verify-only.ts'

let test: TestHistory
beforeEach(async () => {
  test = await openTestHistory()
})
afterEach(() => test.close())

const note = (text: string) => ({ kind: 'note.added', data: { text }, actor: 'executor', agent: 'a' }) as const
const texts = async (t: TestHistory) =>
  (await t.history.read({ agent: null }, { kinds: ['note.added'], limit: 1000 })).events.map(({ data }) => data)

describe('a backup', () => {
  it('is a data directory of its own: whole, verified, and open to go on with, while the first goes on too', async () => {
    const hash = await test.history.putBlob('x'.repeat(100_000))
    await test.history.grantBlob('a', hash)
    await test.history.append([note('before')])
    await test.history.archive({ before: Date.now() + 1_000, minBytes: 1_000 })
    const folder = join(test.dataDir, 'backups', 'one')
    const [backup] = await Promise.all([
      test.history.backUp(folder),
      ...Array.from({ length: 30 }, (_, n) => test.history.append([note(`meanwhile ${n}`)])),
    ])
    expect(await verifyDataDir({ dataDir: folder, version: 'test' })).toMatchObject({
      ok: true,
      notes: [],
      head: { seq: backup.seq },
    })
    const copy = await openTestHistory({ dataDir: folder })
    expect(copy.history.problem).toBeNull()
    expect((await texts(copy)).length).toBe(backup.seq - 1)
    expect((await copy.history.getBlob(hash)).length).toBe(100_000)
    await copy.history.append([note('goes on')])
    expect(await copy.history.verify()).toMatchObject({ ok: true })
    await copy.close()
    expect((await texts(test)).length).toBe(31)
    await expect(test.history.backUp(test.dataDir)).rejects.toMatchObject({ code: 'conflict' })
  })

  it('of a history that is open for reading only is what there is', async () => {
    await test.history.append([note('one'), note('two')])
    await test.history.close()
    rmSync(join(test.dataDir, 'head.json'))
    await test.reopen()
    expect(test.history.problem).toMatch(/head\.json is missing/)
    const folder = join(test.dataDir, 'kept')
    await test.history.backUp(folder)
    expect(existsSync(join(folder, 'history.db'))).toBe(true)
  })

  it('that cannot be made leaves nothing', async () => {
    await test.history.append([note('one')])
    writeFileSync(join(test.dataDir, 'a file'), '')
    await expect(test.history.backUp(join(test.dataDir, 'a file', 'x'))).rejects.toMatchObject({ code: 'unavailable' })
    expect(readdirSync(test.dataDir).filter((name) => name.includes('part'))).toEqual([])
  })
})

describe('archived contents', () => {
  it('are read from their file, verify there, and the events stay', async () => {
    const large = await test.history.putBlob('large '.repeat(20_000))
    const small = await test.history.putBlob('small')
    for (const hash of [large, small]) await test.history.grantBlob('a', hash)
    await test.history.append([note('one')])
    const done = await test.history.archive({ before: Date.now() + 1_000, minBytes: 50_000 })
    expect(done).toMatchObject({ blobs: 1, sizeBytes: 120_000 })
    expect(await test.history.archive({ before: Date.now() + 1_000, minBytes: 50_000 })).toBeNull()
    expect(await test.history.latest({ agent: null }, 'blobs.archived')).toMatchObject({ data: { blobs: 1 } })
    await test.reopen()
    expect(String(await test.history.getBlob(large))).toBe('large '.repeat(20_000))
    expect(await test.history.mayRead('a', large)).toBe(true)
    expect(await test.history.verify()).toMatchObject({ ok: true, notes: [] })
    expect(await test.history.putBlob('large '.repeat(20_000))).toBe(large)
  })

  it('whose file is away are told apart from missing ones, and everything else goes on', async () => {
    const hash = await test.history.putBlob('x'.repeat(60_000))
    await test.history.grantBlob('a', hash)
    await test.history.append([note('one')])
    const done = await test.history.archive({ before: Date.now() + 1_000, minBytes: 50_000 })
    const file = done?.file ?? ''
    renameSync(file, `${file}.away`)
    await expect(test.history.getBlob(hash)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/was archived in .*blobs-000001.*put that file back/),
    })
    expect(await test.history.verify()).toMatchObject({ ok: true, notes: [expect.stringMatching(/1 blobs lie in/)] })
    await test.history.append([note('goes on')])
    renameSync(`${file}.away`, file)
    expect((await test.history.getBlob(hash)).length).toBe(60_000)
  })

  it('can neither be emptied without an archive, nor of a young event', async () => {
    const hash = await test.history.putBlob('x'.repeat(60_000))
    await test.history.append([note('one')])
    await test.history.grantBlob('a', hash)
    expect(await test.history.archive({ before: Date.now() - 60_000, minBytes: 1 })).toBeNull()
    const db = openPlain(join(test.dataDir, 'history.db'), 1_000)
    expect(() => db.exec("UPDATE blobs SET bytes = x''")).toThrow(/append-only/)
    db.close()
  })
})

describe('verifying without opening', () => {
  it('[F6] [F26] [H7] writes nothing, and says what is wrong with whatever lies there', async () => {
    await test.history.append([note('one'), note('two')])
    await test.history.close()
    const folder = join(test.dataDir, 'copy')
    mkdirSync(folder)
    for (const name of ['history.db', 'head.json', 'head.key']) cpSync(join(test.dataDir, name), join(folder, name))
    const before = Object.fromEntries(
      ['history.db', 'head.json'].map((name) => [name, readFileSync(join(folder, name))]),
    )
    const verify = () => verifyDataDir({ dataDir: folder, version: 'test' })
    expect(await verify()).toMatchObject({ ok: true, events: 2 })
    for (const [name, bytes] of Object.entries(before))
      expect(readFileSync(join(folder, name)).equals(bytes)).toBe(true)

    rmSync(join(folder, 'head.json'))
    mkdirSync(join(folder, 'head.json'))
    expect(await verify()).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/head cannot be read.*must be a file/),
    })
    rmSync(join(folder, 'head.json'), { recursive: true })
    cpSync(join(test.dataDir, 'head.json'), join(folder, 'head.json'))
    writeFileSync(join(folder, 'history.db'), 'no database at all '.repeat(2_000))
    expect(await verify()).toMatchObject({ ok: false, problem: expect.stringMatching(/cannot be read/) })
    rmSync(join(folder, 'history.db'))
    await expect(verify()).rejects.toMatchObject({ code: 'not-found' })
    await test.reopen()
    expect(statSync(join(test.dataDir, 'history.db')).size).toBeGreaterThan(0)
  })
})

describe('what a full verification has found', () => {
  it('[H7] [F28] keeps history read-only at later starts too, until one holds', async () => {
    await test.history.append(Array.from({ length: 10_300 }, (_, n) => note(`${n}`)))
    await test.history.close()
    const file = join(test.dataDir, 'history.db')
    const change = (sql: string) => {
      const db = openPlain(file, 1_000)
      const trigger = db
        .prepare("SELECT sql FROM sqlite_schema WHERE name = 'events_no_update'")
        .pluck()
        .get() as string
      db.exec('DROP TRIGGER events_no_update')
      db.exec(sql)
      db.exec(trigger)
      db.close()
    }
    change('UPDATE events SET data = replace(data, \'"6"\', \'"9"\') WHERE seq = 7')
    // Beyond what a start looks at.
    await test.reopen()
    expect(test.history.problem).toBeNull()
    expect(await test.history.verify({ full: false })).toMatchObject({ ok: true, events: 10_000 })
    expect(await test.history.verify()).toMatchObject({ ok: false, of: 'log', firstBadSeq: 7 })
    expect(test.history.problem).toMatch(/event 7/)
    await expect(test.history.append([note('more')])).rejects.toMatchObject({ code: 'unavailable' })
    await test.reopen()
    expect(test.history.problem).toMatch(/event 7 \(note\.added\).*found by a full verification/)
    await test.history.close()
    change('UPDATE events SET data = replace(data, \'"9"\', \'"6"\') WHERE seq = 7')
    await test.reopen()
    expect(await test.history.verify()).toMatchObject({ ok: true })
    await test.reopen()
    expect(test.history.problem).toBeNull()
  })

  it('[C2] of what is derived from the log is told, and the log goes on', async () => {
    const data = { value: 3, goal: 9, unit: 'u', source: 'measured' } as const
    await test.history.append([
      { kind: 'task.progressed', data, actor: 'kernel', agent: 'a', task: 'T-1', turn: 1, step: 1 },
    ])
    await test.history.close()
    const db = openPlain(join(test.dataDir, 'history.db'), 1_000)
    db.exec('UPDATE step_rollup SET progress = 8')
    db.close()
    await test.reopen()
    expect(await test.history.verify()).toMatchObject({
      ok: false,
      of: 'derived',
      problem: 'step_rollup (task T-1, turn 1, step 1) is not what the events add up to',
    })
    expect(test.history.problem).toBeNull()
    await test.history.append([note('goes on')])
  })
})
