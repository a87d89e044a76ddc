// Budgets end to end: a real kernel, the simulator, tasks in boxes.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import {
  boxMissing,
  complete,
  openTestKernel,
  shell,
  startSimulator,
  type TestKernel,
  writePack,
} from '../testing/kernel.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const simulator = startSimulator()
afterAll(() => simulator.stop())
let test: TestKernel
afterEach(() => test.close())

const script = [shell('count add'), shell('count add'), complete()]

async function open() {
  const dataDir = mkdtempSync(join(tmpdir(), 'exodesk-budgets-'))
  writePack(join(dataDir, 'packs/beans'), { goal: 2, script })
  test = await openTestKernel(simulator, { dataDir })
  return createRouterClient(test.kernel.operator, { context: { via: 'socket' as const } })
}
type Desk = Awaited<ReturnType<typeof open>>

/** Resolves with the first event of this kind that history gets from now on, or has. */
async function eventOf(desk: Desk, kind: string) {
  for await (const batch of await desk.events.follow({ after: 0 })) {
    const found = batch.find((event) => event.kind === kind)
    if (found !== undefined) return found
  }
  throw new Error(`no ${kind}`)
}

describe.skipIf(boxMissing)('a budget', () => {
  it('of the day pauses a task that needs more, and lets it go on by itself when it is raised', async () => {
    const desk = await open()
    await desk.budgets.set({ agent: null, tokens: 300 })
    const { task } = await desk.tasks.run({ pack: 'beans', model: 'sim-script' })
    const paused = await eventOf(desk, 'task.paused')
    expect(paused.data).toMatchObject({ by: 'kernel', cause: 'budget', reason: expect.stringContaining('the day') })
    const reached = await eventOf(desk, 'budget.reached')
    expect(reached.data).toMatchObject({ scope: 'day', budget: 'tokens', limit: 300 })
    expect((await test.events(['model.reserved'], task)).length).toBe(0)
    await desk.budgets.set({ agent: null, tokens: 1_000_000 })
    expect(await test.kernel.tasks.ended(task)).toMatchObject({ outcome: 'completed' })
    expect((await eventOf(desk, 'task.resumed')).data).toEqual({ by: 'kernel' })
    expect((await desk.host.status()).notices.filter(({ id }) => id.startsWith('budget'))).toEqual([])
  }, 120_000)

  it('of a task ends it, and names its limit; raised in time it is enough', async () => {
    const desk = await open()
    const { task } = await desk.tasks.run({ pack: 'beans', model: 'sim-script', budgetTokens: 300, agent: 'A' })
    expect(await test.kernel.tasks.ended(task)).toMatchObject({
      outcome: 'budget',
      reason: expect.stringContaining(`the budget of ${task}, 300 tokens`),
    })
    await expect(desk.tasks.raiseBudget({ task, budgetTokens: 400 })).rejects.toMatchObject({ code: 'conflict' })
    await desk.budgets.set({ agent: 'A', tokens: 400 })
    const second = await desk.tasks.run({ pack: 'beans', model: 'sim-script', budgetTokens: 50_000, agent: 'A' })
    await eventOf(desk, 'task.paused')
    await expect(desk.tasks.raiseBudget({ task: second.task, budgetTokens: 50_000 })).rejects.toMatchObject({
      code: 'invalid',
    })
    await expect(desk.tasks.raiseBudget({ task: second.task, budgetNanoUsd: 1 })).rejects.toMatchObject({
      code: 'invalid',
    })
    await desk.tasks.raiseBudget({ task: second.task, budgetTokens: 1_000_000 })
    expect((await desk.tasks.get({ task: second.task })).limits.budgetTokens).toBe(1_000_000)
    await desk.budgets.set({ agent: 'A', tokens: null })
    expect(await test.kernel.tasks.ended(second.task)).toMatchObject({ outcome: 'completed' })
  }, 120_000)
})

describe.skipIf(boxMissing)('a task by Chat Completions', () => {
  it('comes to its end like one by Responses, metered and with its tools', async () => {
    const desk = await open()
    const { task } = await desk.tasks.run({ pack: 'beans', model: 'sim-script', api: 'chat' })
    expect(await test.kernel.tasks.ended(task)).toMatchObject({ outcome: 'completed' })
    const called = await test.events(['model.called'], task)
    expect(called.length).toBeGreaterThanOrEqual(3)
    for (const { data } of called)
      expect(data).toMatchObject({ api: 'chat', status: 'completed', usageSource: 'reported' })
    const tools = await test.events(['tool.called', 'tool.finished'], task)
    expect(tools.filter(({ kind }) => kind === 'tool.finished').length).toBe(
      tools.filter(({ kind }) => kind === 'tool.called').length,
    )
    expect(tools.length).toBeGreaterThan(0)
    const { costNanoUsd, cacheRead } = await test.kernel.history.totals({ task })
    expect(costNanoUsd).toBeGreaterThan(0)
    expect(cacheRead).toBeGreaterThanOrEqual(0)
  }, 120_000)
})
