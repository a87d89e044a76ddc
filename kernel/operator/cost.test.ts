import { call, createRouterClient } from '@orpc/server'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestHistory } from '../history/fixture.ts'
import { boxMissing, complete, openTestKernel, shell, startSimulator, type TestKernel } from '../testing/kernel.ts'
import { draft, type Event, type EventData } from '../wire/events.ts'
import { causeOf } from './cost-causes.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

describe('the cause of a cache break', () => {
  const [r1, r2] = ['1'.repeat(64), '2'.repeat(64)] as const
  const broken = {
    ...{ seq: 100, agent: 'a', task: 'T-1', kind: 'tools', what: 'tools', activation: 2, since: 0, model: 'm' },
    ...{ sinceRevision: r1, revision: r1, idleMs: 0 },
  } as const
  const of = { actor: 'kernel', agent: 'a', task: 'T-1' } as const
  const activated = (cause: EventData<'revision.activated'>['cause'], proposal: string | null) =>
    draft('revision.activated', { activation: 2, revision: r2, previous: r1, cause, proposal, probationSteps: 0 }, of)
  const summary = draft('message.appended', { role: 'summary', text: 'So far all is well.', keepFrom: 3 }, of)
  const quarantined = draft(
    'tool.quarantined',
    { tool: 'fetch', reason: 'it phones home' },
    { actor: 'operator', agent: 'a' },
  )

  it.each([
    [
      'revision',
      [activated('proposal', 'P-7')],
      { revision: r2 },
      'r2, which P-7 brought sends other tool definitions',
    ],
    ['revision', [activated('rollback', null)], { revision: r2 }, 'r2, a rollback sends other tool definitions'],
    ['setting', [quarantined], {}, 'the tool fetch was put in quarantine'],
    [
      'memory',
      [summary],
      { kind: 'item', what: 'memory' },
      'the agent put a summary in the place of its earlier steps',
    ],
    [
      'model',
      [],
      { kind: 'model', what: null, model: 'n' },
      'the request went to n, another model than the one before',
    ],
    [
      'policy',
      [],
      { kind: 'instructions', what: 'instructions' },
      'r2 itself sent other instructions than in the call before',
    ],
    [
      'idle',
      [],
      { kind: 'none', what: null, idleMs: 660_000 },
      'nothing differed; the task was idle for 11 min, after which providers forget',
    ],
    [
      'unknown',
      [],
      { kind: 'none', what: null, idleMs: 2_000 },
      'nothing differed; why the provider read less is not known',
    ],
  ] as const)('is %s, in plain words: %#', async (cause, drafts, more, because) => {
    const test = await openTestHistory()
    try {
      const events = drafts.length === 0 ? [] : await test.history.append([...drafts])
      const found = await causeOf(test.history, { ...broken, ...more } as Parameters<typeof causeOf>[1])
      expect(found).toMatchObject({ cause, because, event: events[0]?.seq ?? null })
      expect(found.proposal).toBe(because.includes('P-7') ? 'P-7' : null)
    } finally {
      await test.close()
    }
  })
})

const simulator = startSimulator()
afterAll(() => simulator.stop())

describe.skipIf(boxMissing)('the costs of a whole run', () => {
  let test: TestKernel
  beforeEach(async () => {
    test = await openTestKernel(simulator)
  })
  afterEach(() => test.close())
  const desk = () => createRouterClient(test.kernel.operator, { context: { via: 'socket' } })

  it('are those of its report and of the sum of its calls, in every scope; each call made again is told', async () => {
    const long = 'seq 1 900 | tr "\\n" " "'
    const pack = test.pack('beans', {
      goal: 2,
      script: [shell(long), shell(long), shell('count add'), shell('count add'), complete()],
    })
    const { task, agent } = await test.kernel.tasks.run({ pack, model: 'sim-script', budgetNanoUsd: 3_000_000_000 })
    await test.kernel.tasks.ended(task)
    const calls = (await test.events(['model.called'])) as Event<'model.called'>[]
    const cost = calls.reduce((sum, { data }) => sum + (data.costNanoUsd ?? 0), 0)
    expect(cost).toBeGreaterThan(0)
    const report = await desk().tasks.report({ task })
    const scopes = [{ of: 'task', task }, { of: 'agent', agent }, { of: 'today' }, { of: 'all' }] as const
    for (const scope of scopes) {
      const { total, byModel, byTask, byRevision, byTool, series } = await desk().cost.report({ scope })
      const { uncached, cacheRead, cacheWrite, output, costNanoUsd, calls: made, failed } = report.total
      expect(total).toMatchObject({ uncached, cacheRead, cacheWrite, output, costNanoUsd, calls: made, failed })
      expect(total).toMatchObject({ costNanoUsd: cost, simulated: calls.length, unpriced: 0, cacheUnreported: 0 })
      for (const rows of [byModel, byTask, byRevision, byTool])
        expect(rows.reduce((sum, row) => sum + (row.costNanoUsd ?? 0), 0)).toBe(cost)
      expect(series.points.reduce((sum, point) => sum + point.knownNanoUsd, 0)).toBe(cost)
      expect(byRevision).toMatchObject([{ agent, activation: 1 }])
    }
    const ofTask = await desk().cost.report({ scope: { of: 'task', task } })
    expect(ofTask.byTool.map(({ name, toolCalls }) => [name, toolCalls]).sort()).toEqual([
      ['complete', 1],
      ['shell', 4],
    ])
    // Twice the long command, twice the count: one of each was a call made again.
    expect(ofTask.repeats.map(({ calls: times }) => times)).toEqual([2, 2])
    expect(ofTask.caps[0]).toMatchObject({ of: 'task', limitNanoUsd: 3_000_000_000, spentNanoUsd: cost })
    const counted = calls.map(({ data }) => data.composition.instructions)
    expect(ofTask.context.blocks[0]).toMatchObject({
      block: 'instructions',
      tokens: counted.reduce((sum, tokens) => sum + tokens, 0),
      latest: counted.at(-1),
      rentNanoUsd: expect.toSatisfy((rent) => rent > 0 && rent < cost),
    })
    const turn = await desk().cost.report({ scope: { of: 'turn', task, turn: 1 } })
    expect(turn.total.calls).toBe(calls.filter((event) => event.turn === 1).length)
    await expect(desk().cost.report({ scope: { of: 'task', task: 'T-99' } })).rejects.toMatchObject({
      code: 'not-found',
    })
    await expect(desk().cost.difference({ seq: 1 })).rejects.toMatchObject({ code: 'not-found' })
  }, 120_000)

  it('have a price of each model with its date, and say which is the operator’s own', async () => {
    const price = { name: 'gpt-5', baseUrl: 'https://models.example/v1', input: 1.25, cachedInput: 0.125, output: 10 }
    await call(test.kernel.operator.prices.set, price, { context: { via: 'socket' } })
    const { rows } = await desk().cost.prices()
    expect(rows).toEqual([
      expect.objectContaining({
        ...{ model: 'gpt-5', baseUrl: price.baseUrl, input: 1.25, cachedInput: 0.125, cacheWrite: null, output: 10 },
        ...{ since: new Date().toISOString().slice(0, 10), isOverride: true, simulated: false, reason: null },
      }),
    ])
  })
})
