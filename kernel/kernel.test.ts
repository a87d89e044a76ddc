// Whole runs on the real kernel: real history, real boxes, the starting policy, and the simulator as the model.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openKernel } from './kernel.ts'
import {
  boxMissing,
  complete,
  openTestKernel,
  shell,
  startSimulator,
  type TestKernel,
  testConfig,
} from './testing/kernel.ts'
import type { Event } from './wire/events.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const simulator = startSimulator()
afterAll(() => simulator.stop())

let test: TestKernel
beforeEach(async () => {
  // A turn has one step, so that whatever is asked for between turns comes soon.
  test = await openTestKernel(simulator, { turnLimits: { maxSteps: 1, maxMs: 60_000 } })
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
      [2, 2, 2],
      [4, 4, 3],
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

  it('is told what the operator says, waits for an answer, and is paused and resumed at a step', async () => {
    const ask = { toolCalls: [{ name: 'ask', arguments: { question: 'Which beans?' } }] }
    const pack = test.pack('talk', { script: [ask, shell('true'), shell('true'), complete()] })
    const { task } = await test.kernel.tasks.run({ pack, model })
    const { tasks } = test.kernel
    await expect.poll(async () => (await tasks.get(task)).state, { timeout: 50_000 }).toBe('waiting')
    await tasks.steer(task, 'be quick about it')
    await tasks.pause(task, 'operator', 'a moment')
    await expect.poll(async () => (await tasks.get(task)).state, { timeout: 50_000 }).toBe('paused')
    await tasks.answer(task, 'the red ones')
    await tasks.resume(task)
    expect(await tasks.ended(task)).toMatchObject({ outcome: 'claimed', reason: 'all done', progress: null })
    const told = await lastPrompt(task)
    expect(told).toContain('be quick about it')
    expect(told).toContain('the red ones')
  })

  it('is not offered to propose where that is off', async () => {
    const pack = test.pack('off', { script: [complete()] })
    const off = await test.kernel.tasks.run({ pack, model, propose: false })
    const on = await test.kernel.tasks.run({ pack, model })
    await Promise.all([test.kernel.tasks.ended(off.task), test.kernel.tasks.ended(on.task)])
    expect(await lastPrompt(off.task)).not.toContain('"name":"propose"')
    expect(await lastPrompt(on.task)).toContain('"name":"propose"')
  })

  it('goes on beside another agent’s, and its agent takes no second', async () => {
    const script = [shell('count add'), shell('count add'), complete()]
    const pack = test.pack('beans', { goal: 2, script })
    const { tasks } = test.kernel
    const [one, two, refused] = await Promise.all([
      tasks.run({ pack, model, agent: 'one' }),
      tasks.run({ pack, model, agent: 'two' }),
      tasks.run({ pack, model, agent: 'one' }).catch((error: unknown) => error),
    ])
    expect([one.task, two.task]).toEqual(['T-1', 'T-2'])
    expect(refused).toMatchObject({ code: 'conflict', message: expect.stringContaining('T-1') })
    for (const { task } of [one, two])
      expect(await tasks.ended(task)).toMatchObject({ outcome: 'completed', progress: { value: 2 } })
  })

  it.each([
    ['steps', { maxSteps: 1 }, 1],
    ['tokens', { budgetTokens: 50 }, 0],
  ] as const)('out of %s ends as budget, with nothing sent beyond it', async (budget, limits, calls) => {
    const pack = test.pack('long', { goal: 9, script: [shell('count add'), shell('count add'), shell('count add')] })
    const { task } = await test.kernel.tasks.run({ pack, model, ...limits })
    expect(await test.kernel.tasks.ended(task)).toMatchObject({ outcome: 'budget', totals: { modelCalls: calls } })
    expect(await test.events(['model.attempted'])).toHaveLength(calls)
    const [graded] = await test.events(['task.graded'])
    expect(graded?.data).toMatchObject({ reward: calls === 1 ? expect.closeTo(1 / 9, 4) : 0 })
    if (budget === 'tokens')
      expect((await test.events(['budget.reached']))[0]?.data).toMatchObject({ budget, limit: 50 })
  })

  it('goes on in a world that dies or talks nonsense, from what that world had acknowledged', async () => {
    const words = ['add', 'die', 'add', 'nonsense', 'add']
    const pack = test.pack('tired', { goal: 3, script: [...words.map((word) => shell(`count ${word}`)), complete()] })
    const { task } = await test.kernel.tasks.run({ pack, model })
    expect(await test.kernel.tasks.ended(task)).toMatchObject({ outcome: 'completed', progress: { value: 3 } })
  })

  it('outlives its pack and a quit, which is no recovery; grades that cannot be had say why', async () => {
    const wait = shell('until [ -e /tmp/go ]; do sleep 0.05; done')
    const pack = test.pack('gone', {
      goal: 1,
      script: [shell('count add'), wait, shell('touch /tmp/go'), complete()],
      grader: 'echo "I give up" >&2; exit 3',
    })
    const { task } = await test.kernel.tasks.run({ pack, model })
    await test.until((event) => event.kind === 'tool.called' && event.step === 2)
    rmSync(join(test.dataDir, 'packs/gone'), { recursive: true })
    await test.restart()
    expect((await test.kernel.status()).recovered).toBeNull()
    expect(await test.kernel.tasks.ended(task)).toMatchObject({ outcome: 'completed' })
    const [graded] = await test.events(['task.graded'])
    expect(graded?.data).toMatchObject({
      reward: null,
      details: { exitCode: 3, output: 'I give up\n' },
      error: 'the grader wrote neither reward.txt nor reward.json',
    })
  })
})

/** Instructions, tools and items of the task's last request, as JSON. */
async function lastPrompt(task: string): Promise<string> {
  const last = (await test.events(['model.called'], task)).at(-1)
  if (last?.kind !== 'model.called') throw new Error('no model was called')
  const { items } = await test.kernel.history.getRequest(last.data.request)
  const texts = await Promise.all(items.map(({ hash }) => test.kernel.history.getBlob(hash)))
  return texts.join('\n')
}

describe('a kernel', () => {
  it('that cannot be put together lets go of its data directory', async () => {
    const config = { resources: { ...testConfig(test.dataDir, simulator).resources, wire: '/nowhere' } }
    const dataDir = mkdtempSync(join(tmpdir(), 'exodesk-kernel-'))
    await expect(openTestKernel(simulator, { ...config, dataDir })).rejects.toThrow('/nowhere')
    const after = await openTestKernel(simulator, { dataDir })
    expect((await after.kernel.status()).verified).toMatchObject({ ok: true })
    await after.close()
  })

  it('refuses a model that it does not know how to reach before anything is written', async () => {
    const pack = test.pack('beans', { script: [] })
    const run = (more: object) => test.kernel.tasks.run({ pack, ...more })
    await expect(run({ model: 'sim-aprentice' })).rejects.toMatchObject({ code: 'invalid' })
    await expect(run({ model: 'm', baseUrl: 'nowhere' })).rejects.toMatchObject({ code: 'invalid' })
    await expect(run({ model: 'm' })).rejects.toThrow('OPENAI_API_KEY holds no key')
    await expect(run({ pack: 'none' })).rejects.toMatchObject({ code: 'not-found' })
    expect(await test.events(['task.created', 'agent.created'])).toEqual([])
  })
})

describe('a data directory whose boxes folder is none', () => {
  it('is refused in plain words, and is not held on to', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'exodesk-kernel-'))
    writeFileSync(join(dataDir, 'boxes'), '')
    await expect(openKernel(testConfig(dataDir, simulator))).rejects.toThrow(/boxes must be a folder/)
    rmSync(join(dataDir, 'boxes'))
    const kernel = await openKernel(testConfig(dataDir, simulator))
    await kernel.close()
    rmSync(dataDir, { recursive: true })
  })
})
