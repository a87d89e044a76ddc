import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { agent, openTestGuardian, type TestGuardian } from '../testing/guardian.ts'
import { requestSchemas } from '../wire/executor-schema.ts'
import { type ProfileChange, profileContract } from '../wire/operator-review.ts'
import type { Check } from './checks/check.ts'

let test: TestGuardian
let seen: number[] = []
const weather: Check = {
  ...{ name: 'weather', description: 'Whether it rains.', gates: true, thresholds: { drops: 3 }, rules: 1 },
  async run({ thresholds }) {
    seen.push(thresholds.drops ?? Number.NaN)
    return { verdict: 'unresolved', summary: 'it may rain', details: {} }
  },
}
beforeEach(async () => {
  seen = []
  test = await openTestGuardian({ checks: [weather] })
})
afterEach(() => test.close())

const set = (change: Omit<ProfileChange, 'version' | 'reason'>) =>
  test.guardian.setProfile({ version: test.guardian.profile().version, reason: 'to see', ...change })

describe('the profile', () => {
  it('is changed by a person, at the version that they saw, and that is an event with all of it', async () => {
    const before = test.guardian.profile()
    expect(before).toMatchObject({ version: 1, checks: [{ check: 'weather', gates: true, runs: true }] })
    const { seq } = await set({ checks: [{ check: 'weather', thresholds: { drops: 5 } }] })
    const [, event] = await test.events(['profile.changed'])
    expect(event).toMatchObject({ seq, actor: 'operator', data: { version: 2, reason: 'to see' } })
    expect(event?.data).toMatchObject({ body: { checks: [{ check: 'weather', thresholds: { drops: 5 } }] } })
    const after = test.guardian.profile()
    expect(after.hash).not.toBe(before.hash)
    expect(after.checks).toMatchObject([{ thresholds: { drops: 5 }, defaults: { drops: 3 } }])
    const stale = test.guardian.setProfile({ version: 1, reason: 'x', expiresAfterMs: null })
    await expect(stale).rejects.toMatchObject({ code: 'conflict' })
    await expect(set({ checks: [{ check: 'wind' }] })).rejects.toThrow(/no check wind: there are weather/)
    await expect(set({ checks: [{ check: 'weather', thresholds: { wind: 1 } }] })).rejects.toThrow(/it has drops/)
    await expect(set({})).rejects.toThrow(/nothing changed/)
    await test.restart()
    expect(test.guardian.profile()).toEqual(after)
    await test.propose('two')
    expect(seen).toEqual([5])
  })

  it('takes no number that is none, below nothing or beyond reason, and no reason without a word', async () => {
    const input = profileContract.set['~orpc'].inputSchema
    const given = (drops: number, reason = 'to see') =>
      input?.['~standard'].validate({ version: 1, checks: [{ check: 'weather', thresholds: { drops } }], reason })
    for (const drops of [Number.NaN, Number.POSITIVE_INFINITY, -1, 1e12])
      expect(await given(drops)).toHaveProperty('issues.0.path', ['checks', 0, 'thresholds', 'drops'])
    expect(await given(0, '\u200b')).toHaveProperty('issues.0.path', ['reason'])
    expect(await given(0)).not.toHaveProperty('issues')
  })

  it('ends what waits under the old one, and each part of it makes another', async () => {
    const hashes = new Set([test.guardian.profile().hash])
    const { probation } = test.guardian.profile()
    for (const change of [
      { checks: [{ check: 'weather', gates: false }] },
      { checks: [{ check: 'weather', runs: false }] },
      { probation: { ...probation, steps: 4 } },
      { expiresAfterMs: null },
    ]) {
      const proposal = await test.propose(`v${hashes.size}`)
      await set(change)
      expect((await test.guardian.get(agent, proposal)).state).toBe('expired')
      hashes.add(test.guardian.profile().hash)
    }
    expect(hashes.size).toBe(5)
    expect(await test.events(['proposal.reviewed'])).toEqual([])
  })

  it('has checks that inform and decide nothing, and some that are switched off, which the evidence says', async () => {
    await set({ checks: [{ check: 'weather', gates: false }] })
    await test.propose('two')
    expect(await test.guardian.get(agent, 'P-1')).toMatchObject({ state: 'ready', unresolved: [] })
    await set({ checks: [{ check: 'weather', gates: true, runs: false }] })
    await test.propose('three')
    expect(seen).toHaveLength(1)
    expect(await test.guardian.get(agent, 'P-2')).toMatchObject({
      ...{ state: 'ready', unresolved: [] },
      checks: [{ summary: 'switched off in the guardian profile: it was not run' }],
    })
  })

  it('is an order as well: a person moves a check, it runs there from then on, also after a restart, and another hash says so', async () => {
    await test.close()
    const ran: string[] = []
    const named = (name: string): Check => ({
      ...weather,
      name,
      async run() {
        ran.push(name)
        return { verdict: 'pass', summary: 'fine', details: {} }
      },
    })
    test = await openTestGuardian({ checks: ['static', 'claim', 'boot'].map(named) })
    const { hash } = test.guardian.profile()
    for (const [order, why] of [
      [['boot', 'static'], 'the order leaves out claim: name every check once'],
      [['boot', 'static', 'claim', 'boot'], 'boot stands in the order twice'],
      [['boot', 'static', 'claim', 'taste'], 'there is no check taste: there are static, claim, boot'],
      [['boot', 'claim', 'static'], 'claim reads what static has found: it comes after it'],
    ] as const)
      await expect(set({ order: [...order] })).rejects.toMatchObject({ code: 'invalid', message: why })
    await set({ order: ['boot', 'static', 'claim'] })
    const names = () => test.guardian.profile().checks.map(({ check }) => check)
    expect([names(), test.guardian.profile().hash === hash]).toEqual([['boot', 'static', 'claim'], false])
    await test.restart()
    expect(names()).toEqual(['boot', 'static', 'claim'])
    await test.propose('two')
    expect(ran).toEqual(['boot', 'static', 'claim'])
    expect((await test.guardian.get(agent, 'P-1')).checks.map(({ check }) => check)).toEqual(ran)
  })

  it('[C21] is out of an executor’s reach: none of its requests is about it, a rule or a verdict', () => {
    const methods = Object.keys(requestSchemas)
    expect(methods).toContain('policy.propose')
    const about = /profile|rule|approve|reject|defer|derive|return|review|look|expire/
    expect(methods.filter((method) => about.test(method))).toEqual([])
  })
})

describe('a deadline', () => {
  const expired = () =>
    new Promise<void>((resolve) => {
      const stop = test.history.onCommit((events) => {
        if (!events.some(({ kind }) => kind === 'proposal.expired')) return
        stop()
        resolve()
      })
    })

  it('ends a proposal that nobody decided, by itself, and that is no rejection', async () => {
    await set({ expiresAfterMs: 1 })
    const over = expired()
    await test.propose('two')
    await over
    const { state, reason, category, expiresAt } = await test.guardian.get(agent, 'P-1')
    expect([state, category]).toEqual(['expired', null])
    expect(reason).toMatch(/nobody decided in time/)
    expect(expiresAt).toEqual(expect.any(Number))
    expect(await test.events(['proposal.reviewed'])).toEqual([])
    // The same may come again at once, and is not marked.
    const { note } = await test.guardian.submit(
      agent,
      await test.revisions.read((await test.guardian.get(agent, 'P-1')).revision),
      'w',
      'c',
    )
    expect(note).toBeUndefined()
  })

  it('that passed while no host ran is seen at the next start; without one it waits for ever', async () => {
    await test.close()
    let wallMs = 0
    const clock = { now: () => 1_700_000_000_000 + wallMs, monotonic: () => 0 }
    test = await openTestGuardian({ checks: [weather], clock })
    await test.propose('two')
    expect((await test.guardian.get(agent, 'P-1')).expiresAt).toBe(clock.now() + 7 * 86_400_000)
    wallMs = 7 * 86_400_000
    await test.restart()
    await test.guardian.recover()
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('expired')
    await set({ expiresAfterMs: null })
    await test.propose('two')
    wallMs *= 1000
    await test.restart()
    await test.guardian.recover()
    expect(await test.guardian.get(agent, 'P-2')).toMatchObject({ state: 'ready', expiresAt: null })
  })

  it('until which a proposal was put off lets it ask again, by itself or at the next start, and survives a restart', async () => {
    await test.close()
    let wallMs = 0
    const clock = { now: () => 1_700_000_000_000 + wallMs, monotonic: () => 0 }
    test = await openTestGuardian({ checks: [weather], clock })
    const putOff = async (until: number) => {
      const view = await test.guardian.view(agent, 'P-1')
      await test.guardian.defer({ agent, proposal: 'P-1', ...view, reason: 'after lunch', until })
    }
    const now = async () => {
      const [row] = await test.guardian.list({ waiting: true })
      return [row?.state, row?.deferredUntil, row?.recalledAt]
    }
    await test.propose('two')
    await putOff(clock.now() + 3_600_000)
    expect(await now()).toEqual(['ready', 1_700_003_600_000, null])
    // Not before its time.
    wallMs = 3_599_999
    await test.guardian.recover()
    expect(await test.events(['proposal.recalled'])).toEqual([])
    wallMs = 3_600_000
    await test.restart()
    await test.guardian.recover()
    const [recalled, ...more] = await test.events(['proposal.recalled'])
    expect(recalled).toMatchObject({ actor: 'kernel', agent, data: { proposal: 'P-1' } })
    expect(more).toEqual([])
    const back = await now()
    expect(back).toEqual(['ready', null, recalled?.at])
    // Once, and rebuilt from history alone.
    await test.restart()
    await test.guardian.recover()
    expect(await now()).toEqual(back)
    expect(await test.events(['proposal.recalled'])).toHaveLength(1)
    // It may be put off again, and one whose host runs on asks without a start.
    const asks = new Promise<void>((resolve) => {
      test.history.onCommit((events) => {
        if (events.some(({ kind }) => kind === 'proposal.recalled')) resolve()
      })
    })
    await putOff(clock.now() + 1)
    expect((await now())[2]).toBeNull()
    wallMs += 1
    await asks
    expect((await now()).slice(0, 2)).toEqual(['ready', null])
  })
})
