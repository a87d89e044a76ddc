import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { agent, openTestGuardian, policy, StandInTask, type TestGuardian } from '../testing/guardian.ts'
import type { EventKind } from '../wire/events.ts'

let test: TestGuardian
beforeEach(async () => {
  test = await openTestGuardian()
})
afterEach(() => test.close())

async function dataOf(kind: EventKind) {
  return (await test.events([kind])).map(({ data }) => data)
}

describe('an agent', () => {
  it('begins with its seed as r1, authorised before it is activated', async () => {
    expect(await test.kinds()).toEqual(['agent.created', 'revision.authorised', 'revision.activated'])
    const revision = await test.revisions.put(policy('one'))
    expect(await test.guardian.active(agent)).toEqual({ activation: 1, revision })
    await expect(test.guardian.createAgent(agent, policy('two'))).rejects.toMatchObject({ code: 'conflict' })
    expect(await test.guardian.active('nobody')).toBeNull()
  })
})

describe('a proposal', () => {
  it('is checked in order of cost and waits for a verdict, while what runs stays as it is', async () => {
    const before = await test.guardian.active(agent)
    const { proposal, state, revision } = await test.guardian.submit(agent, policy('two'), 'why', 'better')
    expect([proposal, state]).toEqual(['P-1', 'checking'])
    await test.guardian.settled(agent)
    expect((await test.kinds()).slice(3)).toEqual([
      'proposal.made',
      'proposal.checked',
      'proposal.checked',
      'proposal.readied',
    ])
    expect(await dataOf('proposal.checked')).toMatchObject([
      { check: 'scope', verdict: 'pass' },
      { check: 'boot', verdict: 'pass' },
    ])
    const detail = await test.guardian.get(agent, 'P-1')
    expect(detail).toMatchObject({ state: 'ready', revision, risk: 'HIGH', blocked: null, claim: 'better', why: 'why' })
    expect(detail.files).toMatchObject([{ path: 'main.ts', change: 'changed', addedLines: 1, removedLines: 1 }])
    expect(await test.guardian.file(agent, 'P-1', 'main.ts')).toEqual({ before: '// one\n', after: '// two\n' })
    expect(await test.guardian.list({ waiting: true })).toHaveLength(1)
    expect(await test.guardian.active(agent)).toEqual(before)
  })

  it('of the active revision is refused, since nothing changed', async () => {
    await expect(test.guardian.submit(agent, policy('one'), 'why', 'claim')).rejects.toMatchObject({ code: 'invalid' })
    expect(await dataOf('proposal.made')).toEqual([])
  })

  it('ends at the first check that fails, which says why', async () => {
    await test.propose('no-boot')
    expect(await test.guardian.get(agent, 'P-1')).toMatchObject({
      state: 'failed-checks',
      reason: 'boot: it ended (exit code 3)',
      pendingChecks: [],
    })
    await test.propose('long', { 'blob.ts': `const x = '${'a'.repeat(3000)}'` })
    const { state, checks } = await test.guardian.get(agent, 'P-2')
    expect(state).toBe('failed-checks')
    expect(checks.map(({ check, verdict }) => `${check} ${verdict}`)).toEqual(['scope fail'])
    expect(test.executors.booted).toHaveLength(1)
  })

  it('is not passed by a check that could not be decided: it waits for the operator, who is told', async () => {
    await test.propose('no-box')
    expect(await test.guardian.get(agent, 'P-1')).toMatchObject({
      state: 'ready',
      unresolved: ['boot'],
      checks: [{ verdict: 'pass' }, { verdict: 'unresolved' }],
    })
  })

  it('that cannot be a revision is recorded with its problems, and stored nowhere', async () => {
    const files = [...policy('two'), { path: '../out.ts', text: 'x' }]
    const { state, revision } = await test.guardian.submit(agent, files, 'why', 'claim')
    expect(state).toBe('failed-checks')
    expect(revision).toBe((await test.guardian.active(agent))?.revision)
    expect(await dataOf('proposal.made')).toMatchObject([{ problems: [{ path: '../out.ts' }] }])
  })

  it('takes the place of one that waits, whose checks are let go', async () => {
    await test.propose('two')
    let open = (): void => {}
    test.executors.gate = new Promise((resolve) => {
      open = resolve
    })
    await test.guardian.submit(agent, policy('three'), 'why', 'claim')
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('superseded')
    await test.guardian.submit(agent, policy('four'), 'why', 'claim')
    open()
    await test.guardian.settled(agent)
    const states = (await test.guardian.list({ agent })).map(({ proposal, state }) => `${proposal} ${state}`)
    expect(states).toEqual(['P-3 ready', 'P-2 superseded', 'P-1 superseded'])
  })

  it('can be withdrawn while it waits: an operator’s own by the operator only', async () => {
    await test.propose('two')
    await expect(test.guardian.withdraw(agent, 'P-1')).rejects.toMatchObject({ code: 'forbidden' })
    expect(await test.guardian.withdraw(agent, 'P-1', 'operator')).toBe('withdrawn')
    await expect(test.guardian.withdraw(agent, 'P-1', 'operator')).rejects.toMatchObject({ code: 'conflict' })
    await expect(test.guardian.view(agent, 'P-1')).rejects.toMatchObject({ code: 'conflict' })
  })

  it('says so where its content was turned down before', async () => {
    await test.propose('two')
    await test.reject('P-1', 'too broad')
    await test.propose('two')
    const [scope] = (await test.guardian.get(agent, 'P-2')).checks
    expect(scope?.summary).toContain('P-1')
    expect(scope?.details).toMatchObject({ recurrences: [{ proposal: 'P-1', state: 'rejected', reason: 'too broad' }] })
  })
})

describe('a verdict', () => {
  it('of rejection changes nothing but the proposal', async () => {
    const before = await test.guardian.active(agent)
    await test.propose('two')
    const receipt = await test.reject('P-1', 'too broad')
    expect(receipt).toMatchObject({ state: 'rejected', before: before?.revision, after: before?.revision })
    expect(await test.guardian.active(agent)).toEqual(before)
    expect((await test.guardian.get(agent, 'P-1')).reason).toBe('too broad')
    expect(await dataOf('revision.authorised')).toHaveLength(1)
  })

  it('of approval with no task running activates it for the next one, after it has started once more', async () => {
    await test.propose('two')
    const revision = await test.revisions.put(policy('two'))
    const receipt = await test.approve('P-1')
    expect(receipt).toMatchObject({ state: 'probation', after: revision })
    expect((await test.kinds()).slice(-3)).toEqual(['proposal.reviewed', 'revision.authorised', 'revision.activated'])
    expect(await test.guardian.active(agent)).toEqual({ activation: 2, revision })
    expect(test.executors.booted).toEqual([revision, revision])
  })

  it('[C25] holds once, for exactly what its view showed', async () => {
    await test.propose('two')
    const { nonce, binding } = await test.guardian.view(agent, 'P-1')
    const input = { agent, proposal: 'P-1', nonce, binding, reason: '' }
    const forged = { ...input, nonce: '0'.repeat(32) }
    await expect(test.guardian.approve(forged)).rejects.toMatchObject({ code: 'conflict' })
    const other = { ...input, binding: { ...binding, checks: 'f'.repeat(64) } }
    await expect(test.guardian.approve(other)).rejects.toThrow(/look again/)
    // The attempt has spent the nonce.
    await expect(test.guardian.approve(input)).rejects.toMatchObject({ code: 'conflict' })
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('ready')
    const stale = await test.guardian.view(agent, 'P-1')
    await test.propose('three')
    await expect(test.guardian.approve({ ...input, ...stale })).rejects.toThrow(/superseded/)
    const wrong = await test.guardian.view(agent, 'P-2')
    await expect(test.guardian.approve({ ...input, ...wrong })).rejects.toMatchObject({ code: 'conflict' })
    expect(await dataOf('proposal.reviewed')).toEqual([])
    await test.approve('P-2')
    expect(await dataOf('proposal.reviewed')).toMatchObject([{ proposal: 'P-2', by: 'operator' }])
  })

  it('[C21] binds to the check events and to the active revision, not only to the content', async () => {
    await test.propose('two')
    const first = await test.guardian.view(agent, 'P-1')
    await test.guardian.withdraw(agent, 'P-1', 'operator')
    await test.propose('two')
    const second = await test.guardian.view(agent, 'P-2')
    expect(second.binding.revision).toBe(first.binding.revision)
    expect(second.binding.checks).not.toBe(first.binding.checks)
  })

  it('is never given by a run’s flag for what was not proposed in that run', async () => {
    const target = new StandInTask({ approve: 'all' })
    test.guardian.attach(agent, target)
    await test.propose('two')
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('ready')
    expect(await dataOf('proposal.reviewed')).toEqual([])
  })
})

describe('the ledger', () => {
  it('is the same after a restart: history is all there is', async () => {
    await test.propose('two')
    await test.reject('P-1')
    await test.propose('three')
    await test.approve('P-2')
    await test.step()
    await test.propose('no-boot')
    await test.propose('four')
    const shown = async () => [
      await test.guardian.list({}),
      await test.guardian.get(agent, 'P-4'),
      await test.guardian.revisions(agent),
      await test.guardian.active(agent),
    ]
    const before = await shown()
    await test.restart()
    expect(await shown()).toEqual(before)
    expect((await test.guardian.get(agent, 'P-4')).blocked).toContain('2 more steps')
  })

  it('takes up the checks that were cut off, from the first that had not reported', async () => {
    let open = (): void => {}
    test.executors.gate = new Promise((resolve) => {
      open = resolve
    })
    await test.guardian.submit(agent, policy('two'), 'why', 'claim')
    await untilChecked(1)
    await test.restart()
    open()
    expect(await test.guardian.recover()).toEqual({ activationsResolved: 0, checksRestarted: 1 })
    await test.guardian.settled(agent)
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('ready')
    expect(await dataOf('proposal.checked')).toMatchObject([{ check: 'scope' }, { check: 'boot' }])
  })

  it('lets what waits expire when the checks are others', async () => {
    await test.propose('two')
    await test.guardian.close()
    const history = await test.open.reopen()
    const { createGuardian } = await import('./mechanism.ts')
    const guardian = await createGuardian({
      history,
      revisions: test.revisions,
      provider: test.provider,
      clock: { now: () => 0, monotonic: () => 0 },
      artifacts: {} as never,
      intake: {} as never,
      executors: () => test.executors,
      replays: {} as never,
      checks: [],
    })
    await guardian.recover()
    expect((await guardian.get(agent, 'P-1')).state).toBe('expired')
    await guardian.close()
  })

  async function untilChecked(count: number): Promise<void> {
    while ((await test.events(['proposal.checked'])).length < count)
      await new Promise<void>((resolve) => {
        const stop = test.history.onCommit(() => {
          stop()
          resolve()
        })
        void test.events(['proposal.checked']).then((events) => events.length >= count && resolve())
      })
  }
})
