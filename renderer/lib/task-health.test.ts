import { expect, it } from 'vitest'
import type { TaskSummary } from '../../kernel/wire/operator.ts'
import { nextLimit, stallOf } from './task-health.ts'

it('a task that runs is stalled once nothing has come of it for two minutes, and one that waits or rests never is', () => {
  const now = { what: 'tool build_index', since: 5 }
  const task = { state: 'running', lastEventAt: 1000, now } as const
  expect(stallOf(task, 120_999)).toBeNull()
  expect(stallOf(task, 121_000)).toEqual({ since: 1000, what: 'tool build_index' })
  expect(stallOf({ ...task, state: 'starting', now: null }, 121_000)).toEqual({ since: 1000, what: null })
  for (const state of ['paused', 'pausing', 'waiting', 'finished', 'interrupted'] as const)
    expect(stallOf({ ...task, state }, 999_999)).toBeNull()
})

it('the next limit is the one with the smallest part left, of steps, money, tokens and time of work', () => {
  const totals = {
    ...{ steps: 50, costNanoUsd: 200_000_000, uncached: 100, cacheRead: 500, cacheWrite: 100, output: 100 },
  } as TaskSummary['totals']
  const none = { maxSteps: null, budgetNanoUsd: null, budgetTokens: null, maxMs: null }
  const next = (limits: Partial<TaskSummary['limits']>, workedMs?: number) =>
    nextLimit({ limits: { ...none, ...limits }, totals, ...(workedMs === undefined ? {} : { workedMs }) })
  expect(next({})).toBeNull()
  expect(next({ maxSteps: 238 })).toBe('188 steps left')
  expect(next({ maxSteps: 100, budgetNanoUsd: 250_000_000 })).toBe('$0.05 left')
  expect(next({ maxSteps: 100, budgetTokens: 1000 })).toBe('200 tokens left')
  expect(next({ maxSteps: 100, maxMs: 600_000 }, 540_000)).toBe('1 m 0 s of work left')
  // What no kernel counts now is no limit to name.
  expect(next({ maxMs: 600_000 })).toBeNull()
})
