import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import { modelCalled } from '../testing/guardian.ts'
import { draft, type EventData, type EventDraft, type EventKind } from '../wire/events.ts'
import { closeOpenWork, knownSpend, meterState } from './recovery.ts'

const agent = 'apprentice'
const revision = 'a'.repeat(64)
const task = { agent, task: 'T-1', model: { api: 'responses', simulated: true } } as const
let open: TestHistory
beforeEach(async () => {
  open = await openTestHistory()
})
afterEach(() => open.close())

function event<K extends EventKind>(kind: K, data: EventData<K>, header: Partial<EventDraft> = {}) {
  const place = { agent, task: 'T-1', run: 'task', generation: 1, turn: 1, revision } as const
  return draft(kind, data, { actor: 'kernel', ...place, ...header })
}
const started = (generation: number) =>
  event('executor.started', { activation: 1, box: 'b', startMs: 1, tools: [] }, { generation, turn: null })
const called = (call: string, header: Partial<EventDraft> = {}) =>
  event('tool.called', { call, name: 'shell', arguments: '{}', request: 1 }, { step: 1, ...header })
const finished = (call: string) =>
  event('tool.finished', { call, name: 'shell', outcome: 'ok', output: '', outputBytes: 0, durationMs: 1 }, { step: 1 })
const turn = (number: number) => event('turn.started', { maxSteps: 5, maxMs: 5 }, { turn: number })
const turnEnded = (number: number) =>
  event('turn.ended', { outcome: 'yielded', reason: null, steps: 1 }, { turn: number })

async function kindsSince(seq: number) {
  const { events } = await open.history.read({ agent: null }, { after: seq, limit: 100 })
  return events.map(({ kind, generation, turn, step }) => [kind, generation, turn, step])
}

describe('what a kill left open', () => {
  it('is closed in the order of a live interruption, with what it belongs to; a second time there is nothing', async () => {
    const { history } = open
    await history.append([started(1), turn(1), called('c1'), finished('c1'), called('c2', { step: 2 })])
    const seq = history.head()?.seq ?? 0
    expect(await closeOpenWork(history, task)).toEqual({ calls: 1, turns: 1, charged: 0 })
    expect(await kindsSince(seq)).toEqual([
      ['executor.stopped', 1, null, null],
      ['tool.finished', 1, 1, 2],
      ['turn.ended', 1, 1, null],
    ])
    expect(await closeOpenWork(history, task)).toEqual({ calls: 0, turns: 0, charged: 0 })
  })

  it('may be a call of an earlier turn, whose output no request has delivered yet', async () => {
    const { history } = open
    await history.append([started(1), turn(1), called('c1'), turnEnded(1), turn(2)])
    expect(await closeOpenWork(history, task)).toEqual({ calls: 1, turns: 1, charged: 0 })
  })

  it('may be two executors, in the middle of a hand-over', async () => {
    const { history } = open
    await history.append([started(1), turn(1), called('c1'), started(2)])
    const seq = history.head()?.seq ?? 0
    expect(await closeOpenWork(history, task)).toEqual({ calls: 1, turns: 1, charged: 0 })
    expect((await kindsSince(seq)).map(([kind, generation]) => [kind, generation])).toEqual([
      ['executor.stopped', 1],
      ['executor.stopped', 2],
      ['tool.finished', 1],
      ['turn.ended', 1],
    ])
  })

  it('is nothing of another task, and nothing after an orderly end', async () => {
    const { history } = open
    await history.append([started(1), turn(1), turnEnded(1), event('executor.stopped', { reason: 'at rest' })])
    await history.append([called('x', { task: 'T-2', agent: 'other' })])
    const seq = history.head()?.seq ?? 0
    expect(await closeOpenWork(history, task)).toEqual({ calls: 0, turns: 0, charged: 0 })
    expect(await kindsSince(seq)).toEqual([])
  })
})

describe('a model call that a kill left open', () => {
  const request = { request: 7, parent: null, keptItems: 0, items: 3 }
  const reserved = (attempt: number, header: Partial<EventDraft> = {}) =>
    event(
      'model.reserved',
      { ...request, attempt, model: 'm', promptTokens: 100, tokens: 356, nanoUsd: 5_000 },
      { step: 1, ...header },
    )
  const attempted = (reservation: number, attempt: number) =>
    event(
      'model.attempted',
      {
        ...{ attempt, model: 'm', status: 'failed', httpStatus: 500, error: 'x', durationMs: 1, reservation },
        ...{ usage: null, usageSource: 'none', costNanoUsd: 0 },
      },
      { step: 1 },
    )
  const spent = async () => {
    const { uncached, output, costNanoUsd, modelCalls, failedCalls } = await open.history.totals({ task: 'T-1' })
    return { uncached, output, costNanoUsd, modelCalls, failedCalls }
  }

  it('[C8] is charged what was set aside for it, once, in every sum', async () => {
    const { history } = open
    const before = await history.append([started(1), turn(1), reserved(1)])
    expect(await closeOpenWork(history, task)).toEqual({ calls: 0, turns: 1, charged: 1 })
    const whole = { uncached: 100, output: 256, costNanoUsd: 5_000, modelCalls: 1, failedCalls: 1 }
    expect(await spent()).toEqual(whole)
    expect(await history.spent({ lineage: agent })).toEqual({ nanoUsd: 5_000, tokens: 356 })
    const attempt = await history.latest({ agent }, 'model.attempted')
    expect(attempt?.data).toMatchObject({ status: 'aborted', usageSource: 'estimated', reservation: before[2]?.seq })
    expect(await closeOpenWork(history, task)).toEqual({ calls: 0, turns: 0, charged: 0 })
    expect(await spent()).toEqual(whole)
  })

  it('[C8] is not charged twice where its attempt was recorded and its end was not', async () => {
    const { history } = open
    const [, , first] = await history.append([started(1), turn(1), reserved(1)])
    await history.append([attempted(first?.seq ?? 0, 1), reserved(2)])
    expect(await closeOpenWork(history, task)).toMatchObject({ charged: 1 })
    expect(await spent()).toMatchObject({ costNanoUsd: 5_000, modelCalls: 1 })
    const called = await history.latest({ agent }, 'model.called')
    expect(called?.data).toMatchObject({ attempts: 2, status: 'aborted', costNanoUsd: 5_000 })
  })

  it('[C8] is charged too where its executor had an end before it did', async () => {
    const { history } = open
    const crashed = event('executor.crashed', { exitCode: 1, signal: null, outOfMemory: false, stderr: '' })
    await history.append([started(1), turn(1), reserved(1), crashed, turnEnded(1), started(2)])
    expect(await closeOpenWork(history, task)).toEqual({ calls: 0, turns: 0, charged: 1 })
    expect(await spent()).toMatchObject({ costNanoUsd: 5_000, modelCalls: 1 })
    expect(await closeOpenWork(history, task)).toMatchObject({ charged: 0 })
  })

  it('is left alone where it has its end', async () => {
    const { history } = open
    const called = modelCalled('T-1', revision)
    await history.append([started(1), turn(1), reserved(1), { ...called, data: { ...called.data, request: 7 } }])
    expect(await closeOpenWork(history, task)).toMatchObject({ charged: 0 })
    expect(await spent()).toMatchObject({ modelCalls: 1 })
  })
})

describe('where a task goes on', () => {
  it('is after its last step and turn, with its progress', async () => {
    const { history } = open
    expect(await meterState(history, agent, 'T-1')).toEqual({
      lastStep: null,
      lastTurn: 0,
      workedMs: 0,
      progress: null,
      accepted: null,
    })
    const progress = { value: 2, goal: 3, unit: 'beans', source: 'measured' } as const
    await history.append([
      turn(1),
      { ...modelCalled('T-1', revision), turn: 1, step: 1 },
      // A step that was refused before anything was sent has no event, and its number is not given twice.
      { ...modelCalled('T-1', revision), turn: 1, step: 3 },
      event('task.progressed', progress, { step: 3 }),
      turnEnded(1),
      turn(2),
    ])
    expect(await meterState(history, agent, 'T-1')).toMatchObject({
      lastStep: { turn: 1, step: 3 },
      lastTurn: 2,
      progress,
    })
  })

  it('has a completion that was accepted, though the kill came before its end', async () => {
    await open.history.append([turn(1), event('task.claimed', { reason: 'measured 3 of 3 beans' })])
    expect(await meterState(open.history, agent, 'T-1')).toMatchObject({ accepted: 'measured 3 of 3 beans' })
  })

  it('[F10] has worked no longer than its turns could last, whatever the wall clock said of them', async () => {
    const years = 10 * 365 * 86_400_000
    let wall = 1_700_000_000_000
    await open.close()
    open = await openTestHistory({ clock: { now: () => wall, monotonic: () => 0 } })
    await open.history.append([turn(1)])
    wall += years
    await open.history.append([turnEnded(1), turn(2)])
    wall -= 2 * years
    await open.history.append([turnEnded(2)])
    const { workedMs } = await meterState(open.history, agent, 'T-1')
    // Of `turn`: 5 ms, and a minute until it would have been cancelled.
    expect(workedMs).toBe(60_005)
  })

  it('has spent at least the dearest known step for each of unknown cost', async () => {
    const cost = (step: number, costNanoUsd: number | null) => {
      const made = modelCalled('T-1', revision)
      return { ...made, step, data: { ...made.data, costNanoUsd } }
    }
    await open.history.append([cost(1, 100), cost(2, null), cost(3, 40)])
    expect(await knownSpend(open.history, 'T-1')).toBe(240)
  })
})
