// Kill -9 of the host in the middle of a task: what was open is closed as interrupted, and the task goes on to its end.
import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
let test: TestKernel
afterEach(() => test.close())

const script = [shell('count add'), shell('count add'), shell('count add'), shell('count add'), complete()]

describe.skipIf(boxMissing)('a host killed', () => {
  it.each([
    ['task:before-started', { turns: 0, calls: 0, summary: /^Recovered \d+ events: T-1 goes on; \d+ box/ }],
    ['model:before-send:2', { turns: 1, calls: 0, summary: /T-1 goes on; 1 turn had been interrupted[.;]/ }],
    ['model:after-answer:2', { turns: 1, calls: 0, summary: /T-1 goes on; 1 turn had been interrupted[.;]/ }],
    [
      'tool:before-exec:2',
      { turns: 1, calls: 1, summary: /1 turn had been interrupted; 1 tool call closed with unknown effect[.;]/ },
    ],
  ])(
    'at %s comes back and completes the task',
    async (failpoint, expected) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'exodesk-killed-'))
      writePack(join(dataDir, 'packs/beans'), { goal: 3, script })
      const victim = spawnSync(
        process.execPath,
        [join(import.meta.dirname, '../testing/kernel-victim.ts'), dataDir, 'beans'],
        { env: { ...process.env, EXODESK_FAILPOINT: failpoint }, encoding: 'utf8', timeout: 100_000 },
      )
      expect([victim.signal, victim.stdout, victim.stderr]).toEqual(['SIGKILL', '', ''])

      test = await openTestKernel(simulator, { dataDir })
      const recovered = await test.events(['kernel.recovered'])
      const { turns, calls, summary } = expected
      // Whether a box outlived its host for so long that it had to be ended is the machine's affair.
      if (turns + calls > 0 || recovered.length > 0) {
        expect(recovered.map(({ data }) => data)).toMatchObject([
          { openCallsClosed: calls, turnsInterrupted: turns, tasks: ['T-1'] },
        ])
        const [data] = recovered.map(({ data }) => data as { summary: string })
        expect(data?.summary).toMatch(summary)
      }
      expect(await test.kernel.tasks.ended('T-1')).toMatchObject({ outcome: 'completed', progress: { goal: 3 } })

      const events = await test.events(undefined, 'T-1')
      const count = (kind: string) => events.filter((event) => event.kind === kind).length
      expect(count('task.started')).toBe(1)
      expect(count('turn.ended')).toBe(count('turn.started'))
      expect(count('tool.finished')).toBe(count('tool.called'))
      expect(count('executor.stopped')).toBe(count('executor.started'))
      const interrupted = events.filter((event) => event.kind === 'turn.ended' && event.data.outcome === 'interrupted')
      expect(interrupted).toHaveLength(turns)
      const unknown = events.filter((event) => event.kind === 'tool.finished' && event.data.outcome === 'interrupted')
      expect(unknown.map(({ step }) => step)).toEqual(calls === 0 ? [] : [2])
      // The numbers of steps and turns go on where they were, and each step is one.
      const steps = await test.kernel.history.steps('T-1')
      expect(steps.map(({ step }) => step)).toEqual(steps.map((_, index) => index + 1))
      expect((await test.events(['task.graded']))[0]?.data).toMatchObject({ error: null })
      expect(await test.kernel.history.verify({ full: true })).toMatchObject({ ok: true })
    },
    180_000,
  )
})
