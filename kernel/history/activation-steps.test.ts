import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { draft, type EventDraft } from '../wire/events.ts'
import { openTestHistory, type TestHistory } from './fixture.ts'

let now = 1_000
let test: TestHistory
beforeEach(async () => {
  now = 1_000
  test = await openTestHistory({ clock: { now: () => now, monotonic: () => 0 } })
})
afterEach(() => test.close())

const revisions = ['1'.repeat(64), '2'.repeat(64)] as const
type Place = Omit<EventDraft, 'kind' | 'data'>

const activate = (activation: 1 | 2) => {
  const data = { activation, revision: revisions[activation - 1] ?? '', previous: null, cause: 'seed' as const }
  return draft('revision.activated', { ...data, proposal: null, probationSteps: 0 }, { actor: 'kernel', agent: 'a' })
}
const place = (task: string, step: number, activation: number, run: 'task' | 'check' = 'task'): Place => ({
  ...{ actor: 'kernel', agent: 'a', task, run, generation: 1, turn: 1, step },
  revision: revisions[activation - 1] ?? '',
})
function called(costNanoUsd: number, at: Place) {
  const usage = { uncached: 10, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 }
  const request = { request: 1, parent: null, keptItems: 0, items: 1, api: 'responses', model: 'm', simulated: true }
  const answer = { status: 'completed', attempts: 1, usage, usageSource: 'reported', costNanoUsd, costReason: null }
  const rest = { priceVersion: null, durationMs: 1, firstByteMs: null, output: [], firstDifference: null, error: null }
  const composition = { instructions: 0, tools: 0, messages: 0, toolResults: 0 }
  return draft('model.called', { ...request, ...answer, ...rest, composition } as never, at)
}
const tool = (args: string, at: Place) =>
  draft('tool.called', { call: 'c', name: 'shell', arguments: args, request: 1 }, at)
function finished(outcome: 'ok' | 'error', at: Place, operations: string[] = []) {
  const data = { call: 'c', name: 'shell', outcome, output: '', outputBytes: 0, durationMs: 1, operations }
  return draft('tool.finished', data, at)
}

async function record(): Promise<void> {
  const steps: [at: Place, cost: number, events: (at: Place) => EventDraft[]][] = [
    [place('T-1', 1, 1), 100, (at) => [tool('ls /task', at), finished('error', at)]],
    [place('T-1', 2, 1), 70, (at) => [tool('sed -i s/a/b/ /policy/loop.ts', at), finished('ok', at)]],
    [place('T-1', 3, 1), 30, (at) => [tool('{}', at), finished('ok', at, ['policy.propose'])]],
    [place('T-1', 4, 2), 40, (at) => [tool('ls', at), finished('error', at), tool('ls -l', at), finished('error', at)]],
    [place('T-2', 1, 2), 50, () => []],
  ]
  await test.history.append([activate(1)])
  for (const [at, cost, events] of steps) {
    now += 1_000
    if (at.revision === revisions[1] && at.step === 4) await test.history.append([activate(2)])
    await test.history.append([called(cost, at), ...events(at)])
  }
  // A check's own calls are no work of the agent.
  const check = place('T-2', 1, 2, 'check')
  await test.history.append([tool('cat /policy/loop.ts', check), finished('error', check)])
}

const brief = async (activation: number, options: Parameters<TestHistory['history']['activationSteps']>[2]) =>
  (await test.history.activationSteps('a', activation, options)).map((row) => [row.task, row.step, row.toolErrors])

async function assertFigures(): Promise<void> {
  expect((await test.history.steps('T-1')).map((row) => [row.step, row.toolErrors, row.isPolicyWork])).toEqual([
    [1, 1, false],
    [2, 0, true],
    [3, 0, true],
    [4, 2, false],
  ])
  expect((await test.history.steps('T-2')).map((row) => [row.toolErrors, row.isPolicyWork])).toContainEqual([0, false])
}

describe('the steps of an activation', () => {
  it('are read from its first or its last ones, of one task or all', async () => {
    await record()
    await assertFigures()
    expect(await brief(1, { limit: 2 })).toEqual([
      ['T-1', 1, 1],
      ['T-1', 2, 0],
    ])
    expect(await brief(1, { limit: 2, isLast: true })).toEqual([
      ['T-1', 2, 0],
      ['T-1', 3, 0],
    ])
    expect(await brief(2, { limit: 9 })).toEqual([
      ['T-1', 4, 2],
      ['T-2', 1, 0],
    ])
    expect(await brief(2, { limit: 9, task: 'T-2' })).toEqual([['T-2', 1, 0]])
  })

  it('cost what work on the policy cost, in a time', async () => {
    await record()
    expect(await test.history.policyWork('a', { after: 0, until: 9_000 })).toEqual({ steps: 2, costNanoUsd: 100 })
    expect(await test.history.policyWork('a', { after: 3_000, until: 9_000 })).toEqual({ steps: 1, costNanoUsd: 30 })
    expect(await test.history.policyWork('a', { after: 4_000, until: 9_000 })).toEqual({ steps: 0, costNanoUsd: 0 })
  })

  it('have the same figures in a database of schema 3 that is brought to this one', async () => {
    await record()
    await test.history.close()
    const laterTables = ['spend_slots', 'step_costs', 'tool_slots', 'repeats', 'troubled_calls']
    const db = new Database(join(test.dataDir, 'history.db'))
    const guard = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'schemas'"
    const triggers = db.prepare(guard).all() as { name: string; sql: string }[]
    for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
    db.exec(`DROP INDEX step_rollup_activation; DROP INDEX step_rollup_policy_work;
      DROP INDEX repeated_calls_most; ${laterTables.map((table) => `DROP TABLE ${table};`).join(' ')}
      ALTER TABLE step_rollup DROP COLUMN tool_errors; ALTER TABLE step_rollup DROP COLUMN policy_work;
      DELETE FROM schemas WHERE number > 3; PRAGMA user_version = 3`)
    for (const { sql } of triggers) db.exec(sql)
    db.close()
    await test.reopen()
    expect(test.history.problem).toBeNull()
    await assertFigures()
    expect(await test.history.verify({ full: true })).toMatchObject({ ok: true, problem: null })
  })
})
