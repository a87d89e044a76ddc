import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '../clock.ts'
import { costs } from '../store/migrations/0006-costs.ts'
import { deriveCosts } from '../store/migrations/0006-derive.ts'
import { openPlain } from '../store/sqlite.ts'
import type { EventData, EventDraft } from '../wire/events.ts'
import { openTestHistory, type TestHistory } from './fixture.ts'
import type { CostRows } from './history.ts'

const noon = 1_800_000_000_000
let now = noon
const clock: Clock = { now: () => now, monotonic: () => 0 }
let test: TestHistory
beforeAll(async () => {
  test = await openTestHistory({ clock })
})
afterAll(() => test.close())

const [r1, r2] = ['1'.repeat(64), '2'.repeat(64)] as const
/** USD 1 / 0.1 / 1.25 / 8 per million tokens. */
const prices = { uncached: 1000, cacheRead: 100, cacheWrite: 1250, output: 8000 }
const limits = { rows: 50, points: 100 }
type Called = EventData<'model.called'>
type Header = Partial<Omit<EventDraft, 'kind' | 'data'>>

const used = (uncached: number, cacheRead = 0, output = 0, cacheWrite = 0) => ({
  ...{ uncached, cacheRead, cacheWrite, output, reasoning: 0 },
})

function called(usage: Called['usage'], header: Header, more: Partial<Called> = {}) {
  const cost =
    usage === null ? 0 : usage.uncached * 1000 + usage.cacheRead * 100 + usage.cacheWrite * 1250 + usage.output * 8000
  const data: Called = {
    ...{ request: 1, parent: null, keptItems: 0, items: 3, api: 'responses', model: 'm', simulated: true },
    ...{ status: 'completed', attempts: 1, usage, usageSource: usage === null ? 'none' : 'reported' },
    ...{ costNanoUsd: cost, costReason: null, priceVersion: 'v', prices, cacheReported: true },
    ...{ durationMs: 0, firstByteMs: null, output: [], firstDifference: null },
    composition: { instructions: 0, tools: 0, messages: 0, toolResults: 0, memory: 0 },
    error: null,
    ...more,
  }
  return { kind: 'model.called', data, actor: 'kernel', agent: 'a', task: 'T-1', run: 'task', ...header } as const
}
const tool = (name: string, args: string, header: Header) =>
  ({
    kind: 'tool.called',
    data: { call: 'c', name, arguments: args, request: 1 },
    actor: 'kernel',
    agent: 'a',
    task: 'T-1',
    run: 'task',
    ...header,
  }) as const
const activate = (activation: number, revision: string, agent = 'a') =>
  ({
    kind: 'revision.activated',
    data: { activation, revision, previous: null, cause: 'seed', proposal: null, probationSteps: 0 },
    actor: 'kernel',
    agent,
  }) as const
const at = (turn: number, step: number, revision: string = r1): Header => ({ turn, step, revision })
const differs = { index: 1, kind: 'tools', what: 'tools', before: r1, after: r2 } as const
const read = (filter: Parameters<typeof test.history.cost>[0]) => test.history.cost(filter, limits)
const ofTask = () => read({ of: 'task', task: 'T-1' })

describe('costs', () => {
  beforeAll(async () => {
    const { history } = test
    await history.append([activate(1, r1)])
    // A prompt of 4,000 tokens, of which 1,000 are instructions and 600 tools as counted; two calls of one tool, one of another.
    const composition = { instructions: 1000, tools: 600, memory: 0, messages: 2400, toolResults: 0 }
    await history.append([
      called(used(4000, 0, 100), at(1, 1), { composition }),
      tool('shell', '{"a":1}', at(1, 1)),
      tool('shell', '{"a":2}', at(1, 1)),
      tool('read', '{}', at(1, 1)),
    ])
    // The cache reads 3,968 of 5,000: the counted parts add up to 2,500, so that each counted token is two metered ones.
    await history.append([
      called(used(1032, 3968, 50), at(1, 2), {
        composition: { instructions: 1000, tools: 600, memory: 400, messages: 500, toolResults: 0 },
      }),
      tool('shell', '{"a":1}', at(1, 2)),
    ])
    now += 3_600_000
    await history.append([activate(2, r2)])
    // A new tool stands before everything that was kept: of 5,000 tokens none but 1,024 are read.
    await history.append([
      called(used(4476, 1024, 20), at(2, 1, r2), { firstDifference: differs, composition }),
      tool('shell', '{"a":1}', at(2, 1, r2)),
    ])
    await history.append([
      called(null, at(2, 2, r2), { status: 'failed', error: 'the provider ended' }),
      called(
        used(10, 0, 1),
        { ...at(2, 3, r2), run: 'check' },
        { model: 'reviewer', costNanoUsd: null, costReason: 'no price' },
      ),
      called(used(7), { agent: 'b', task: 'T-2', turn: 1, step: 1 }, { cacheReported: false }),
    ])
  })

  it('total each scope: a turn, a task, an agent, a time, everything; an unknown price is counted, never added', async () => {
    const turn = await read({ of: 'turn', task: 'T-1', turn: 1 })
    // 4,000 × 1,000 + 100 × 8,000, and 1,032 × 1,000 + 3,968 × 100 + 50 × 8,000.
    expect(turn.total).toMatchObject({ uncached: 5032, cacheRead: 3968, output: 150, calls: 2, turns: 1 })
    expect(turn.total.knownNanoUsd).toBe(4_800_000 + 1_828_800)
    const { total } = await ofTask()
    expect(total).toMatchObject({ calls: 5, failed: 1, unpriced: 1, estimated: 1, turns: 2, simulated: 5 })
    expect(total.knownNanoUsd).toBe(4_800_000 + 1_828_800 + (4_476_000 + 102_400 + 160_000))
    expect((await read({ of: 'agent', agent: 'b' })).total).toMatchObject({ calls: 1, uncached: 7, cacheUnreported: 1 })
    expect((await read({ of: 'time', fromMs: now })).total).toMatchObject({ calls: 4, uncached: 4476 + 10 + 7 })
    expect((await read({ of: 'time', fromMs: 0 })).total).toMatchObject({ calls: 6, turns: 3 })
    expect((await read({ of: 'task', task: 'T-9' })).total).toMatchObject({ calls: 0, knownNanoUsd: 0, unpriced: 0 })
  })

  it('split a step’s spend in equal parts among its tool calls, to the last unit', async () => {
    const { byTool } = await read({ of: 'turn', task: 'T-1', turn: 1 })
    // Step 1 cost 4,800,000 for two shells and a read; step 2 1,828,800 for a shell.
    expect(
      byTool.map(({ name, toolCalls, knownNanoUsd, uncached }) => [name, toolCalls, knownNanoUsd, uncached]),
    ).toEqual([
      ['shell', 3, 3_200_000 + 1_828_800, 4000 - 1333 + 1032],
      ['read', 1, 1_600_000, 1333],
    ])
    const all = (await ofTask()).byTool
    expect(all.map(({ name, purpose, toolCalls }) => [name, purpose, toolCalls])).toEqual([
      ['shell', 'task', 4],
      ['read', 'task', 1],
      ['', 'check', 0],
    ])
    // The failed call used nothing and led to no tool: it is in no part.
  })

  it('name each revision, task and model', async () => {
    const { byRevision, byModel, byTask } = await read({ of: 'time', fromMs: 0 })
    expect(byRevision.map(({ agent, activation, calls }) => [agent, activation, calls])).toEqual([
      ['a', 1, 2],
      ['a', 2, 2],
      ['b', 0, 1],
      ['a', 0, 1],
    ])
    expect(byModel.map(({ model, calls, unpriced }) => [model, calls, unpriced])).toEqual([
      ['m', 5, 0],
      ['reviewer', 1, 1],
    ])
    expect(byTask.map(({ agent, task, calls }) => [agent, task, calls])).toEqual([
      ['a', 'T-1', 5],
      ['b', 'T-2', 1],
    ])
  })

  it('say where the cache broke, after which call, and what the miss cost', async () => {
    const { breaks, total } = await ofTask()
    // Of the 5,000 tokens before, 1,024 came: 3,976 were charged 1,000 in place of 100.
    expect(breaks).toEqual([
      expect.objectContaining({
        ...{ item: 1, kind: 'tools', what: 'tools', turn: 2, step: 1, activation: 2, revision: r2, sinceRevision: r1 },
        ...{ missed: 3976, missedNanoUsd: 3976 * 900, idleMs: 3_600_000, costNanoUsd: 4_738_400 },
      }),
    ])
    expect(total).toMatchObject({ breaks: 1, missed: 3976, missedNanoUsd: 3_578_400, missedUnknown: 0 })
    expect((await read({ of: 'turn', task: 'T-1', turn: 1 })).breaks).toEqual([])
    expect(await test.history.costBreak(breaks[0]?.seq ?? 0)).toEqual({ before: r1, after: r2 })
    expect(await test.history.costBreak(1)).toBeNull()
  })

  it('tell the rent of what every request carries, at what its place in the prompt was charged', async () => {
    const { total } = await read({ of: 'turn', task: 'T-1', turn: 1 })
    // Step 1 charges all of it in full. In step 2 instructions are 2,000 metered tokens and tools 1,200, both within the
    // 3,968 that were read; memory is 800, of which 768 are.
    expect(total.rentInstructions).toBe(1_000_000 + 2000 * 100)
    expect(total.rentTools).toBe(600_000 + 1200 * 100)
    expect(total.rentMemory).toBe(768 * 100 + 32 * 1000)
    expect(total).toMatchObject({ rentUnknown: 0, instructions: 2000, tools: 1200, memory: 400, messages: 2900 })
  })

  it('know the calls that a task made again, and what their steps cost', async () => {
    expect((await ofTask()).repeats).toEqual([
      {
        ...{ task: 'T-1', name: 'shell', arguments: '{"a":1}', calls: 3, unpriced: 0 },
        ...{ tokens: 1032 + 3968 + 50 + 4476 + 1024 + 20, knownNanoUsd: 1_828_800 + 4_738_400 },
      },
    ])
    expect((await read({ of: 'turn', task: 'T-1', turn: 2 })).repeats).toMatchObject([{ calls: 1, tokens: 5520 }])
    expect((await read({ of: 'turn', task: 'T-2', turn: 1 })).repeats).toEqual([])
  })

  it('list what failed, has no price, or was not reported; and give points by step or by time', async () => {
    const { troubled, series } = await ofTask()
    expect(troubled).toHaveLength(2)
    expect(series).toMatchObject({ unit: 'step', size: 1 })
    expect(
      series.points.map(({ from, turn, step, activation, breaks }) => [from, turn, step, activation, breaks]),
    ).toEqual([
      [1, 1, 1, 1, 0],
      [2, 1, 2, 1, 0],
      [3, 2, 1, 2, 1],
      [4, 2, 2, 2, 0],
    ])
    const thin = await test.history.cost({ of: 'task', task: 'T-1' }, { rows: 50, points: 2 })
    expect(thin.series.points.map(({ from, calls, step, uncached }) => [from, calls, step, uncached])).toEqual([
      [1, 2, null, 5032],
      [3, 2, null, 4476],
    ])
    const all = await read({ of: 'time', fromMs: 0 })
    expect(all.series).toMatchObject({ unit: 'time', size: 900_000 })
    expect(all.series.points.map(({ from, calls }) => [from, calls])).toEqual([
      [noon, 2],
      [noon + 3_600_000, 4],
    ])
  })

  it('put what is beyond a list into one row, so that nothing is left out', async () => {
    const { byTool } = await test.history.cost({ of: 'task', task: 'T-1' }, { rows: 1, points: 9 })
    expect(byTool).toMatchObject([{ name: 'shell' }, { name: '', others: 2, knownNanoUsd: 1_600_000, toolCalls: 1 }])
  })

  it('verify, and are the same after a restart', async () => {
    const before = [await ofTask(), await read({ of: 'time', fromMs: 0 })]
    expect(await test.history.verify()).toMatchObject({ ok: true, problem: null })
    await test.reopen()
    expect([await ofTask(), await read({ of: 'time', fromMs: 0 })]).toEqual(before)
  })
})

/** What the tables hold, and what a database of the schema before would get out of the same events. */
function derivedTwice(file: string): [unknown, unknown] {
  const tables = ['spend_slots', 'step_costs', 'tool_slots', 'repeats', 'troubled_calls', 'cache_breaks']
  const db = openPlain(file, 1000)
  try {
    const rows = () => tables.map((table) => db.prepare(`SELECT * FROM ${table} ORDER BY 1, 2, 3, 4, 5`).raw().all())
    const stored = rows()
    db.exec('DROP INDEX repeated_calls_most')
    for (const table of tables.slice(0, -1)) db.exec(`DROP TABLE ${table}`)
    db.exec(costs)
    deriveCosts(db)
    return [rows(), stored]
  } finally {
    db.close()
  }
}

describe('of any history', () => {
  const figures = ['uncached', 'cacheRead', 'cacheWrite', 'output', 'reasoning', 'knownNanoUsd'] as const
  const sums = (rows: readonly Record<(typeof figures)[number], number>[]) =>
    figures.map((name) => rows.reduce((sum, row) => sum + row[name], 0))
  const tokens = fc.integer({ min: 0, max: 30_000 })
  const step = fc.record({
    task: fc.constantFrom('T-11', 'T-12'),
    turn: fc.integer({ min: 1, max: 3 }),
    usage: fc.option(fc.tuple(tokens, tokens, tokens, tokens)),
    model: fc.constantFrom('m', 'n'),
    isKnown: fc.boolean(),
    isCheck: fc.boolean(),
    tools: fc.array(fc.constantFrom('shell', 'read', '__proto__'), { maxLength: 4 }),
    laterMs: fc.integer({ min: 0, max: 3_000_000 }),
    isBroken: fc.boolean(),
    activates: fc.boolean(),
  })

  it('every breakdown of every scope adds up to its total, and a full verification and a migration derive the same', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const own = await openTestHistory({ clock })
        try {
          let [number, activation] = [0, 1]
          await own.history.append([activate(1, r1)])
          for (const { usage, tools, laterMs, ...of } of steps) {
            now += laterMs
            number += 1
            if (of.activates) {
              activation += 1
              await own.history.append([activate(activation, activation % 2 ? r1 : r2)])
            }
            const header = {
              ...{ task: of.task, turn: of.turn, step: number, revision: activation % 2 ? r1 : r2 },
              run: of.isCheck ? ('check' as const) : ('task' as const),
            }
            const more: Partial<Called> = {
              ...{ model: of.model, ...(of.isBroken ? { firstDifference: differs } : {}) },
              ...(of.isKnown ? {} : { costNanoUsd: null, costReason: 'no price' }),
            }
            const given = usage === null ? null : used(...usage)
            await own.history.append([called(given, header, more), ...tools.map((name) => tool(name, '{}', header))])
          }
          const scopes = [
            { of: 'time', fromMs: 0 } as const,
            { of: 'time', fromMs: now - 3_600_000 } as const,
            { of: 'agent', agent: 'a' } as const,
            ...['T-11', 'T-12'].map((task) => ({ of: 'task', task }) as const),
            ...[1, 2, 3].map((turn) => ({ of: 'turn', task: 'T-11', turn }) as const),
          ]
          for (const scope of scopes) {
            const cost: CostRows = await own.history.cost(scope, { rows: 2, points: 7 })
            const total = sums([cost.total])
            for (const rows of [cost.byModel, cost.byRevision, cost.byTask, cost.byTool])
              expect(sums(rows)).toEqual(total)
            for (const rows of [cost.byModel, cost.byRevision, cost.byTask]) {
              expect(rows.reduce((sum, row) => sum + row.calls, 0)).toBe(cost.total.calls)
              expect(rows.reduce((sum, row) => sum + row.unpriced, 0)).toBe(cost.total.unpriced)
            }
            // Of a task or turn, points are its steps: what a check asked is in none of them.
            if (scope.of === 'time' || scope.of === 'agent') expect(sums(cost.series.points)).toEqual(total)
          }
          expect(await own.history.totals({ agent: 'a' })).toMatchObject({
            modelCalls: (await own.history.cost({ of: 'agent', agent: 'a' }, limits)).total.calls,
          })
          expect(await own.history.verify()).toMatchObject({ ok: true, problem: null })
          const folder = join(own.dataDir, 'copy')
          await own.history.backUp(folder, { verify: false })
          const [migrated, stored] = derivedTwice(join(folder, 'history.db'))
          expect(migrated).toEqual(stored)
        } finally {
          await own.close()
        }
      }),
      { numRuns: 12 },
    )
  })
})
