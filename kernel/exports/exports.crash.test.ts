import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestHistory } from '../history/fixture.ts'
import { verifyDataDir } from '../history/verify-only.ts'

let dataDir: string
let out: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'exodesk-exports-'))
  out = mkdtempSync(join(tmpdir(), 'exodesk-exported-'))
})
afterEach(() => {
  for (const folder of [dataDir, out]) rmSync(folder, { recursive: true, force: true })
})

const here = (name: string) => JSON.stringify(join(import.meta.dirname, name))
const script = `
  import { openHistory } from ${here('../history/open.ts')}
  import { createExports } from ${here('desk.ts')}
  import { recordRun } from ${here('fixture.ts')}
  const [dataDir, operation, out] = process.argv.slice(1)
  const clock = { now: Date.now, monotonic: () => 0 }
  const history = await openHistory({ dataDir, clock, version: 'test' })
  if (history.head() === null) await recordRun(history)
  const same = (text) => text
  const exports = createExports({ history, dataDir, clock, version: 'test', keys: same, lookalikes: same })
  const file = out + '/all.exodesk'
  if (operation !== 'import') await exports.write({ format: operation, file })
  else await exports.import(file, out + '/there')
  await history.close()
`

function run(operation: 'bundle' | 'html' | 'import', failpoint = ''): { signal: string | null; stderr: string } {
  const { signal, stderr } = spawnSync(
    process.execPath,
    ['--no-warnings', '--input-type=module', '-e', script, dataDir, operation, out],
    { env: { ...process.env, EXODESK_FAILPOINT: failpoint }, encoding: 'utf8' },
  )
  return { signal, stderr }
}

describe('an export whose host is killed', () => {
  it.each([
    ['bundle', 'export:written', false],
    ['html', 'export:written', false],
    ['html', 'export:named', true],
  ] as const)(
    '[F1] of %s at %s has its name only when it is whole, and history is as it was',
    async (format, failpoint, isThere) => {
      expect(run(format, failpoint)).toEqual({ signal: 'SIGKILL', stderr: '' })
      expect(existsSync(join(out, 'all.exodesk'))).toBe(isThere)
      if (isThere) expect(readFileSync(join(out, 'all.exodesk'), 'utf8')).toMatch(/<\/html>\n$/)
      rmSync(join(out, 'all.exodesk'), { force: true })
      // What was left does not stand in the way.
      expect(run(format)).toEqual({ signal: null, stderr: '' })
      expect(readdirSync(out)).toEqual(['all.exodesk'])
      const test = await openTestHistory({ dataDir })
      expect(await test.history.verify()).toMatchObject({ ok: true })
      expect((await test.history.read({ agent: null }, { kinds: ['export.written'] })).events).toHaveLength(1)
      await test.history.close()
    },
    120_000,
  )

  it('[F1] while it imports has no folder of that name, and the next import takes it', async () => {
    expect(run('bundle')).toEqual({ signal: null, stderr: '' })
    expect(run('import', 'import:verified')).toEqual({ signal: 'SIGKILL', stderr: '' })
    expect(readdirSync(out).toSorted()).toEqual(['all.exodesk', 'there.part'])
    expect(run('import')).toEqual({ signal: null, stderr: '' })
    expect(readdirSync(out).toSorted()).toEqual(['all.exodesk', 'there'])
    expect(await verifyDataDir({ dataDir: join(out, 'there'), version: 'test' })).toMatchObject({ ok: true })
  }, 120_000)
})
