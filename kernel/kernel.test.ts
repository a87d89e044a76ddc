// Whole runs on the real kernel: real history, real boxes, the starting policy, and the simulator as the model.
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { boxMissing, complete, openTestKernel, shell, startSimulator, type TestKernel } from './testing/kernel.ts'
import type { Event } from './wire/events.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const simulator = startSimulator()
afterAll(() => simulator.stop())

let test: TestKernel
beforeEach(async () => {
  test = await openTestKernel(simulator)
})
afterEach(() => test.close())

const rejections: unknown[] = []
process.on('unhandledRejection', (reason) => rejections.push(reason))
afterEach(() => expect(rejections).toEqual([]))

const model = 'sim-script'
const kindsOf = (events: Event[]) => events.map(({ kind }) => kind)

describe.skipIf(boxMissing)('a task', () => {
  it('runs to its measured goal, step by step, and is graded from outside', async () => {
    const pack = test.pack('beans', {
      goal: 3,
      script: [shell('count add'), shell('count add'), complete('two are enough'), shell('count add'), complete()],
    })
    const { task, agent } = await test.kernel.tasks.run({ pack, model })
    expect([task, agent]).toEqual(['T-1', 'beans-1'])
    const ended = await test.kernel.tasks.ended(task)
    expect(ended).toMatchObject({
      state: 'finished',
      outcome: 'completed',
      reason: 'measured 3 of 3 beans',
      progress: { value: 3, goal: 3, unit: 'beans', source: 'measured' },
      totals: { steps: 5, modelCalls: 5, failedCalls: 0 },
      activation: 1,
    })
    const [graded] = await test.events(['task.graded'])
    expect(graded?.data).toMatchObject({ reward: 1, error: null, details: { exitCode: 0 } })
    // What a step brought is told when the next begins, under the step that brought it.
    const progressed = await test.events(['task.progressed'])
    expect(progressed.map(({ turn, step, data }) => [turn, step, (data as { value: number }).value])).toEqual([
      [null, null, 0],
      [1, 1, 1],
      [1, 2, 2],
      [1, 4, 3],
    ])
    const refused = (await test.events(['tool.finished'])).filter(({ step }) => step === 3)
    expect(refused[0]?.data).toMatchObject({
      outcome: 'error',
      output: expect.stringContaining('measured 2 of 3 beans'),
    })
    expect(kindsOf(await test.events(undefined, task)).slice(-4)).toEqual([
      'executor.stopped',
      'task.graded',
      'task.finished',
      'sandbox.destroyed',
    ])
    expect(await test.kernel.history.verify({ full: true })).toMatchObject({ ok: true })
  })
})
