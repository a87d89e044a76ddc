import { afterEach, describe, expect, it } from 'vitest'
import { answer, asks, openTestExecutors, says, type TestExecutors } from '../testing/executors.ts'
import type { Event, EventData, EventKind } from '../wire/events.ts'

let test: TestExecutors
afterEach(() => test.close())

const turn = { turn: 1, maxSteps: 5, maxMs: 60_000 }
const dataOf = <K extends EventKind>(events: Event[], kind: K): EventData<K>[] =>
  events.filter((event) => event.kind === kind).map(({ data }) => data as EventData<K>)

describe('a generation', () => {
  it('runs a turn whose tool calls are derived from what passes through the kernel', async () => {
    test = await openTestExecutors({
      model: (_, nth) =>
        nth === 1 ? asks(['c1', 'shell', { command: 'echo hello > a.txt; cat a.txt' }]) : says('Done.'),
    })
    const generation = await test.start('worker')
    expect(await generation.runTurn(turn)).toEqual({ outcome: 'completed', reason: null, steps: 2 })
    await generation.stop('enough')
    expect(await generation.ended).toEqual({ kind: 'stopped', reason: 'enough' })
    expect(await test.kinds()).toEqual([
      'executor.started',
      'turn.started',
      'model.attempted',
      'model.called',
      'tool.called',
      'credential.used',
      'sandbox.executed',
      'tool.finished',
      'model.attempted',
      'model.called',
      'credential.used',
      'turn.ended',
      'executor.stopped',
    ])
    const events = await test.events()
    expect(dataOf(events, 'tool.finished')).toMatchObject([
      { call: 'c1', name: 'shell', outcome: 'ok', output: 'hello\n' },
    ])
    expect(dataOf(events, 'sandbox.executed')).toMatchObject([{ op: 'exec', call: 'c1', exitCode: 0, bytes: 6 }])
    const [first, second] = dataOf(events, 'model.called')
    expect(first).toMatchObject({ parent: null, keptItems: 0, items: 3, firstDifference: null })
    expect(second).toMatchObject({ parent: first?.request, keptItems: 3, items: 5, firstDifference: null })
    expect(second?.composition.toolResults).toBeGreaterThan(0)
    const finished = events.find(({ kind }) => kind === 'tool.finished')
    expect(finished).toMatchObject({
      agent: 'apprentice',
      task: 'T-1',
      turn: 1,
      step: 1,
      generation: 1,
      actor: 'kernel',
    })
    const steps = await test.open.history.steps('T-1')
    expect(steps.map(({ step, toolCalls, modelCalls }) => ({ step, toolCalls, modelCalls }))).toEqual([
      { step: 1, toolCalls: 1, modelCalls: 1 },
      { step: 2, toolCalls: 0, modelCalls: 1 },
    ])
  })

  it('hands the outputs of the last step over at a drain, so that nothing is left open for the successor', async () => {
    let reached = (): void => undefined
    const second = new Promise<void>((resolve) => {
      reached = resolve
    })
    test = await openTestExecutors({
      model: (_, nth) => {
        if (nth === 2) reached()
        return asks([`c${nth}`, 'shell', { command: 'sleep 0.3; echo out' }])
      },
    })
    const generation = await test.start('worker')
    const end = generation.runTurn(turn)
    await second
    const drained = await generation.drain('replacement', 10_000)
    expect(drained.interrupted).toBe(false)
    expect(await end).toMatchObject({ outcome: 'yielded', steps: 2 })
    await generation.stop('replaced')
    const finished = dataOf(await test.events(), 'tool.finished')
    expect(finished.map(({ call, outcome }) => `${call} ${outcome}`)).toEqual(['c1 ok', 'c2 ok'])
    expect((await test.kinds()).slice(-3)).toEqual(['turn.ended', 'executor.drained', 'executor.stopped'])
  })

  it('refuses a further step after a drain, and ends as yielded even where the policy calls that a failure', async () => {
    const call = ['model.call', { api: 'responses', body: { model: 'test-model', input: 'x' } }]
    let generationOf: { drain(reason: 'pause', ms: number): Promise<unknown> } | null = null
    let drained: Promise<unknown> | undefined
    test = await openTestExecutors({
      model: async () => {
        drained ??= generationOf?.drain('pause', 10_000)
        return says('x')
      },
    })
    const generation = await test.start('script', { instruction: [call, call] })
    generationOf = generation
    const end = await generation.runTurn(turn)
    await drained
    expect(end).toMatchObject({ outcome: 'yielded', steps: 1 })
    expect(JSON.parse(end.reason ?? '')).toMatchObject([{ status: 'completed' }, { refused: 'cancelled' }])
  })

  it('closes an open tool call as interrupted when the process crashes, and says what stderr said', async () => {
    test = await openTestExecutors({ model: () => asks(['c1', 'shell', { command: 'echo begun' }]) })
    const generation = await test.start('crashes')
    const end = await generation.runTurn(turn)
    expect(end).toEqual({ outcome: 'interrupted', reason: 'the executor crashed (exit code 7)', steps: 1 })
    expect(await generation.ended).toMatchObject({ kind: 'crashed', exitCode: 7 })
    expect((await test.kinds()).slice(-3)).toEqual(['executor.crashed', 'tool.finished', 'turn.ended'])
    const events = await test.events()
    expect(dataOf(events, 'tool.finished')).toMatchObject([
      { call: 'c1', outcome: 'interrupted', output: 'interrupted: effect unknown' },
    ])
    expect(dataOf(events, 'executor.crashed')[0]?.stderr).toContain('TypeError: policy is not a function')
    expect(await generation.runTurn({ ...turn, turn: 2 })).toMatchObject({ outcome: 'interrupted', steps: 0 })
  })

  it('ends a turn that throws as failed and goes on', async () => {
    test = await openTestExecutors()
    const generation = await test.start('throws')
    const end = { outcome: 'failed', reason: 'loop.ts: context is undefined', steps: 0 }
    expect(await generation.runTurn(turn)).toEqual(end)
    expect(await generation.runTurn({ ...turn, turn: 2 })).toEqual(end)
  })

  it('[R9] keeps noise on stdout for the developer, and gives up on a process that writes nothing else', async () => {
    test = await openTestExecutors()
    const generation = await test.start('noisy')
    expect(await generation.runTurn(turn)).toMatchObject({ outcome: 'yielded' })
    expect(await generation.runTurn({ ...turn, turn: 2 })).toMatchObject({ outcome: 'interrupted' })
    const end = await generation.ended
    expect(end).toMatchObject({ kind: 'crashed' })
    expect(end.kind === 'crashed' && end.stderr).toMatch(/50 protocol errors.*[\s\S]*debug: line/)
  })

  it('ends a turn as budget when the steps are used up, and records the limit once', async () => {
    const call = ['model.call', { api: 'responses', body: { model: 'test-model', input: 'x' } }]
    test = await openTestExecutors()
    const generation = await test.start('script', { instruction: [call, call, call], maxSteps: 1 })
    expect(await generation.runTurn(turn)).toMatchObject({ outcome: 'budget', steps: 1 })
    expect(dataOf(await test.events(), 'budget.reached')).toEqual([{ budget: 'steps', limit: 1, used: 1 }])
  })

  it('tells the executor of a failed answer, and keeps the attempt', async () => {
    const call = ['model.call', { api: 'responses', body: { model: 'test-model', input: 'x' } }]
    const error = { code: 'unavailable' as const, message: 'the provider is overloaded' }
    test = await openTestExecutors({
      model: () => answer([], { status: 'failed', response: null, usage: null, usageSource: 'none', error }),
    })
    const generation = await test.start('script', { instruction: [call] })
    const end = await generation.runTurn(turn)
    expect(JSON.parse(end.reason ?? '')).toEqual([{ refused: 'unavailable', message: 'the provider is overloaded' }])
    expect(dataOf(await test.events(), 'model.called')).toMatchObject([{ status: 'failed', error: error.message }])
    expect(dataOf(await test.events(), 'model.attempted')).toHaveLength(1)
  })
})

describe('the wall of authorisation', () => {
  it('lets no tree start that no event has authorised for this agent', async () => {
    test = await openTestExecutors()
    const generation = await test.start('worker')
    await generation.stop('enough')
    const revision = await test.put('idle')
    const spec = {
      agent: 'apprentice',
      run: 'task',
      revision,
      activation: 1,
      task: (generation as never as { spec: { task: never } }).spec.task,
    } as const
    await expect(test.executors.start(spec)).rejects.toMatchObject({ code: 'forbidden' })
    const other = { ...spec, revision: generation.revision, agent: 'another' }
    await expect(test.executors.start(other)).rejects.toMatchObject({ code: 'forbidden' })
  })
})
