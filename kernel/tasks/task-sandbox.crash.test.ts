// Kill -9 in the middle of a job, a snapshot or a restore: afterwards each is whole or not there, and the next goes on from that.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openTestHistory } from '../history/fixture.ts'
import { boxMissing } from '../testing/kernel.ts'
import { closeOpenWork } from './recovery.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const victim = join(import.meta.dirname, '../testing/task-sandbox-victim.ts')
const run = (dataDir: string, failpoint = '') =>
  spawnSync(process.execPath, ['--no-warnings', victim, dataDir], {
    env: { ...process.env, EXODESK_FAILPOINT: failpoint },
    encoding: 'utf8',
  })
const task = { agent: 'a', task: 'T-1', model: { api: 'responses', simulated: true } } as const
const once = ['job.started', 'job.ended'] as const

describe.skipIf(boxMissing)('a host killed at', () => {
  it.each([
    ['job:before-started', [], 0, null],
    ['job:before-ended', ['job.started', 'job.ended'], 0, null],
    ['snapshot:before-event', [...once], 0, 'one'],
    ['snapshot:before-event:2', [...once], 1, 'two'],
    ['snapshot:before-forget:2', [...once], 2, 'two'],
    ['restore:before-sandbox', [...once], 2, 'three'],
    ['restore:before-event', [...once], 2, 'two'],
  ])(
    '[F3] %s has whole jobs, snapshots and files, and the next host goes on',
    async (at, jobs, taken, file) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'exodesk-task-sandbox-'))
      expect(run(dataDir, at)).toMatchObject({ signal: 'SIGKILL', stderr: '' })
      const open = await openTestHistory({ dataDir })
      const of = async (...kinds: ('job.started' | 'job.ended' | 'sandbox.snapshotted' | 'sandbox.restored')[]) =>
        (await open.history.read({ agent: 'a' }, { task: 'T-1', kinds })).events.map(({ kind }) => kind)
      await closeOpenWork(open.history, task)
      expect(await of(...once)).toEqual(jobs)
      expect([await of('sandbox.snapshotted'), await of('sandbox.restored')].map(({ length }) => length)).toEqual([
        taken,
        0,
      ])
      if (file !== null) expect(readFileSync(join(dataDir, 'boxes/tasks/T-1/root/task/file'), 'utf8')).toBe(`${file}\n`)
      await open.history.close()

      // The next one does all of it, beside what is there.
      expect(run(dataDir)).toMatchObject({ status: 0, stderr: '' })
      expect(readFileSync(join(dataDir, 'boxes/tasks/T-1/root/task/file'), 'utf8')).toBe('two\n')
      await open.reopen()
      expect((await of('job.started')).length).toBe((await of('job.ended')).length)
      await open.close()
    },
    120_000,
  )
})
