import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { openForWriting } from '../store/sqlite.ts'
import { openTestHistory } from './fixture.ts'
import { openHistory } from './open.ts'
import { verifyDataDir } from './verify-only.ts'

let base: string
let dataDir: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'exodesk-fault-'))
  dataDir = join(base, 'data')
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const note = (text: string) => ({ kind: 'note.added', data: { text }, actor: 'executor', agent: 'a' }) as const
const open = () => openHistory({ dataDir, clock: systemClock, version: 'test' })

/** The directory, mounted once more so that nothing can be written; or why that cannot be had. */
function mounted(options: string): { folder: string; remove: () => void } | string {
  const folder = join(base, 'mount')
  mkdirSync(folder)
  try {
    execFileSync('mount', ['--bind', dataDir, folder], { stdio: 'pipe' })
    if (options !== '') execFileSync('mount', ['-o', `remount,bind,${options}`, folder], { stdio: 'pipe' })
  } catch (error) {
    return `nothing can be mounted here (${(error as Error).message.split('\n')[0]})`
  }
  return { folder, remove: () => execFileSync('umount', ['-l', folder]) }
}

describe('a history that cannot be written', () => {
  it('[F26] in a read-only directory is refused with what to look at, is verified all the same, and stays as it is', async (context) => {
    const test = await openTestHistory({ dataDir })
    await test.history.append([note('one')])
    await test.history.close()
    const mount = mounted('ro')
    if (typeof mount === 'string') return context.skip(mount)
    try {
      await expect(openHistory({ dataDir: mount.folder, clock: systemClock, version: 'test' })).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/cannot be opened for writing; check the permissions/),
      })
      expect(await verifyDataDir({ dataDir: mount.folder, version: 'test' })).toMatchObject({ ok: true, events: 1 })
    } finally {
      mount.remove()
    }
    const again = await open()
    expect(again.problem).toBeNull()
    await again.close()
  })

  it('[F26] for want of files says so, and what was acknowledged is there afterwards', async () => {
    const script = `
      import { openSync } from 'node:fs'
      import { openHistory } from ${JSON.stringify(join(import.meta.dirname, 'open.ts'))}
      const clock = { now: Date.now, monotonic: () => 0 }
      const history = await openHistory({ dataDir: process.argv[1], clock, version: 'test' })
      process.on('warning', () => {})
      const note = (text) => ({ kind: 'note.added', data: { text }, actor: 'executor', agent: 'a' })
      await history.append([note('before')])
      try { for (;;) openSync('/dev/null', 'r') } catch (error) { process.stdout.write(error.code + '\\n') }
      // What the writer has open, it has: only what opens files anew is refused.
      for (let n = 0; n < 3; n += 1) {
        await history.append([note('n' + n)]).then(() => process.stdout.write('n' + n + '\\n'), (error) => process.stdout.write(error.code + '\\n'))
      }
      process.kill(process.pid, 'SIGKILL')`
    const child = spawn(
      'sh',
      ['-c', 'ulimit -n 200; exec "$0" --input-type=module -e "$1" "$2"', process.execPath, script, dataDir],
      {
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    )
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString()
    })
    await once(child, 'close')
    const [code, ...outcomes] = said.trim().split('\n')
    expect(code).toBe('EMFILE')
    expect(outcomes).toHaveLength(3)
    expect(outcomes.every((outcome) => /^n\d$|^unavailable$/.test(outcome))).toBe(true)
    const history = await open()
    expect(history.problem).toBeNull()
    const texts = (await history.read({ agent: 'a' })).events.map(({ data }) => (data as { text: string }).text)
    expect(texts).toEqual(expect.arrayContaining(['before', ...outcomes.filter((outcome) => outcome.startsWith('n'))]))
    expect(await history.verify()).toMatchObject({ ok: true })
    await history.close()
  })

  it('[F26] where head.json cannot be replaced goes on, and its end is signed once it can be', async () => {
    const test = await openTestHistory({ dataDir })
    // A folder in the way of the file that is put in its place.
    mkdirSync(join(dataDir, 'head.json.next'))
    await test.history.append([note('one')])
    await test.history.close()
    rmSync(join(dataDir, 'head.json.next'), { recursive: true })
    await test.reopen()
    expect(test.history.problem).toBeNull()
    await test.history.close()
    expect(await verifyDataDir({ dataDir, version: 'test' })).toMatchObject({ ok: true, events: 1 })
  })
})

describe('a data directory by another path', () => {
  it('[F11] [C4] as a bind mount is refused to a second host, by the same lock', async (context) => {
    const script = `import { holdLock } from ${JSON.stringify(join(import.meta.dirname, '../store/lock.ts'))}
      try { holdLock(process.argv[1]); process.stdout.write('held') } catch (error) { process.stdout.write(error.code) }`
    const { holdLock } = await import('../store/lock.ts')
    const lock = holdLock(dataDir)
    const mount = mounted('')
    if (typeof mount === 'string') return context.skip(mount)
    const other = () =>
      execFileSync(process.execPath, ['--input-type=module', '-e', script, mount.folder], { encoding: 'utf8' })
    try {
      expect(other()).toBe('conflict')
      lock.release()
      // Positive control: by that path it can be had.
      expect(other()).toBe('held')
    } finally {
      mount.remove()
    }
  })
})

describe('what another program does to the database', () => {
  it('[F7] holding it locked for seconds delays writes and drops none', async () => {
    const history = await open()
    const other = openForWriting(join(dataDir, 'history.db'))
    other.exec('BEGIN IMMEDIATE')
    const waiting = Promise.all(Array.from({ length: 50 }, (_, n) => history.append([note(`${n}`)])))
    // Held for as long as reads show that time passes, not by a clock.
    for (let n = 0; n < 200; n += 1) await history.read({ agent: 'a' })
    other.exec('ROLLBACK')
    other.close()
    expect((await waiting).flat()).toHaveLength(50)
    expect(await history.verify()).toMatchObject({ ok: true, events: 50 })
    await history.close()
  })

  it('[F8] damage that a write meets ends all writing, and is said', async () => {
    const test = await openTestHistory({ dataDir })
    await test.history.append(Array.from({ length: 600 }, (_, n) => note(`${n} ${'x'.repeat(500)}`)))
    await test.history.close()
    const db = openForWriting(join(dataDir, 'history.db'))
    const page = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'events_kind'").pluck().get() as number
    db.close()
    const file = join(dataDir, 'history.db')
    const { readFileSync } = await import('node:fs')
    const bytes = readFileSync(file)
    bytes.fill(0, (page - 1) * 8192, page * 8192)
    writeFileSync(file, bytes)
    await test.reopen()
    const faults: string[] = []
    test.history.onFault(({ fault }) => faults.push(fault))
    await expect(test.history.append([note('more')])).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/damaged/),
    })
    expect(faults).toEqual(['damaged'])
    expect(test.history.problem).toMatch(/damaged/)
    await expect(test.history.append([note('more')])).rejects.toMatchObject({
      message: expect.stringMatching(/reading only/),
    })
    await test.history.close()
  })
})
