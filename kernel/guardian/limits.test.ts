import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createNotices, type Notices } from '../notices.ts'
import { agent, openTestGuardian, StandInTask, type TestGuardian } from '../testing/guardian.ts'
import { limitedSteps } from '../testing/limited-steps.ts'
import { draft, type EventData, type EventKind } from '../wire/events.ts'

let notices: Notices
let test: TestGuardian
beforeEach(async () => {
  notices = createNotices()
  test = await openTestGuardian({ notices, probationSteps: 8 })
})
afterEach(() => test.close())

const dear = { costNanoUsd: 4_000_000 }

async function dataOf<K extends EventKind>(kind: K): Promise<EventData<K>[]> {
  return (await test.events([kind])).map(({ data }) => data as EventData<K>)
}

async function adopt(text: string, onBreach: 'propose' | 'rollback' = 'propose'): Promise<void> {
  const proposal = await test.propose(text)
  const { nonce, binding } = await test.guardian.view(agent, proposal)
  await test.guardian.approve({ agent, proposal, nonce, binding, reason: '', onBreach })
  await test.guardian.settled(agent)
}

async function newTask(task: string, pack: string | null): Promise<void> {
  const { events } = await test.history.read({ agent: null }, { kinds: ['task.created'] })
  const choice = {
    name: 'm',
    api: 'responses' as const,
    baseUrl: 'http://127.0.0.1:1/v1',
    keyEnv: null,
    simulated: true,
  }
  const limits = { budgetNanoUsd: null, budgetTokens: null, maxSteps: null, maxMs: null }
  const made = { title: task, pack, instruction: '', model: choice, sandbox: 'local' as const, limits, goal: null }
  const rest = { seed: events.length, propose: true, approve: 'none' as const, workdir: '/task' }
  await test.history.append([draft('task.created', { ...made, ...rest }, { actor: 'operator', agent, task })])
}

const state = async () => (await test.guardian.revisions(agent)).map((row) => `r${row.activation} ${row.state}`)

describe('a revision within its limits', () => {
  it('is confirmed after its probation, and nothing is said', async () => {
    await limitedSteps(test, 8)
    await adopt('two')
    await limitedSteps(test, 8, { costNanoUsd: 2_000_000 })
    expect(await state()).toEqual(['r2 active', 'r1 past'])
    expect(await dataOf('revision.regressed')).toEqual([])
    expect(notices.list()).toEqual([])
  })

  it('is not judged against fewer than five steps of the one before', async () => {
    await limitedSteps(test, 4)
    await adopt('two')
    await limitedSteps(test, 8, dear)
    expect(await state()).toEqual(['r2 active', 'r1 past'])
  })

  it('is held to the last steps of the one before, not to those of an earlier phase of the task', async () => {
    await limitedSteps(test, 30)
    await limitedSteps(test, 17, { costNanoUsd: 5_000_000 })
    await adopt('two')
    await limitedSteps(test, 8, { costNanoUsd: 6_000_000 })
    expect(await state()).toEqual(['r2 active', 'r1 past'])
  })
})

describe('a breach in probation', () => {
  it('is recorded once, is a notice on every screen, and keeps the revision unconfirmed until the operator decides', async () => {
    await limitedSteps(test, 8)
    await adopt('two')
    await limitedSteps(test, 6, dear)
    expect(await dataOf('revision.regressed')).toMatchObject([
      {
        activation: 2,
        proposal: 'P-1',
        limit: 'cost-per-step',
        measured: 4_000_000,
        bound: 3_000_000,
        leadsTo: 'propose',
      },
    ])
    expect(await dataOf('revision.regressed')).toMatchObject([{ steps: 5, against: 7 }])
    await limitedSteps(test, 20, dear)
    expect(await dataOf('revision.regressed')).toHaveLength(1)
    expect(await dataOf('revision.confirmed')).toEqual([])
    expect(await state()).toEqual(['r2 probation', 'r1 past'])
    expect(notices.list()).toEqual([
      {
        id: 'revision.regressed.apprentice',
        severity: 'warning',
        task: null,
        text: expect.stringContaining('r2 of apprentice has regressed: a step costs $0.00400 (median), where $0.00300'),
        fix: expect.stringContaining('exodesk rollback r1 --agent apprentice'),
      },
    ])
    // Home asks for a decision, until there is one.
    const waiting = { at: expect.any(Number), text: expect.stringContaining('a step costs $0.00400 (median)') }
    expect(test.guardian.breach(agent)).toEqual(waiting)
    notices.clear('revision.regressed.apprentice')
    await test.restart()
    expect(notices.list()).toHaveLength(1)
    expect(test.guardian.breach(agent)).toEqual(waiting)
  })

  it('is over once the operator keeps it, with the reason, which confirms it; or rolls back', async () => {
    await limitedSteps(test, 8)
    await adopt('two')
    await expect(test.guardian.keep(agent, 2, 'why not')).rejects.toMatchObject({ code: 'conflict' })
    await limitedSteps(test, 6, dear)
    await expect(test.guardian.keep(agent, 1, 'the wrong one')).rejects.toMatchObject({ code: 'conflict' })
    await test.guardian.keep(agent, 2, 'it is worth it')
    expect(await dataOf('revision.confirmed')).toMatchObject([{ activation: 2, reason: 'it is worth it' }])
    expect(await state()).toEqual(['r2 active', 'r1 past'])
    expect([notices.list(), test.guardian.breach(agent)]).toEqual([[], null])
    await limitedSteps(test, 9, dear)
    expect(await dataOf('revision.regressed')).toHaveLength(1)
  })

  it('leads back to the last good revision by itself where that was chosen at the approval', async () => {
    const task = new StandInTask()
    test.guardian.attach(agent, task)
    await limitedSteps(test, 8)
    const [before] = await test.guardian.revisions(agent)
    await adopt('two', 'rollback')
    await limitedSteps(test, 5, { failures: 2 })
    expect(await state()).toEqual(['r3 active', 'r2 rolled-back', 'r1 past'])
    expect(await test.guardian.active(agent)).toEqual({ revision: before?.revision, activation: 3 })
    expect(task.generations.at(-1)).toMatchObject({ activation: 3, revision: before?.revision, stopped: null })
    expect(await dataOf('revision.regressed')).toMatchObject([
      { limit: 'error-rate', measured: 2 / 3, bound: 0.5, steps: 5, against: 8, leadsTo: 'rollback' },
    ])
    expect(await dataOf('revision.rolled-back')).toMatchObject([
      { cause: 'regression', proposal: 'P-1', reason: expect.stringContaining('67 % of its calls failed') },
    ])
    expect((await dataOf('revision.activated')).at(-1)).toMatchObject({ cause: 'last-good', probationSteps: 0 })
    expect((await test.guardian.list({ agent }))[0]).toMatchObject({ proposal: 'P-1', state: 'rolled-back' })
    expect(notices.list()).toEqual([])
    expect(await test.history.verify()).toMatchObject({ ok: true })
  })

  it('leads back by itself where the run approved by itself', async () => {
    test.guardian.attach(agent, new StandInTask({ approve: 'all' }))
    await limitedSteps(test, 8)
    // As the intake makes it: a stand-in has no working copy.
    const revision = await test.revisions.put([{ path: 'main.ts', text: '// two\n' }])
    const { revision: base = '' } = (await test.guardian.active(agent)) ?? {}
    const header = { actor: 'kernel' as const, agent, task: 'T-1' }
    const binding = { revision, base, checks: '0'.repeat(64), profile: '0'.repeat(64) }
    const made = { proposal: 'P-1', revision, base, claim: 'c', why: 'w', evidence: [], expects: null }
    await test.history.append([
      draft('proposal.made', { ...made, by: 'executor', files: [], sizeBytes: 1, problems: [] }, header),
      draft('proposal.readied', { proposal: 'P-1', risk: 'LOW', reasons: [] }, header),
      draft(
        'proposal.reviewed',
        { proposal: 'P-1', verdict: 'approved', by: 'flag', reason: '', binding, viewedMs: null },
        header,
      ),
      draft('revision.authorised', { revision, by: 'flag', proposal: 'P-1' }, header),
    ])
    await test.guardian.recover()
    await test.guardian.settled(agent)
    await limitedSteps(test, 6, dear)
    expect(await dataOf('revision.regressed')).toMatchObject([{ leadsTo: 'rollback' }])
    expect(await state()).toEqual(['r3 active', 'r2 rolled-back', 'r1 past'])
  })

  it('leaves what runs where the last good revision cannot take over, and says so', async () => {
    const task = new StandInTask()
    test.guardian.attach(agent, task)
    await limitedSteps(test, 8)
    await adopt('two', 'rollback')
    task.swap = async () => {
      throw new Error('the box is gone')
    }
    await limitedSteps(test, 7, dear)
    expect(await state()).toEqual(['r2 probation', 'r1 past'])
    expect(await dataOf('revision.activation-failed')).toMatchObject([{ stage: 'drain', error: 'the box is gone' }])
    expect(notices.list()).toHaveLength(1)
  })
})

describe('the watch after probation', () => {
  it('finds a revision that becomes dear only then', async () => {
    await limitedSteps(test, 16)
    await adopt('two')
    await limitedSteps(test, 8)
    expect(await state()).toEqual(['r2 active', 'r1 past'])
    await limitedSteps(test, 9, dear)
    expect(await dataOf('revision.regressed')).toMatchObject([
      { limit: 'cost-per-step', measured: 4_000_000, steps: 15, against: 15, leadsTo: 'propose' },
    ])
    expect(await state()).toEqual(['r2 active', 'r1 past'])
    expect(notices.list()).toHaveLength(1)
    await test.guardian.rollback(agent, 1, (await test.guardian.active(agent))?.revision ?? '', '')
    expect(notices.list()).toEqual([])
  })

  it('goes on in the next task of the same pack, step by step of the same stretch, and in no other', async () => {
    await newTask('T-1', 'beans')
    await limitedSteps(test, 8)
    await adopt('two', 'rollback')
    await limitedSteps(test, 8)
    await newTask('T-2', 'other')
    await limitedSteps(test, 9, { ...dear, task: 'T-2' })
    expect(await dataOf('revision.regressed')).toEqual([])
    await newTask('T-3', 'beans')
    await limitedSteps(test, 5, { ...dear, task: 'T-3' })
    expect(await dataOf('revision.regressed')).toEqual([])
    await limitedSteps(test, 1, { ...dear, task: 'T-3' })
    expect(await dataOf('revision.regressed')).toMatchObject([{ limit: 'cost-per-step', steps: 5, against: 7 }])
    expect(await state()).toEqual(['r3 active', 'r2 rolled-back', 'r1 past'])
  })

  it('ends after five times the steps of a probation on a task', async () => {
    await limitedSteps(test, 16)
    await adopt('two')
    await limitedSteps(test, 40)
    await limitedSteps(test, 45, dear)
    expect(await dataOf('revision.regressed')).toEqual([])
  })
})
