import { existsSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { passphraseSealer } from '../kernel.ts'
import { startCaptureServer } from '../testing/capture-server.ts'
import { boxMissing, complete, openTestKernel, shell, startSimulator, type TestKernel } from '../testing/kernel.ts'
import type { Event } from '../wire/events.ts'
import { measureSizes } from './sizes.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const simulator = startSimulator()
afterAll(() => simulator.stop())
const key = 'sk-canary-55aa7f3e9a1b5c8d'
const deskOf = ({ kernel }: TestKernel) => createRouterClient(kernel.operator, { context: { via: 'socket' } })

let test: TestKernel
let desk: ReturnType<typeof deskOf>
beforeEach(async () => {
  test = await openTestKernel(simulator, {
    env: { LAB_KEY: key },
    get sealers() {
      return [passphraseSealer({ N: 1024, r: 8, p: 1 })]
    },
  })
  desk = deskOf(test)
})
afterEach(() => test.close())

const dayTokens = async () => (await desk.budgets.get()).find(({ scope }) => scope === 'day')?.spentTokens

describe('preferences of the desk', () => {
  it('are the usual ones at first, change one by one, and are there after a restart', async () => {
    expect((await desk.settings.preferences()).preferences).toMatchObject({ theme: 'system', keys: {}, bareKeys: true })
    await desk.settings.setPreferences({ theme: 'dark' })
    await desk.settings.setPreferences({
      keys: { 'review.approve': 'Mod+Shift+y' },
      quiet: { from: '22:00', to: '07:30' },
    })
    await test.restart()
    const kept = { theme: 'dark', keys: { 'review.approve': 'Mod+Shift+y' }, quiet: { from: '22:00', to: '07:30' } }
    expect(await deskOf(test).settings.preferences()).toMatchObject({ preferences: kept, problem: null })
  })

  it('that cannot be understood are kept beside, and it is said', async () => {
    writeFileSync(join(test.dataDir, 'desk.json'), '{"theme":"plaid"}')
    await test.restart()
    const { preferences, problem } = await deskOf(test).settings.preferences()
    expect(preferences.theme).toBe('system')
    expect(problem).toContain('desk.json.unreadable')
    expect(readFileSync(join(test.dataDir, 'desk.json.unreadable'), 'utf8')).toBe('{"theme":"plaid"}')
  })

  it('take no value that there is not, and stay as they were', async () => {
    await expect(desk.settings.setPreferences({ theme: 'plaid' } as never)).rejects.toThrow()
    await expect(desk.settings.setPreferences({ keys: { a: 'two words' } })).rejects.toThrow()
    await expect(desk.settings.setPreferences({ quiet: { from: '25:00', to: '07:00' } })).rejects.toThrow()
    expect(existsSync(join(test.dataDir, 'desk.json'))).toBe(false)
  })
})

describe('the test of a model', () => {
  it('is one metered call of no agent: it counts in the day, and history has it whole', async () => {
    const answer = await desk.settings.testModel({ model: 'sim-reviewer' })
    expect(answer).toMatchObject({ ok: true, simulated: true, error: null, attempts: 1 })
    const { uncached = 0, cacheRead = 0, cacheWrite = 0, output = 0 } = answer.usage ?? {}
    const used = uncached + cacheRead + cacheWrite + output
    expect(used).toBeGreaterThan(10)
    expect(answer.costNanoUsd).toBeGreaterThan(0)
    expect(await dayTokens()).toBe(used)
    const events = (await test.events(['model.reserved', 'model.attempted', 'model.called'])) as Event[]
    expect(events.map(({ kind, agent, task, actor }) => [kind, agent, task, actor])).toEqual([
      ['model.reserved', null, null, 'kernel'],
      ['model.attempted', null, null, 'kernel'],
      ['model.called', null, null, 'kernel'],
    ])
    await test.restart()
    desk = deskOf(test)
    expect(await dayTokens()).toBe(used)
    expect(await test.kernel.history.verify({ full: true })).toMatchObject({ ok: true, problem: null })
  })

  it('[S2] takes the sealed key to its own endpoint alone, and neither answer nor history has it', async () => {
    const capture = await startCaptureServer((await simulator.start()).origin)
    try {
      await desk.credentials.unlock({ passphrase: 'open sesame' })
      await desk.credentials.put({ name: 'lab', key, baseUrl: capture.baseUrl })
      const asked = { model: 'sim-reviewer', credential: 'lab', baseUrl: capture.baseUrl }
      const answer = await desk.settings.testModel(asked)
      expect(answer).toMatchObject({ ok: true, simulated: false, costNanoUsd: null })
      expect(answer.costReason).toMatch(/lists no provider/)
      expect(JSON.stringify(capture.requests)).toContain(key)
      const { text } = await desk.settings.diagnostics()
      expect(JSON.stringify([answer, text, await test.events()])).not.toContain('canary')
      await expect(desk.settings.testModel({ ...asked, baseUrl: 'http://127.0.0.1:9/v1' })).rejects.toMatchObject({
        code: 'forbidden',
      })
    } finally {
      await capture.close()
    }
  })

  it('says what is wrong: an endpoint that is not there, a key that is not, a full day', async () => {
    const gone = await desk.settings.testModel({ model: 'm', keyEnv: 'LAB_KEY', baseUrl: 'http://127.0.0.1:9/v1' })
    expect(gone).toMatchObject({ ok: false, text: null, costNanoUsd: 0 })
    expect(gone.error).not.toBe(null)
    await expect(
      desk.settings.testModel({ model: 'm', keyEnv: 'NO_KEY', baseUrl: 'http://127.0.0.1:9/v1' }),
    ).rejects.toThrow(/NO_KEY holds no key/)
    await desk.budgets.set({ agent: null, tokens: 1 })
    await expect(desk.settings.testModel({ model: 'sim-reviewer' })).rejects.toMatchObject({ code: 'over-budget' })
  })
})

describe.skipIf(boxMissing)('pausing all', () => {
  it('resumes those that it had paused, and no task that a person had paused by itself', async () => {
    const script = [shell('sleep 600'), complete()]
    const pack = test.pack('slow', { script })
    const [one, other] = [
      await desk.tasks.run({ pack, model: 'sim-script', agent: 'a' }),
      await desk.tasks.run({ pack, model: 'sim-script', agent: 'b' }),
    ]
    for (const { task } of [one, other])
      await test.until((event) => event.kind === 'tool.called' && event.task === task)
    await desk.tasks.pause({ task: other.task })
    expect(await desk.host.pauseAll()).toEqual({ paused: [one.task] })
    for (const { task } of [one, other]) {
      await desk.tasks.pause({ task }).catch(() => {})
      await expect.poll(async () => (await desk.tasks.get({ task })).state, { timeout: 60_000 }).toBe('paused')
    }
    expect(await desk.host.resumeAll()).toEqual({ resumed: [one.task], left: [] })
    expect((await desk.tasks.get({ task: other.task })).state).toBe('paused')
    expect(await desk.host.resumeAll()).toEqual({ resumed: [], left: [] })
    await test.restart()
  }, 180_000)
})

describe('sizes', () => {
  it('are by kind, count a file with two names once, and leave nothing out', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'exodesk-sizes-'))
    try {
      for (const folder of ['archive', 'boxes/revisions/abc', 'boxes/tasks/T-1/root'])
        mkdirSync(join(dir, folder), { recursive: true })
      writeFileSync(join(dir, 'history.db'), 'x'.repeat(100))
      writeFileSync(join(dir, 'history.db-wal'), 'x'.repeat(10))
      writeFileSync(join(dir, 'history-search.db'), 'x'.repeat(7))
      writeFileSync(join(dir, 'archive/1.db'), 'x'.repeat(5))
      writeFileSync(join(dir, 'boxes/revisions/abc/main.ts'), 'x'.repeat(3))
      linkSync(join(dir, 'boxes/revisions/abc/main.ts'), join(dir, 'boxes/tasks/T-1/root/main.ts'))
      writeFileSync(join(dir, 'desk.json'), '{}')
      const { rows, totalBytes, freeBytes, unread } = await measureSizes(dir)
      expect(Object.fromEntries(rows.map(({ what, sizeBytes }) => [what, sizeBytes]))).toEqual({
        ...{ log: 110, search: 7, archive: 5, revisions: 3, tasks: 0, snapshots: 0, other: 2 },
      })
      expect([totalBytes, unread]).toEqual([127, []])
      expect(freeBytes).toBeGreaterThan(0)
    } finally {
      rmSync(dir, { recursive: true })
    }
  })
})

describe('diagnostics', () => {
  it('name versions and states, and no home folder', async () => {
    const { text } = await desk.settings.diagnostics()
    expect(text).toMatch(/^Exodesk +test, test host, contract from source$/m)
    expect(text).toMatch(/^history +\d+ events, verified at /m)
    expect(text).not.toContain(homedir() === '/' ? '\0' : homedir())
  })
})
