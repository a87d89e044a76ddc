import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestHistory } from './fixture.ts'
import { verifyDataDir } from './verify-only.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'exodesk-keeping-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const large = ['one', 'two'].map((word) => word.repeat(20_000))
const folder = () => join(dataDir, 'backups', 'mine')
const archive = { before: 9e15, minBytes: 10_000 }

/** Appends what is acknowledged on stdout, then does what may be killed. */
const script = `
  import { openHistory } from ${JSON.stringify(join(import.meta.dirname, 'open.ts'))}
  const [dataDir, operation, folder] = process.argv.slice(1)
  const history = await openHistory({ dataDir, clock: { now: Date.now, monotonic: () => 0 }, version: 'test' })
  for (const text of ${JSON.stringify(large)}) {
    await history.grantBlob('a', await history.putBlob(text))
    const [event] = await history.append([{ kind: 'note.added', data: { text: text.slice(0, 3) }, actor: 'kernel' }])
    process.stdout.write(JSON.stringify(event) + '\\n')
  }
  if (operation === 'backup') await history.backUp(folder)
  else await history.archive(${JSON.stringify(archive)})
  await history.close()
`

/** @returns the events that were acknowledged, each as its JSON. */
function dieAt(failpoint: string, operation: 'backup' | 'archive'): string[] {
  const { signal, stdout, stderr } = spawnSync(
    process.execPath,
    ['--no-warnings', '--input-type=module', '-e', script, dataDir, operation, folder()],
    { env: { ...process.env, EXODESK_FAILPOINT: failpoint }, encoding: 'utf8' },
  )
  expect([signal, stderr]).toEqual(['SIGKILL', ''])
  return stdout.split('\n').slice(0, -1)
}

async function reopened(acknowledged: readonly string[]) {
  const test = await openTestHistory({ dataDir })
  expect(test.history.problem).toBeNull()
  expect(await test.history.verify()).toMatchObject({ ok: true, notes: [] })
  const { events } = await test.history.read({ agent: null }, { kinds: ['note.added'] })
  expect(acknowledged).toHaveLength(2)
  expect(events.map((event) => JSON.stringify(event))).toEqual(acknowledged)
  return test
}

describe('a history whose host is killed', () => {
  it.each(['backup:copied', 'backup:verified'])(
    '[F2] at %s has no backup under the name it was to have, and the next one takes that name',
    async (failpoint) => {
      const acknowledged = dieAt(failpoint, 'backup')
      expect([existsSync(folder()), existsSync(`${folder()}.part`)]).toEqual([false, true])
      const test = await reopened(acknowledged)
      const { seq } = await test.history.backUp(folder())
      expect(readdirSync(join(dataDir, 'backups'))).toEqual(['mine'])
      expect(await verifyDataDir({ dataDir: folder(), version: 'test' })).toMatchObject({ ok: true, head: { seq } })
      await test.close()
    },
    120_000,
  )

  it.each([
    ['archive:written', 0],
    ['archive:committed', 1],
  ] as const)(
    '[F2] at %s has each content readable, %i archive that counts, and no file left over by the next',
    async (failpoint, counted) => {
      const test = await reopened(dieAt(failpoint, 'archive'))
      const archived = () => test.history.read({ agent: null }, { kinds: ['blobs.archived'] })
      expect((await archived()).events).toHaveLength(counted)
      expect((await test.history.archive(archive))?.blobs ?? 0).toBe(counted === 1 ? 0 : 2)
      expect((await archived()).events).toHaveLength(1)
      expect(readdirSync(join(dataDir, 'archive'))).toEqual(['blobs-000001'])
      for (const text of large) expect(String(await test.history.getBlob(await test.history.putBlob(text)))).toBe(text)
      expect(await test.history.verify()).toMatchObject({ ok: true, notes: [] })
      await test.close()
    },
    120_000,
  )
})
