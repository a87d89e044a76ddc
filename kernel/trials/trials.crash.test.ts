// Kill -9 in the middle of a trial: at the next start it is closed as failed, nothing of it is left running or on disk, what it
// had set aside is charged, and the task that it was forked from is as it was and goes on.
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import {
  boxMissing,
  complete,
  openTestKernel,
  shell,
  startSimulator,
  type TestKernel,
  writePack,
} from '../testing/kernel.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const simulator = startSimulator()
afterAll(() => simulator.stop())
const victim = join(import.meta.dirname, '../testing/trial-victim.ts')
const isFull = process.env.EXODESK_FULL === '1'

const places = [
  ...['trial:planned', 'trial:kept', 'trial:before-forked', 'trial:created', 'trial:laid'],
  ...['trial:created:2', 'trial:before-observed', 'trial:before-closed'],
]
/** In a model call of the first arm. */
const all = [...places, 'model:reserved:4']
const played = isFull ? all : ['trial:laid', 'model:reserved:4']
if (!isFull)
  process.stdout.write(`${all.length - played.length} of ${all.length} kills are left to npm run test:crash\n`)

let test: TestKernel | null = null
afterEach(async () => {
  await test?.close()
  test = null
})

describe.skipIf(boxMissing)('a host killed in a trial', () => {
  it.each(played)(
    '[F2] [F22] at %s closes it as failed, and has the task as it was',
    async (at) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'exodesk-trial-'))
      const script = [...Array.from({ length: 12 }, () => shell('count add')), complete()]
      writePack(join(dataDir, 'packs/beans'), { goal: 12, script })
      const { signal, stdout, stderr } = spawnSync(process.execPath, [victim, dataDir], {
        env: { ...process.env, EXODESK_FAILPOINT: at },
        encoding: 'utf8',
        timeout: 240_000,
        killSignal: 'SIGTERM',
      })
      expect([signal, stdout, stderr.replaceAll(/^\(node:.*\n|^\(Use `node.*\n/gm, '')]).toEqual(['SIGKILL', '', ''])

      test = await openTestKernel(simulator, { dataDir, proceed: false })
      const desk = createRouterClient(test.kernel.operator, { context: { via: 'socket' } })
      const [row] = await desk.trials.list({})
      const isFinished = at === 'trial:before-closed'
      expect(row).toMatchObject({ trial: 'TR-1', state: 'failed', reason: 'the app ended while it ran' })
      if (isFinished) expect(row?.arms.map(({ outcome }) => outcome)).toEqual(['budget', 'budget'])
      const events = await test.events()
      const count = (kind: string) => events.filter((event) => event.kind === kind).length
      expect(count('model.attempted')).toBe(count('model.reserved'))
      expect(count('executor.stopped')).toBe(count('executor.started'))
      expect(count('task.finished')).toBe(count('task.created') - 1)
      expect(globSync('boxes/tasks/*', { cwd: dataDir })).toEqual([join('boxes/tasks/T-1')])
      expect(globSync('boxes/tasks/T-1/snapshots/**/*trial*', { cwd: dataDir })).toEqual([])
      expect(events.filter(({ task, run }) => task === 'T-1' && run === 'trial')).toEqual([])
      expect((await desk.agents.list()).map(({ agent }) => agent)).toEqual(['a'])
      expect(await test.kernel.history.verify({ full: true })).toMatchObject({ ok: true, problem: null })

      await test.kernel.close()
      test = await openTestKernel(simulator, { dataDir })
      const { tasks } = test.kernel
      await expect.poll(async () => (await tasks.get('T-1')).state, { timeout: 60_000 }).toBe('paused')
      await tasks.resume('T-1')
      expect(await test.kernel.tasks.ended('T-1')).toMatchObject({ outcome: 'completed', progress: { value: 12 } })
    },
    400_000,
  )
})
