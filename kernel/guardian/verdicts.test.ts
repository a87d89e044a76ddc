import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { agent, openTestGuardian, policy, type TestGuardian } from '../testing/guardian.ts'
import type { EventKind } from '../wire/events.ts'
import type { ApproveInput, DeferInput, DeriveInput, RejectInput, ReturnInput, VerdictInput } from './guardian.ts'

let test: TestGuardian
beforeEach(async () => {
  test = await openTestGuardian()
})
afterEach(() => test.close())

async function dataOf(kind: EventKind) {
  return (await test.events([kind])).map(({ data }) => data)
}

async function inputOf(proposal: string, reason = 'so'): Promise<VerdictInput> {
  const { nonce, binding } = await test.guardian.view(agent, proposal)
  return { agent, proposal, nonce, binding, reason }
}

const later = 4_000_000_000_000
/** Each verdict, with what it needs beside the view. */
const verdicts: Record<string, (input: VerdictInput) => Promise<unknown>> = {
  approve: (input: ApproveInput) => test.guardian.approve(input),
  reject: (input: RejectInput) => test.guardian.reject({ ...input, category: 'unsafe' }),
  return: (input: VerdictInput) => test.guardian.sendBack({ ...input, comments: [] } satisfies ReturnInput),
  defer: (input: VerdictInput) => test.guardian.defer({ ...input, until: later } satisfies DeferInput),
  derive: (input: VerdictInput) =>
    test.guardian.derive({ ...input, edits: [{ path: 'b.md', text: 'b\n' }] } satisfies DeriveInput),
}

describe.each(Object.entries(verdicts))('the verdict %s', (_name, give) => {
  it('[C25] holds once, for exactly what its view showed', async () => {
    await test.propose('two')
    const input = await inputOf('P-1')
    await expect(give({ ...input, nonce: '0'.repeat(32) })).rejects.toMatchObject({ code: 'conflict' })
    for (const part of ['revision', 'base', 'checks', 'profile'] as const) {
      const fresh = await inputOf('P-1')
      const other = { ...fresh, binding: { ...fresh.binding, [part]: 'f'.repeat(64) } }
      await expect(give(other)).rejects.toThrow(/look again/)
      await expect(give(fresh)).rejects.toMatchObject({ code: 'conflict' })
    }
    const stale = await inputOf('P-1')
    await test.propose('three')
    await expect(give(stale)).rejects.toThrow(/superseded/)
    const foreign = await inputOf('P-2')
    await expect(give({ ...foreign, proposal: 'P-1' })).rejects.toMatchObject({ code: 'conflict' })
    expect(await dataOf('proposal.reviewed')).toEqual([])
    expect(await dataOf('proposal.made')).toHaveLength(2)
    const good = await inputOf('P-2')
    await give(good)
    await test.guardian.settled(agent)
    await expect(give(good)).rejects.toMatchObject({ code: 'conflict' })
    const decided = [...(await dataOf('proposal.reviewed')), ...(await dataOf('proposal.made')).slice(2)]
    expect(decided).toHaveLength(1)
  })

  it('[C21] is refused once the profile is another', async () => {
    await test.propose('two')
    const input = await inputOf('P-1')
    const { version } = test.guardian.profile()
    await test.guardian.setProfile({ version, checks: [{ check: 'boot', gates: false }], reason: 'to see' })
    await expect(give(input)).rejects.toMatchObject({ code: 'conflict' })
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('expired')
  })
})

describe('an approval over a check that could not be decided', () => {
  const boot = { check: 'boot', reason: 'no box on this machine today' }

  it('names each with a reason, and nothing else', async () => {
    await test.propose('no-box')
    const attempt = async (overrides?: ApproveInput['overrides']) =>
      test.guardian.approve({ ...(await inputOf('P-1')), ...(overrides === undefined ? {} : { overrides }) })
    await expect(attempt()).rejects.toThrow(/has not passed boot/)
    await expect(attempt([{ check: 'scope', reason: 'x' }])).rejects.toThrow(/has not passed boot/)
    await expect(attempt([boot, { check: 'scope', reason: 'x' }])).rejects.toThrow(/nothing to override in scope/)
    await expect(attempt([boot, boot])).rejects.toThrow(/nothing to override in boot/)
    for (const blank of [' ', '\u200b', '\u2063\u00ad', '…'])
      await expect(attempt([{ check: 'boot', reason: blank }])).rejects.toThrow(/needs a reason/)
    expect(await dataOf('proposal.reviewed')).toEqual([])
    await test.propose('two')
    await expect(test.guardian.approve({ ...(await inputOf('P-2')), overrides: [boot] })).rejects.toThrow(
      /nothing to override in boot/,
    )
  })

  it('is in its event, and leads to probation, also where the profile has none', async () => {
    await test.close()
    let isBoxed = false
    test = await openTestGuardian({
      probationSteps: 0,
      checks: [
        {
          ...{ name: 'weather', description: 'Whether it can be decided.', gates: true, thresholds: {}, rules: 1 },
          run: async () => ({ verdict: isBoxed ? 'pass' : 'unresolved', summary: 'who knows', details: {} }),
        },
      ],
    })
    await test.propose('two')
    const overrides = [{ check: 'weather', reason: 'it is dry' }]
    const receipt = await test.guardian.approve({ ...(await inputOf('P-1')), overrides, onBreach: 'rollback' })
    expect(receipt.state).toBe('probation')
    expect(await dataOf('proposal.reviewed')).toMatchObject([{ verdict: 'approved', overrides, onBreach: 'rollback' }])
    expect((await dataOf('revision.activated')).at(-1)).toMatchObject({ probationSteps: 10 })
    // Without an override, the profile's own steps.
    for (let step = 0; step < 10; step += 1) await test.step()
    isBoxed = true
    await test.propose('three')
    expect((await test.approve('P-2')).state).toBe('active')
  })
})

describe('a return', () => {
  it('has comments on lines that there are, and leaves what runs as it is', async () => {
    const { revision } = (await test.guardian.active(agent)) ?? {}
    await test.propose('two', { 'notes.md': 'a\nb\n' })
    const send = async (comments: ReturnInput['comments']) =>
      test.guardian.sendBack({ ...(await inputOf('P-1')), comments })
    const comment = { path: 'notes.md', side: 'after' as const, line: 2, text: 'why b?' }
    await expect(send([{ ...comment, line: 3 }])).rejects.toThrow(/line 3 of notes\.md, which has 2 lines/)
    await expect(send([{ ...comment, side: 'before' }])).rejects.toThrow(/not in the revision before/)
    await expect(send([{ ...comment, path: 'nowhere.ts' }])).rejects.toThrow(/nowhere\.ts/)
    const receipt = await send([comment])
    expect(receipt).toMatchObject({ state: 'returned', before: revision, after: revision })
    expect(await test.guardian.get(agent, 'P-1')).toMatchObject({
      state: 'returned',
      reason: 'so',
      comments: [comment],
    })
  })
})

describe('a deferral', () => {
  it('leaves it ready, says until when, and does not eat up its time', async () => {
    await test.propose('two')
    const { expiresAt } = await test.guardian.get(agent, 'P-1')
    await expect(test.guardian.defer({ ...(await inputOf('P-1')), until: 1 })).rejects.toThrow(/a later one/)
    const receipt = await test.guardian.defer({ ...(await inputOf('P-1', 'after lunch')), until: later })
    const [event] = await test.events(['proposal.reviewed'])
    expect(receipt).toMatchObject({ state: 'ready', seq: event?.seq })
    expect(receipt.before).toBe(receipt.after)
    expect(await test.guardian.get(agent, 'P-1')).toMatchObject({
      ...{ state: 'ready', deferredUntil: later, decidedAt: null },
      expiresAt: (expiresAt ?? 0) + later - (event?.at ?? 0),
    })
    expect((await test.approve('P-1')).state).toBe('probation')
  })
})

describe('a rejected idea that returns', () => {
  it('is marked with the earlier reason: the same content, or the same change in other layout and words', async () => {
    const code = 'export const limit = 3 // three\n'
    await test.propose('two', { 'limit.ts': code })
    await test.guardian.reject({ ...(await inputOf('P-1', 'too few')), category: 'wrong-idea' })
    expect((await test.guardian.get(agent, 'P-1')).category).toBe('wrong-idea')
    const again = [...policy('zwei'), { path: 'limit.ts', text: '/* a limit */\nexport const limit =\n  3\n' }]
    const { note } = await test.guardian.submit(agent, again, 'why', 'claim')
    expect(note).toMatch(/the same change, but for layout and comments, as P-1, which was rejected \(too few\)/)
    await test.guardian.settled(agent)
    expect((await test.guardian.get(agent, 'P-2')).predecessor).toMatchObject({
      ...{ proposal: 'P-1', state: 'rejected', reason: 'too few', category: 'wrong-idea', isSameContent: true },
    })
    const other = [...policy('zwei'), { path: 'limit.ts', text: 'export const limit = 4\n' }]
    expect((await test.guardian.submit(agent, other, 'why', 'claim')).note).toBeUndefined()
    await test.guardian.settled(agent)
    expect((await test.guardian.get(agent, 'P-3')).predecessor).toMatchObject({ isSameContent: false })
  })
})

describe('what was looked at', () => {
  it('holds for its bytes: it goes when they change, and comes along when they do not', async () => {
    await test.propose('two', { 'a.md': 'a\n', 'b.md': 'b\n' })
    const { revision } = await test.guardian.get(agent, 'P-1')
    const look = (proposal: string, of: string, path: string, viewed = true) =>
      test.guardian.look(agent, proposal, of, path, viewed)
    await look('P-1', revision, 'a.md')
    await look('P-1', revision, 'b.md')
    await look('P-1', revision, 'main.ts')
    await look('P-1', revision, 'main.ts', false)
    await expect(look('P-1', 'f'.repeat(64), 'a.md')).rejects.toMatchObject({ code: 'conflict' })
    await expect(look('P-1', revision, 'c.md')).rejects.toMatchObject({ code: 'not-found' })
    await test.propose('two', { 'a.md': 'a\n', 'b.md': 'B\n', 'c.md': 'c\n' })
    const looked = async () => (await test.guardian.get(agent, 'P-2')).looked
    const expected = [
      { path: 'a.md', isCurrent: true },
      { path: 'b.md', isCurrent: false },
    ]
    expect(await looked()).toEqual(expected)
    await test.restart()
    expect(await looked()).toEqual(expected)
  })
})
