// Kill -9 of the host while a model is asked: what was set aside is charged when it comes back, once, in every sum.
import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
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
import type { Event } from '../wire/events.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const simulator = startSimulator()
afterAll(() => simulator.stop())
let test: TestKernel
afterEach(() => test.close())

const script = [shell('count add'), shell('count add'), complete()]

describe.skipIf(boxMissing)('[C8] a host killed while a model is asked', () => {
  it.each([
    { at: 'model:reserved:2', charged: 1 },
    { at: 'model:before-attempted:2', charged: 1 },
    { at: 'model:attempted:2', charged: 0 },
    { at: 'model:after-answer:2', charged: 0 },
  ])(
    'at $at has each reservation charged once, and the task goes on to its end',
    async ({ at, charged }) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'exodesk-killed-'))
      writePack(join(dataDir, 'packs/beans'), { goal: 2, script })
      const main = join(import.meta.dirname, '../testing/kernel-victim.ts')
      const victim = spawnSync(process.execPath, [main, dataDir, 'beans'], {
        env: { ...process.env, EXODESK_FAILPOINT: at },
        encoding: 'utf8',
        timeout: 100_000,
      })
      expect([victim.signal, victim.stdout, victim.stderr]).toEqual(['SIGKILL', '', ''])

      test = await openTestKernel(simulator, { dataDir })
      const [recovered] = (await test.events(['kernel.recovered'])) as Event<'kernel.recovered'>[]
      expect(recovered?.data.reservationsCharged).toBe(charged)
      expect(recovered?.data.summary.includes('1 model call charged as reserved')).toBe(charged === 1)
      expect(await test.kernel.tasks.ended('T-1')).toMatchObject({ outcome: 'completed' })

      const kinds = ['model.reserved', 'model.attempted', 'model.called'] as const
      const events = await test.events([...kinds], 'T-1')
      const reserved = events.filter((event) => event.kind === 'model.reserved')
      const attempted = events.filter((event) => event.kind === 'model.attempted')
      const called = events.filter((event) => event.kind === 'model.called')
      expect(attempted.map(({ data }) => data.reservation)).toEqual(reserved.map(({ seq }) => seq))
      expect(called.map(({ data }) => data.request)).toEqual([...new Set(reserved.map(({ data }) => data.request))])
      const whole = attempted.filter(({ data }) => data.status === 'aborted')
      expect(whole).toHaveLength(charged)
      for (const { data } of whole) {
        const of = reserved.find(({ seq }) => seq === data.reservation)
        expect(data.costNanoUsd).toBe(of?.data.nanoUsd)
        expect(data.costNanoUsd).toBeGreaterThan(0)
      }
      const cost = attempted.reduce((sum, { data }) => sum + (data.costNanoUsd ?? Number.NaN), 0)
      expect(await test.kernel.history.totals({ task: 'T-1' })).toMatchObject({ costNanoUsd: cost })
      const desk = createRouterClient(test.kernel.operator, { context: { via: 'socket' as const } })
      const [day] = await desk.budgets.get()
      expect(day).toMatchObject({ scope: 'day', spentNanoUsd: cost })
      expect(await test.kernel.history.verify({ full: true })).toMatchObject({ ok: true })
    },
    180_000,
  )
})
