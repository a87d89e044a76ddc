// Kill -9 in each step of the verdicts that change nothing that runs, and of a rule's: afterwards all of it has happened or
// nothing, one revision is active, and the same can be decided again.
import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { agent, openTestGuardian, StandInTask, type TestGuardian } from '../testing/guardian.ts'
import type { VerdictInput } from './guardian.ts'

let test: TestGuardian
afterEach(() => test.close())

async function view(proposal: string): Promise<VerdictInput> {
  return { agent, proposal, reason: 'so', ...(await test.guardian.view(agent, proposal)) }
}

/** Where it is killed, what the proposals are then, and after the same again. */
const cases = [
  ['derive:stored', 'derive', ['ready'], ['superseded', 'ready']],
  ['derive:before-made', 'derive', ['ready'], ['superseded', 'ready']],
  ['derive:after-made', 'derive', ['superseded', 'checking'], ['superseded', 'ready']],
  ['review:before-returned', 'return', ['ready'], ['returned']],
  ['review:before-deferred', 'defer', ['ready'], ['ready']],
  ['profile:before-changed:2', 'profile', ['ready'], ['expired']],
  ['expiry:before-expired', 'expire', ['ready'], ['ready']],
  ['expiry:before-recalled', 'recall', ['ready'], ['ready']],
  ['rule:before-changed', 'rule', [], []],
  ['rule:before-revoked', 'revoke', [], []],
  ['rule:before-hit', 'rule', ['ready'], ['probation']],
] as const

const again: Record<string, () => Promise<unknown>> = {
  derive: async () => {
    if ((await test.guardian.get(agent, 'P-1')).state !== 'ready') return
    await test.guardian.derive({ ...(await view('P-1')), edits: [{ path: 'b.md', text: 'b\n' }] })
  },
  return: async () => test.guardian.sendBack({ ...(await view('P-1')), comments: [] }),
  defer: async () => test.guardian.defer({ ...(await view('P-1')), until: null }),
  profile: async () => {
    const { version } = test.guardian.profile()
    await test.guardian.setProfile({ version, checks: [{ check: 'boot', gates: false }], reason: 'to see' })
  },
  // The clock of this process has not gone on: what was due there is not due here.
  expire: async () => {},
  recall: async () => {
    expect((await test.guardian.get(agent, 'P-1')).deferredUntil).toEqual(expect.any(Number))
  },
  rule: async () => {
    const box = { label: 'T-1', mounts: { policy: '/policy' }, workdir: '/task' }
    test.guardian.attach(agent, new StandInTask({ box, approve: 'rules' }))
  },
  revoke: async () => test.guardian.rules.revoke('R-1', 'again'),
}

describe('a guardian killed [crash]', () => {
  it.each(cases)(
    '[F2] [C26] at %s (%s) has decided whole or not at all, and decides again',
    async (at, mode, before, after) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'exodesk-verdicts-'))
      const main = join(import.meta.dirname, '../testing/guardian-victim.ts')
      const victim = spawnSync(process.execPath, [main, dataDir, mode], {
        env: { ...process.env, EXODESK_FAILPOINT: at },
        encoding: 'utf8',
        timeout: 100_000,
      })
      expect([victim.signal, victim.stderr]).toEqual(['SIGKILL', ''])

      test = await openTestGuardian({ dataDir, createAgent: false })
      const states = async () => (await test.guardian.list({ agent })).map(({ state }) => state).reverse()
      expect(await states()).toEqual(before)
      expect(await test.guardian.active(agent)).toMatchObject({ activation: 1 })
      await test.guardian.recover()
      await again[mode]?.()
      await test.guardian.settled(agent)
      expect(await states()).toEqual(after)
      const activated = (await test.events(['revision.activated'])).length
      expect(await test.guardian.active(agent)).toMatchObject({ activation: activated })
      expect(activated).toBe(at === 'rule:before-hit' ? 2 : 1)
      const rules = test.guardian.rules.list()
      if (mode === 'rule') expect(rules.map(({ hits }) => hits)).toEqual(at === 'rule:before-hit' ? [1] : [])
      if (mode === 'revoke') expect(rules.map(({ state }) => state)).toEqual(['revoked'])
      expect(await test.history.verify()).toMatchObject({ ok: true, problem: null })
    },
    120_000,
  )
})
