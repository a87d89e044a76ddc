// Kill -9 at each step of an activation: after a restart exactly one revision is active, and history says which.
import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { agent, openTestGuardian, policy, type TestGuardian } from '../testing/guardian.ts'

let test: TestGuardian
afterEach(() => test.close())

const failpoints = [
  'activation:authorised',
  'activation:started',
  'activation:before-commit',
  'activation:after-commit',
] as const

describe.each(['running', 'at-rest'] as const)('a host killed while an activation %s', (mode) => {
  it.each(failpoints)(
    '[C26] is at %s has one active revision afterwards, and completes what was approved',
    async (at) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'exodesk-killed-'))
      const victim = spawnSync(
        process.execPath,
        [join(import.meta.dirname, '../testing/guardian-victim.ts'), dataDir, mode],
        { env: { ...process.env, EXODESK_FAILPOINT: at }, encoding: 'utf8', timeout: 100_000 },
      )
      expect([victim.signal, victim.stdout, victim.stderr]).toEqual(['SIGKILL', '', ''])

      test = await openTestGuardian({ dataDir, createAgent: false })
      const isCommitted = at === 'activation:after-commit'
      const two = await test.revisions.put(policy('two'))
      const before = await test.guardian.active(agent)
      expect(before).toMatchObject(isCommitted ? { activation: 2, revision: two } : { activation: 1 })
      expect((await test.guardian.get(agent, 'P-1')).state).toBe(isCommitted ? 'probation' : 'approved')

      const recovered = await test.guardian.recover()
      expect(recovered).toEqual({ activationsResolved: isCommitted ? 0 : 1, checksRestarted: 0 })
      await test.guardian.settled(agent)
      expect(await test.guardian.active(agent)).toEqual({ activation: 2, revision: two })
      const kinds = await test.kinds()
      expect(kinds.filter((kind) => kind === 'revision.activated')).toHaveLength(2)
      expect(kinds.filter((kind) => kind === 'revision.authorised')).toHaveLength(2)
      expect(await test.history.verify()).toMatchObject({ ok: true })
    },
    120_000,
  )
})
