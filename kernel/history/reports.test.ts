import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '../clock.ts'
import type { EventData, EventDraft } from '../wire/events.ts'
import { openTestHistory, type TestHistory } from './fixture.ts'

let now = 60_000_000
const clock: Clock = { now: () => now, monotonic: () => 0 }
let test: TestHistory
beforeAll(async () => {
  test = await openTestHistory({ clock })
})
afterAll(() => test.close())

const [r1, r2] = ['1'.repeat(64), '2'.repeat(64)] as const
type Header = Partial<Omit<EventDraft, 'kind' | 'data'>>

function call(
  usage: EventData<'model.called'>['usage'],
  costNanoUsd: number | null,
  header: Header,
  more: Partial<EventData<'model.called'>> = {},
) {
  const data: EventData<'model.called'> = {
    request: 1,
    parent: null,
    keptItems: 0,
    items: 3,
    api: 'responses',
    model: 'sim-apprentice',
    simulated: true,
    status: 'completed',
    attempts: 1,
    usage,
    usageSource: usage === null ? 'none' : 'reported',
    costNanoUsd,
    costReason: costNanoUsd === null ? 'no price' : null,
    priceVersion: null,
    durationMs: 1,
    firstByteMs: null,
    output: [],
    firstDifference: null,
    composition: { instructions: 0, tools: 0, messages: 0, toolResults: 0 },
    error: null,
    ...more,
  }
  return { kind: 'model.called', data, actor: 'kernel', agent: 'a', task: 'T-1', run: 'task', ...header } as const
}
const usage = (uncached: number, cacheRead = 0, output = 0) => ({
  uncached,
  cacheRead,
  cacheWrite: 0,
  output,
  reasoning: 0,
})
const at = (turn: number, step: number, revision: string = r1): Header => ({ turn, step, revision })
const activate = (activation: number, revision: string) =>
  ({
    kind: 'revision.activated',
    data: { activation, revision, previous: null, cause: 'seed', proposal: null, probationSteps: 0 },
    actor: 'kernel',
    agent: 'a',
    task: 'T-1',
  }) as const
const progress = (value: number, header: Header = {}) =>
  ({
    kind: 'task.progressed',
    data: { value, goal: 10, unit: 'rooms', source: 'measured' },
    actor: 'kernel',
    agent: 'a',
    task: 'T-1',
    ...header,
  }) as const
const tool = (name: string, args: string, header: Header = {}) =>
  ({
    kind: 'tool.called',
    data: { call: 'c', name, arguments: args, request: 1 },
    actor: 'kernel',
    agent: 'a',
    task: 'T-1',
    ...header,
  }) as const
const finished = (name: string, outcome: 'ok' | 'error' | 'interrupted', outputBytes: number) =>
  ({
    kind: 'tool.finished',
    data: { call: 'c', name, outcome, output: '', outputBytes, durationMs: 2.5 },
    actor: 'kernel',
    agent: 'a',
    task: 'T-1',
  }) as const

describe('reports', () => {
  beforeAll(async () => {
    const { history } = test
    await history.append([activate(1, r1), progress(1)])
    await history.append([
      call(usage(100, 0, 10), 1_000, at(1, 1)),
      tool('shell', '{"a":1}', at(1, 1)),
      tool('shell', '{"a":1}', at(1, 1)),
      progress(2, at(1, 1)),
    ])
    await history.append([call(usage(50, 100, 5), 700, at(1, 2)), call(null, null, at(1, 2), { status: 'failed' })])
    now += 3_600_000
    const broken = { index: 1, kind: 'tools', before: r1, after: r2 } as const
    await history.append([activate(2, r2)])
    await history.append([
      // The old generation is still draining.
      call(usage(1), 1, at(1, 3, r1), { status: 'aborted' }),
      call(usage(200, 0, 20), 2_000, at(2, 1, r2), { firstDifference: broken, model: 'other' }),
      tool('edit', '{}', at(2, 1, r2)),
      progress(5),
      finished('shell', 'ok', 100),
      finished('shell', 'error', 11),
      finished('edit', 'interrupted', 0),
    ])
    await history.append([call(usage(9_999), 9, { ...at(2, 2, r2), run: 'check' }, { model: 'check-model' })])
    await history.append([call(usage(7), 7, { agent: 'b', task: 'T-2', turn: 1, step: 1 })])
  })

  it('give each step its spend, calls, tools, activation and progress', async () => {
    const steps = await test.history.steps('T-1')
    expect(
      steps.map((row) => [
        row.turn,
        row.step,
        row.activation,
        row.uncached,
        row.cacheRead,
        row.output,
        row.modelCalls,
        row.failedCalls,
        row.toolCalls,
        row.costNanoUsd,
        row.progress,
      ]),
    ).toEqual([
      [1, 1, 1, 100, 0, 10, 1, 0, 2, 1_000, 2],
      [1, 2, 1, 50, 100, 5, 2, 1, 0, null, 2],
      [1, 3, 1, 1, 0, 0, 1, 1, 0, 1, 2],
      [2, 1, 2, 200, 0, 20, 1, 0, 1, 2_000, 5],
    ])
    expect(steps.map(({ revision }) => revision)).toEqual([r1, r1, r1, r2])
    expect(steps.map(({ cacheBreak }) => cacheBreak)).toEqual([null, null, null, { seq: 11, index: 1, kind: 'tools' }])
    expect(await test.history.steps('T-1', { afterTurn: 1, afterStep: 2 })).toEqual(steps.slice(2))
    expect(await test.history.steps('T-1', { afterTurn: 1 })).toEqual(steps.slice(3))
  })

  it('give each activation its steps, spend and progress; one unknown price makes the sum unknown', async () => {
    expect(await test.history.activations('T-1')).toMatchObject([
      {
        activation: 1,
        revision: r1,
        steps: 3,
        modelCalls: 4,
        failedCalls: 2,
        uncached: 151,
        costNanoUsd: null,
        progressFrom: 1,
        progressTo: 2,
      },
      {
        activation: 2,
        revision: r2,
        steps: 1,
        modelCalls: 1,
        failedCalls: 0,
        uncached: 200,
        costNanoUsd: 2_000,
        progressFrom: 2,
        progressTo: 5,
      },
    ])
  })

  it('total a task, an agent, everything, and since a time; what a check spent is spent, and no step', async () => {
    const { history } = test
    expect(await history.totals({ task: 'T-1' })).toMatchObject({
      steps: 4,
      modelCalls: 6,
      failedCalls: 2,
      uncached: 100 + 50 + 1 + 200 + 9_999,
      costNanoUsd: null,
      progress: { value: 5, goal: 10, unit: 'rooms', source: 'measured' },
    })
    expect(await history.totals({ agent: 'b' })).toMatchObject({
      steps: 1,
      modelCalls: 1,
      costNanoUsd: 7,
      progress: null,
    })
    expect(await history.totals({ sinceMs: now })).toMatchObject({ steps: 3, modelCalls: 4, costNanoUsd: 2_017 })
    expect(await history.totals({ task: 'T-9' })).toMatchObject({
      steps: 0,
      modelCalls: 0,
      costNanoUsd: 0,
      progress: null,
    })
    expect(await history.totals({})).toMatchObject({ modelCalls: 7 })
  })

  it('sum by model and by tool, and name calls that were made again', async () => {
    const { history } = test
    expect(
      (await history.byModel({ agent: 'a' })).map(({ model, calls, failed, costNanoUsd }) => [
        model,
        calls,
        failed,
        costNanoUsd,
      ]),
    ).toEqual([
      ['sim-apprentice', 4, 2, null],
      ['check-model', 1, 0, 9],
      ['other', 1, 0, 2_000],
    ])
    expect(await history.tools({ task: 'T-1' })).toEqual([
      { name: 'shell', calls: 2, errors: 1, interrupted: 0, outputBytes: 111, durationMs: 5 },
      { name: 'edit', calls: 1, errors: 0, interrupted: 1, outputBytes: 0, durationMs: 2.5 },
    ])
    expect(await history.repeatedCalls('T-1', 10)).toEqual([{ name: 'shell', arguments: '{"a":1}', count: 2 }])
    expect(await history.cacheBreaks('T-1', 10)).toEqual([
      { seq: 11, step: 1, index: 1, kind: 'tools', costNanoUsd: 2_000 },
    ])
  })

  it('are the same after a restart, and untouched by a batch that was refused', async () => {
    const read = async () => [
      await test.history.steps('T-1'),
      await test.history.activations('T-1'),
      await test.history.totals({}),
      await test.history.tools({}),
    ]
    const before = await read()
    const missing = { name: 'x', version: 1, hash: 'f'.repeat(64), sizeBytes: 1 }
    const refused = test.history.append([
      call(usage(1_000), 1_000, at(9, 9)),
      tool('shell', '{}', at(9, 9)),
      { kind: 'artifact.written', data: missing, actor: 'kernel', agent: 'a' },
    ])
    await expect(refused).rejects.toMatchObject({ code: 'invalid' })
    expect(await read()).toEqual(before)
    await test.reopen()
    expect(await read()).toEqual(before)
  })
})
