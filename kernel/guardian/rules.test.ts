import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '../clock.ts'
import { agent, openTestGuardian, policy, StandInTask, type TestGuardian } from '../testing/guardian.ts'
import type { RuleDraft } from '../wire/operator-review.ts'

let test: TestGuardian
let now = 0
let files: { path: string; text: string }[] = []
const clock: Clock = { now: () => 1_700_000_000_000 + now, monotonic: () => now }
const day = 24 * 60 * 60_000
const texts: RuleDraft = { agent: null, tags: [], except: [], maxChangedLines: 20 }

beforeEach(async () => {
  now = 0
  test = await openTestGuardian({
    clock,
    probationSteps: 1,
    intake: { intakePolicy: async () => ({ ok: true, files }), layPolicy: async () => {} },
  })
})
afterEach(() => test.close())

const box = { label: 'T-1', mounts: { policy: '/policy' }, workdir: '/task' }
let detach = (): void => {}
/** A task of the agent runs, and treats proposals so. */
function run(approve: 'none' | 'rules' | 'all'): void {
  detach()
  detach = test.guardian.attach(agent, new StandInTask({ box, approve }))
}
afterEach(() => {
  detach = () => {}
})

/** By the agent: its policy with these files. Gives the state that it comes to. */
async function propose(more: Record<string, string>, main = 'one'): Promise<string> {
  files = policy(main, more)
  const { revision = '' } = (await test.guardian.active(agent)) ?? {}
  const where = { agent, task: 'T-1', generation: 1, turn: 1, step: 1, revision, box }
  await test.guardian.layPolicy(agent, box, 'T-1')
  await test.guardian.reset(where, 'active')
  const { proposal } = await test.guardian.propose(where, { claim: 'clearer', why: 'it was not' })
  await test.guardian.settled(agent)
  return (await test.guardian.get(agent, proposal)).state
}

describe('a rule', () => {
  it('lets LOW changes take effect in a run that asks for rules, says that it did, and counts it', async () => {
    await test.guardian.rules.add(texts)
    run('rules')
    expect(await propose({ 'a.md': 'a\n' })).toBe('probation')
    const [verdict] = await test.events(['proposal.reviewed'])
    expect(verdict).toMatchObject({ actor: 'kernel', data: { by: 'rule', rule: 'R-1', verdict: 'approved' } })
    expect((await test.events(['revision.authorised'])).at(-1)?.data).toMatchObject({ by: 'rule' })
    const shown = test.guardian.rules.list()
    expect(shown).toMatchObject([{ rule: 'R-1', hits: 1, lastHitAt: verdict?.at, state: 'active', regressions: 0 }])
    await test.restart()
    expect(test.guardian.rules.list()).toEqual(shown)
  })

  it('decides nothing in a run that asks for none', async () => {
    await test.guardian.rules.add(texts)
    run('none')
    expect(await propose({ 'a.md': 'a\n' })).toBe('ready')
  })

  it.each([
    ['code changes', {}, { main: 'two' }],
    ['too many lines change', { maxChangedLines: 1 }, { more: { 'a.md': 'a\nb\n' } }],
    ['the file is excepted', { except: ['A.md'] }, {}],
    ['the folder is excepted', { except: ['docs/'] }, { more: { 'docs/b.md': 'b\n' } }],
    ['the folder is excepted by its name alone', { except: ['Docs'] }, { more: { 'docs/b.md': 'b\n' } }],
    ['another agent is named', { agent: 'other' }, {}],
    ['what the file is to the policy is not known', { tags: ['doc'] }, {}],
    ['a check could not be decided', {}, { main: 'one', more: { 'a.md': 'no-box\n' }, undecided: true }],
  ])('leaves it to a person where %s', async (_why, bounds, change) => {
    const { main = 'one', more = { 'a.md': 'a\n' } } = change as { main?: string; more?: Record<string, string> }
    if ('undecided' in change) {
      await test.close()
      test = await openTestGuardian({
        intake: { intakePolicy: async () => ({ ok: true, files }), layPolicy: async () => {} },
        checks: [
          {
            ...{ name: 'weather', description: 'Never decided.', gates: true, thresholds: {}, rules: 1 },
            run: async () => ({ verdict: 'unresolved', summary: 'who knows', details: {} }),
          },
        ],
      })
    }
    if ('agent' in bounds) await test.guardian.createAgent('other', policy('one'))
    await test.guardian.rules.add({ ...texts, ...bounds })
    run('rules')
    expect(await propose(more, main)).toBe('ready')
    expect(test.guardian.rules.list()).toMatchObject([{ hits: 0 }])
  })

  it('never covers an idea that was rejected, nor what a person made', async () => {
    run('none')
    expect(await propose({ 'a.md': 'a\n' })).toBe('ready')
    await test.reject('P-1', 'no notes')
    await test.guardian.rules.add(texts)
    run('rules')
    expect(await propose({ 'a.md': 'a\n' })).toBe('ready')
    expect(await propose({ 'a.md': ' a\n\n' })).toBe('ready')
    await test.propose('one', { 'b.md': 'b\n' })
    expect((await test.guardian.get(agent, 'P-4')).state).toBe('ready')
    expect(await test.events(['revision.activated'])).toHaveLength(1)
  })

  it('expires, and can be revoked once', async () => {
    const { rule } = await test.guardian.rules.add({ ...texts, days: 2 })
    await test.guardian.rules.add(texts)
    expect(test.guardian.rules.list().map(({ expiresAt }) => expiresAt - clock.now())).toEqual([14 * day, 2 * day])
    now = 2 * day
    await test.guardian.rules.revoke('R-2', 'not any more')
    await expect(test.guardian.rules.revoke('R-2', 'again')).rejects.toMatchObject({ code: 'conflict' })
    await expect(test.guardian.rules.revoke('R-9', 'x')).rejects.toMatchObject({ code: 'not-found' })
    expect(test.guardian.rules.list().map(({ state }) => state)).toEqual(['revoked', 'expired'])
    expect(rule).toBe('R-1')
    run('rules')
    expect(await propose({ 'a.md': 'a\n' })).toBe('ready')
  })

  it('stops after two that it let through were gone back from', async () => {
    await test.guardian.rules.add(texts)
    run('rules')
    for (const text of ['a', 'b']) {
      expect(await propose({ 'a.md': `${text}\n` })).toBe('probation')
      const { activation, revision } = (await test.guardian.active(agent)) ?? { activation: 0, revision: '' }
      const failure = { task: 'T-1', activation, revision, kind: 'crash' as const, detail: 'exit code 1' }
      expect(await test.guardian.generationFailed(agent, failure)).toMatchObject({ action: 'replaced' })
    }
    expect(test.guardian.rules.list()).toMatchObject([{ state: 'stopped', regressions: 2, hits: 2 }])
    expect(await propose({ 'a.md': 'c\n' })).toBe('ready')
  })

  it('shows beforehand what it would have let through, and which of that a person turned down', async () => {
    run('none')
    await propose({ 'a.md': 'a\n' })
    await test.reject('P-1')
    await propose({}, 'two')
    await test.reject('P-2')
    await propose({ 'b.md': 'b\n' })
    expect(test.guardian.rules.preview(texts)).toEqual({
      of: 2,
      would: [{ agent, proposal: 'P-1', state: 'rejected', claim: 'clearer' }],
    })
    expect(test.guardian.rules.preview({ ...texts, except: ['a.md'] })).toEqual({ of: 2, would: [] })
    for (const odd of ['*.md', './docs/', '../a.md', ' docs/', 'docs//a.md', '/a.md', ''])
      expect(() => test.guardian.rules.preview({ ...texts, except: [odd] })).toThrow(/no path of a policy/)
  })
})
