import { expect, it } from 'vitest'
import { openTestHistory } from '../history/fixture.ts'
import { draft } from '../wire/events.ts'
import { digestSince } from './digest.ts'

const hash = '1'.repeat(64)
const of = { actor: 'kernel', agent: 'a' } as const
const activated = (activation: number, cause: 'seed' | 'proposal' | 'rollback') =>
  draft(
    'revision.activated',
    {
      activation,
      revision: hash,
      previous: null,
      cause,
      proposal: cause === 'proposal' ? 'P-1' : null,
      probationSteps: 0,
    },
    of,
  )
const finished = (outcome: 'completed' | 'failed', run: 'task' | 'trial' = 'task') =>
  draft('task.finished', { outcome, reason: 'it ended', progress: null }, { ...of, task: 'T-1', run })

it('counts what happened after a moment, an undone activation too, and neither the seed, nor a way back as a proposal, nor an arm of a trial', async () => {
  const test = await openTestHistory()
  try {
    const tasks = { states: () => [] }
    const before = await test.history.append([activated(1, 'seed'), finished('failed')])
    const since = before.at(-1)?.at ?? 0
    await expect.poll(() => Date.now()).toBeGreaterThan(since)
    await test.history.append([
      activated(2, 'proposal'),
      draft(
        'revision.rolled-back',
        {
          from: { activation: 2, revision: hash },
          to: { activation: 3, revision: hash },
          ...{ cause: 'operator', proposal: 'P-1', reason: 'worse' },
        },
        of,
      ),
      activated(3, 'rollback'),
      draft('proposal.expired', { proposal: 'P-2' }, of),
      finished('completed'),
      finished('failed', 'trial'),
    ])
    const told = { activated: 1, rolledBack: 1, rejected: 0, expired: 1, costNanoUsd: 0, modelCalls: 0 }
    const none = { failed: 0, stopped: 0, budget: 0, claimed: 0 }
    expect(await digestSince({ history: test.history, tasks }, since)).toMatchObject({
      ...{ ...told, since, isSimulated: false, finished: { ...none, completed: 1 } },
    })
    expect(await digestSince({ history: test.history, tasks }, 0)).toMatchObject({
      finished: { ...none, completed: 1, failed: 1 },
    })
    expect(await digestSince({ history: test.history, tasks }, Date.now() + 60_000)).toMatchObject({ activated: 0 })
  } finally {
    await test.close()
  }
})
