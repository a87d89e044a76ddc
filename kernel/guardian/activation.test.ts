import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '../clock.ts'
import { agent, modelCalled, openTestGuardian, policy, StandInTask, type TestGuardian } from '../testing/guardian.ts'
import { draft, type EventKind } from '../wire/events.ts'

let test: TestGuardian
let now = 0
const clock: Clock = { now: () => 1_700_000_000_000 + now, monotonic: () => now }

beforeEach(async () => {
  now = 0
  test = await openTestGuardian({ clock })
})
afterEach(() => test.close())

async function dataOf(kind: EventKind) {
  return (await test.events([kind])).map(({ data }) => data)
}

async function active(): Promise<string> {
  const { activation, revision } = (await test.guardian.active(agent)) ?? { activation: 0, revision: '' }
  const [file] = await test.revisions.read(revision)
  return `r${activation} ${file?.text.slice(3).trim()}`
}

/** Proposes and approves, and completes the probation. */
async function adopt(text: string): Promise<void> {
  await test.approve(await test.propose(text))
  for (let step = 0; step < 3; step += 1) await test.step()
}

async function fail(kind: 'crash' | 'hang' | 'failed-turns' = 'crash') {
  const { activation, revision } = (await test.guardian.active(agent)) ?? { activation: 0, revision: '' }
  return test.guardian.generationFailed(agent, { task: 'T-1', activation, revision, kind, detail: 'exit code 1' })
}

describe('an activation beside a running task', () => {
  it('starts the new generation, hands over at the boundary, and stops the old one', async () => {
    const target = new StandInTask()
    test.guardian.attach(agent, target)
    await test.approve(await test.propose('two'))
    await test.approve(await test.propose('three')).catch(() => {})
    expect(await active()).toBe('r2 two')
    expect(test.executors.started).toMatchObject([{ activation: 2, stopped: null }])
    expect(target.generations).toEqual(test.executors.started)
    const [event] = (await test.events(['revision.activated'])).slice(-1)
    expect(event).toMatchObject({ task: 'T-1', data: { cause: 'proposal', proposal: 'P-1', probationSteps: 3 } })
  })

  it('that cannot start leaves the old one running, and says so', async () => {
    const target = new StandInTask()
    test.guardian.attach(agent, target)
    const receipt = await test.approve(await test.propose('no-start'))
    expect(receipt).toMatchObject({ state: 'activation-failed', after: receipt.before })
    expect(await active()).toBe('r1 one')
    expect(target.generations).toEqual([])
    expect(await dataOf('revision.activation-failed')).toMatchObject([{ proposal: 'P-1', stage: 'handshake' }])
  })

  it('does not commit a generation that ended while it waited for the boundary', async () => {
    const target = new StandInTask()
    let reach = (): void => {}
    target.boundary = new Promise((resolve) => {
      reach = resolve
    })
    test.guardian.attach(agent, target)
    const approved = test.approve(await test.propose('two'))
    const next = await firstStarted()
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('activating')
    next.end({ kind: 'crashed', exitCode: 1, signal: null, outOfMemory: false, stderr: '' })
    reach()
    expect(await approved).toMatchObject({ state: 'activation-failed' })
    expect(await active()).toBe('r1 one')
    expect(await dataOf('revision.activation-failed')).toMatchObject([{ stage: 'drain' }])
  })

  it('goes on at rest where the task ends before it hands over', async () => {
    const target = new StandInTask()
    let reach = (): void => {}
    target.boundary = new Promise((resolve) => {
      reach = resolve
    })
    const detach = test.guardian.attach(agent, target)
    const approved = test.approve(await test.propose('two'))
    const next = await firstStarted()
    target.isEnding = true
    reach()
    detach()
    expect(await approved).toMatchObject({ state: 'probation' })
    expect(await active()).toBe('r2 two')
    expect(next.stopped).not.toBeNull()
    expect(target.generations).toEqual([])
  })

  it('hands over to a task that began while it was tried at rest', async () => {
    const proposal = await test.propose('two')
    let open = (): void => {}
    test.executors.gate = new Promise((resolve) => {
      open = resolve
    })
    const approved = test.approve(proposal)
    const target = new StandInTask()
    await until(async () => (await test.kinds()).includes('proposal.reviewed'))
    test.guardian.attach(agent, target)
    open()
    await approved
    expect(await active()).toBe('r2 two')
    expect(target.generations).toHaveLength(1)
  })

  it('answers the verdict in time where the boundary is far, and goes on', async () => {
    await test.close()
    test = await openTestGuardian({ activationWaitMs: 1 })
    const target = new StandInTask()
    let reach = (): void => {}
    target.boundary = new Promise((resolve) => {
      reach = resolve
    })
    test.guardian.attach(agent, target)
    const proposal = await test.propose('two')
    expect(await test.approve(proposal)).toMatchObject({ state: 'activating' })
    expect(await active()).toBe('r1 one')
    const { revision } = (await test.guardian.active(agent)) ?? { revision: '' }
    await expect(test.guardian.rollback(agent, 1, revision, '')).rejects.toMatchObject({ code: 'conflict' })
    reach()
    await test.guardian.settled(agent)
    expect(await active()).toBe('r2 two')
  })

  it('that was cut off is taken up at the next start', async () => {
    const target = new StandInTask()
    target.boundary = new Promise(() => {})
    test.guardian.attach(agent, target)
    void test.approve(await test.propose('two')).catch(() => {})
    await firstStarted()
    await test.restart()
    expect(await active()).toBe('r1 one')
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('approved')
    expect(await test.guardian.recover()).toEqual({ activationsResolved: 1, checksRestarted: 0 })
    await test.guardian.settled(agent)
    expect(await active()).toBe('r2 two')
    expect(await dataOf('proposal.reviewed')).toHaveLength(1)
  })

  it('that was cut off is not taken up where another revision became active since', async () => {
    await adopt('two')
    const proposal = await test.propose('three')
    const { binding } = await test.guardian.view(agent, proposal)
    await test.history.append([
      draft(
        'proposal.reviewed',
        { proposal, verdict: 'approved', reason: '', by: 'operator', binding, viewedMs: null },
        { actor: 'operator', agent },
      ),
    ])
    for (let failure = 0; failure < 6; failure += 1) await fail()
    expect(await active()).toBe('r3 one')
    await test.restart()
    expect(await test.guardian.recover()).toMatchObject({ activationsResolved: 1 })
    await test.guardian.settled(agent)
    expect(await active()).toBe('r3 one')
    expect((await test.guardian.get(agent, proposal)).state).toBe('activation-failed')
  })

  async function firstStarted() {
    await until(() => test.executors.started.length > 0)
    const [first] = test.executors.started
    if (first === undefined) throw new Error('nothing was started')
    return first
  }
})

describe('probation', () => {
  it('is confirmed after its steps, and only then may the next proposal be approved', async () => {
    await test.approve(await test.propose('two'))
    await test.propose('three')
    expect(await test.guardian.get(agent, 'P-2')).toMatchObject({
      state: 'ready',
      blocked: expect.stringContaining('3 more steps'),
    })
    await expect(test.approve('P-2')).rejects.toThrow(/probation/)
    await test.history.append([modelCalled('T-1', 'f'.repeat(64))])
    const { revision } = (await test.guardian.active(agent)) ?? { revision: '' }
    await test.history.append([modelCalled('T-1', revision, 'failed')])
    await test.step('T-1')
    await test.step('T-1')
    expect(await dataOf('revision.confirmed')).toEqual([])
    await test.step('T-2')
    expect(await dataOf('revision.confirmed')).toMatchObject([{ activation: 2, proposal: 'P-1', steps: 3 }])
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('active')
    expect(await test.approve('P-2')).toMatchObject({ state: 'probation' })
  })

  it.each(['crash', 'hang'] as const)('[G15] brings the last good one back by itself after a %s', async (kind) => {
    await adopt('two')
    await test.approve(await test.propose('three'))
    await test.propose('four')
    expect(await fail(kind)).toEqual({ action: 'replaced', delayMs: 0 })
    expect(await active()).toBe('r4 two')
    const states = (await test.guardian.list({ agent })).map(({ proposal, state }) => `${proposal} ${state}`)
    expect(states).toEqual(['P-3 stale', 'P-2 rolled-back', 'P-1 active'])
    expect((await test.kinds()).slice(-4)).toEqual([
      'revision.rolled-back',
      'revision.authorised',
      'revision.activated',
      'proposal.staled',
    ])
    expect((await dataOf('revision.rolled-back')).at(-1)).toMatchObject({
      from: { activation: 3 },
      to: { activation: 2 },
      cause: kind,
      proposal: 'P-2',
    })
    // Not in probation itself.
    expect(await fail(kind)).toEqual({ action: 'restart', delayMs: 1000 })
    const rows = await test.guardian.revisions(agent)
    expect(rows.map(({ activation, state, authorisedBy }) => `r${activation} ${state} ${authorisedBy}`)).toEqual([
      'r4 active last-good',
      'r3 rolled-back operator',
      'r2 past operator',
      'r1 past seed',
    ])
  })

  it('is over for a generation that is active no more: the run starts the one that is', async () => {
    const before = await test.guardian.active(agent)
    await test.approve(await test.propose('two'))
    const late = { task: 'T-1', ...before, kind: 'crash' as const, detail: '' }
    expect(await test.guardian.generationFailed(agent, late as never)).toEqual({ action: 'replaced', delayMs: 0 })
    expect(await active()).toBe('r2 two')
  })
})

describe('a rollback', () => {
  it('is a new activation of older content, previewed, and can be undone', async () => {
    await test.approve(await test.propose('two', { 'tools/search.ts': '', 'tools/index.ts': '' }))
    for (let step = 0; step < 3; step += 1) await test.step()
    await test.propose('three')
    const { revision = '' } = (await test.guardian.active(agent)) ?? {}
    const preview = await test.guardian.rollbackPreview(agent, 1)
    expect(preview).toMatchObject({
      from: { activation: 2 },
      to: { activation: 1 },
      toolsRemoved: ['search'],
      toolsRestored: [],
      resulting: 'r3 = content of r1',
    })
    expect(preview.files.map(({ path, change }) => `${path} ${change}`)).toEqual([
      'main.ts changed',
      'tools/index.ts removed',
      'tools/search.ts removed',
    ])
    expect(preview.effects.join(' ')).toContain('P-2 becomes stale')
    await expect(test.guardian.rollback(agent, 1, 'f'.repeat(64), '')).rejects.toMatchObject({ code: 'conflict' })
    await expect(test.guardian.rollback(agent, 2, revision, '')).rejects.toMatchObject({ code: 'conflict' })
    await expect(test.guardian.rollback(agent, 9, revision, '')).rejects.toMatchObject({ code: 'not-found' })

    const done = await test.guardian.rollback(agent, 1, revision, 'worse')
    expect(done.activation).toBe(3)
    expect(await active()).toBe('r3 one')
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('rolled-back')
    expect((await test.guardian.get(agent, 'P-2')).state).toBe('stale')
    await test.guardian.rollback(agent, 2, done.revision, 'better after all')
    expect((await test.guardian.active(agent))?.activation).toBe(4)
    expect((await test.guardian.active(agent))?.revision).toBe(revision)
  })

  it('moves a running task over at its step boundary', async () => {
    await adopt('two')
    const target = new StandInTask()
    test.guardian.attach(agent, target)
    const { revision = '' } = (await test.guardian.active(agent)) ?? {}
    await test.guardian.rollback(agent, 1, revision, '')
    expect(target.generations).toMatchObject([{ activation: 3 }])
    expect((await test.events(['revision.rolled-back'])).at(-1)?.data).toMatchObject({ cause: 'operator' })
  })

  it('is possible in probation, and where no box can be had', async () => {
    await test.approve(await test.propose('two'))
    test.executors.gate = Promise.reject(new Error('no box'))
    test.executors.gate.catch(() => {})
    const { revision = '' } = (await test.guardian.active(agent)) ?? {}
    await test.guardian.rollback(agent, 1, revision, '')
    expect(await active()).toBe('r3 one')
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('rolled-back')
    expect(await test.revisions.put(policy('one'))).toBe((await test.guardian.active(agent))?.revision)
  })
})

/** Looks after each commit. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
}
