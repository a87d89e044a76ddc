import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { agent, openTestGuardian, policy, StandInTask, type TestGuardian } from '../testing/guardian.ts'
import type { FileHunks } from '../wire/operator-review.ts'
import type { DeriveInput } from './guardian.ts'

let test: TestGuardian
beforeEach(async () => {
  test = await openTestGuardian()
})
afterEach(() => test.close())

const notes = { 'notes.md': 'one\ntwo\nthree\n' }

async function derive(proposal: string, how: Partial<DeriveInput>) {
  const { nonce, binding } = await test.guardian.view(agent, proposal)
  const made = await test.guardian.derive({ agent, proposal, nonce, binding, reason: '', ...how })
  await test.guardian.settled(agent)
  return made
}

const idsOf = (files: readonly FileHunks[], path: string) =>
  files.find((file) => file.path === path)?.hunks.map(({ id }) => id) ?? []

describe('a part of a proposal', () => {
  it('becomes a proposal of its own in its place, is checked, and waits for its own verdict', async () => {
    await test.propose('two', notes)
    const before = await test.guardian.active(agent)
    const files = await test.guardian.hunks(agent, 'P-1')
    expect(files.map(({ path, change, hunks }) => `${path} ${change} ${hunks.length}`)).toEqual([
      'main.ts changed 1',
      'notes.md added 1',
    ])
    expect(files[0]?.hunks[0]).toMatchObject({
      beforeLine: 1,
      beforeLines: 1,
      afterLine: 1,
      afterLines: 1,
      risk: 'HIGH',
    })
    expect(files[1]?.hunks[0]).toMatchObject({
      beforeLine: 0,
      beforeLines: 0,
      afterLine: 1,
      afterLines: 3,
      risk: 'LOW',
    })
    const [hunk = ''] = idsOf(files, 'main.ts')
    const made = await derive('P-1', {
      keep: [{ path: 'notes.md', hunks: idsOf(files, 'notes.md') }],
      fallen: [{ path: 'main.ts', hunk, reason: 'not now' }],
    })
    expect(await test.revisions.read(made.revision)).toEqual([
      { path: 'main.ts', text: '// one\n' },
      { path: 'notes.md', text: notes['notes.md'] },
    ])
    expect(await test.guardian.get(agent, 'P-1')).toMatchObject({
      ...{ state: 'superseded', reason: 'the operator took a part of it: P-2', derivedTo: 'P-2' },
    })
    expect(await test.guardian.get(agent, 'P-2')).toMatchObject({
      ...{ state: 'ready', by: 'operator', claim: 'claims two', risk: 'LOW' },
      checks: [{ check: 'scope' }, { check: 'boot' }],
      derivedFrom: { proposal: 'P-1', how: 'part', agentLines: 3, operatorLines: 0 },
    })
    const [, event] = await test.events(['proposal.made'])
    expect(event?.data).toMatchObject({
      derived: { fallen: [{ path: 'main.ts', lines: 'line 1', reason: 'not now' }] },
    })
    expect(await test.guardian.active(agent)).toEqual(before)
    expect((await test.approve('P-2')).after).toBe(made.revision)
  })

  it('says what to do about an edit of what no proposal may change, and the view stays good', async () => {
    await test.propose('two', notes)
    const { nonce, binding } = await test.guardian.view(agent, 'P-1')
    const derived = (path: string) =>
      test.guardian.derive({ agent, proposal: 'P-1', nonce, binding, reason: '', edits: [{ path, text: 'mine\n' }] })
    await expect(derived('wire.ts')).rejects.toThrow(/wire\.ts .*no proposal changes it, yours neither.*take the rest/)
    expect((await derived('notes.md')).proposal).toBe('P-2')
  })

  it('is refused where nothing is left of it, nothing is left out, or a change is named that there is not', async () => {
    await test.propose('two', notes)
    const files = await test.guardian.hunks(agent, 'P-1')
    const all = files.map(({ path, hunks }) => ({ path, hunks: hunks.map(({ id }) => id) }))
    await expect(derive('P-1', { keep: [] })).rejects.toThrow(/nothing of P-1 is left/)
    await expect(derive('P-1', { keep: all })).rejects.toThrow(/P-1 as it is/)
    await expect(derive('P-1', {})).rejects.toThrow(/P-1 as it is/)
    await expect(derive('P-1', { keep: [{ path: 'main.ts', hunks: ['0'] }] })).rejects.toThrow(/has no change 0/)
    const [hunk = ''] = idsOf(files, 'main.ts')
    await expect(
      derive('P-1', { keep: all.slice(0, 1), fallen: [{ path: 'main.ts', hunk, reason: 'x' }] }),
    ).rejects.toThrow(/has not fallen/)
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('ready')
    expect(await test.events(['proposal.made'])).toHaveLength(1)
  })

  it('decides its original too: the agent’s proposal of that again is closed, with the reason', async () => {
    await test.propose('two', notes)
    const { revision, base } = await test.guardian.get(agent, 'P-1')
    const files = await test.guardian.hunks(agent, 'P-1')
    await derive('P-1', { keep: [{ path: 'notes.md', hunks: idsOf(files, 'notes.md') }], reason: 'main.ts stays' })
    const box = { label: 'T-1', mounts: { policy: '/policy' }, workdir: '/task' }
    const target = new StandInTask({ box })
    test.guardian.attach(agent, target)
    const where = { agent, task: 'T-1', generation: 1, turn: 1, step: 1, revision: base, box }
    const made = await proposeAs(where, [...policy('two', notes)])
    expect(made).toMatchObject({ revision, state: 'withdrawn' })
    expect(made.note).toMatch(/a duplicate of P-1, out of which the operator made P-2 \(ready\): main\.ts stays/)
    expect((await test.guardian.get(agent, 'P-2')).state).toBe('ready')
    expect((await test.guardian.get(agent, 'P-3')).reason).toBe(made.note)
  })
})

/** By the executor, of files that its copy of the policy is said to have. */
async function proposeAs(
  where: Parameters<TestGuardian['guardian']['propose']>[0],
  files: { path: string; text: string }[],
) {
  copy = files
  await test.guardian.layPolicy(agent, where.box, 'T-1')
  return test.guardian.propose(where, { claim: 'again', why: 'it was good' })
}
let copy: { path: string; text: string }[] = []

beforeEach(async () => {
  await test.close()
  test = await openTestGuardian({
    intake: { intakePolicy: async () => ({ ok: true, files: copy }), layPolicy: async () => {} },
  })
})

describe('an edit of a proposal', () => {
  it('has both authors: whose lines are whose is counted', async () => {
    await test.propose('two', notes)
    const edits = [
      { path: 'notes.md', text: 'one\nTWO\nthree\nfour\n' },
      { path: 'more.md', text: 'm\n' },
    ]
    const made = await derive('P-1', { edits, reason: 'louder' })
    expect((await test.revisions.read(made.revision)).map(({ path }) => path)).toEqual([
      'main.ts',
      'more.md',
      'notes.md',
    ])
    expect(await test.guardian.get(agent, 'P-2')).toMatchObject({
      ...{ state: 'ready', why: 'louder', by: 'operator' },
      derivedFrom: { proposal: 'P-1', how: 'edit', agentLines: 5, operatorLines: 4 },
    })
    // And again, out of the operator's own.
    await derive('P-2', { edits: [{ path: 'more.md', text: null }] })
    expect(await test.guardian.get(agent, 'P-2')).toMatchObject({ state: 'superseded', derivedTo: 'P-3' })
    await expect(derive('P-3', { edits: [{ path: 'gone.md', text: null }] })).rejects.toThrow(/cannot be removed/)
    await expect(derive('P-3', { edits: [{ path: '../x.ts', text: '' }] })).rejects.toMatchObject({ code: 'invalid' })
    await expect(derive('P-3', { edits: [{ path: 'main.ts', text: null }] })).rejects.toThrow(/main\.ts/)
  })

  it('is never approved by the flag of the run that its original came from', async () => {
    copy = policy('two', notes)
    const box = { label: 'T-1', mounts: { policy: '/policy' }, workdir: '/task' }
    test.guardian.attach(agent, new StandInTask({ box }))
    const { revision = '' } = (await test.guardian.active(agent)) ?? {}
    const where = { agent, task: 'T-1', generation: 1, turn: 1, step: 1, revision, box }
    await proposeAs(where, copy)
    await test.guardian.settled(agent)
    await test.restart()
    test.guardian.attach(agent, new StandInTask({ box }))
    await derive('P-1', { edits: [{ path: 'notes.md', text: 'mine\n' }] })
    await test.restart()
    test.guardian.attach(agent, new StandInTask({ box, approve: 'all' }))
    await test.guardian.settled(agent)
    expect((await test.guardian.get(agent, 'P-2')).state).toBe('ready')
  })
})
