import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { rowOf } from '../history/drafts.ts'
import type { EventDraft } from '../wire/events.ts'
import { createCommits } from './commits.ts'
import type { WriteOp } from './messages.ts'
import { migrate } from './migrations.ts'
import { type Connection, openForWriting } from './sqlite.ts'
import { checkDerived } from './verify/derived.ts'

let folder: string
let open: Connection[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'exodesk-rollups-'))
  open = []
})
afterEach(() => {
  for (const db of open) db.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A log of these events, `perCommit` of them in each operation and commit. */
function logOf(drafts: readonly EventDraft[], perCommit: number): Connection {
  const db = openForWriting(join(folder, `${open.length}.db`))
  open.push(db)
  migrate(db, '')
  const commits = createCommits(db)
  for (let n = 0; n < drafts.length; n += perCommit) {
    const events = drafts.slice(n, n + perCommit).map((draft, index) => rowOf(draft, 1_000 * (n + index)))
    expect(commits.run([{ id: 1, op: { op: 'append', expect: null, events } }]).outcomes).toMatchObject([{ ok: true }])
  }
  return db
}

function everything(db: Connection): Record<string, string[]> {
  const tables = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all() as string[]
  const rowsOf = (name: string) => db.prepare(`SELECT * FROM ${name}`).raw().all()
  return Object.fromEntries(
    tables.map((name) => [
      name,
      rowsOf(name)
        .map((row) => JSON.stringify(row))
        .sort(),
    ]),
  )
}

const place = (n: number) =>
  ({
    agent: `a${n % 2}`,
    task: 'T-1',
    run: 'task',
    turn: 1,
    step: Math.floor(n / 6),
    revision: 'r'.repeat(64),
  }) as const

function modelCall(n: number, uncached: number): EventDraft {
  const usage = { uncached, cacheRead: 3, cacheWrite: 0, output: 5, reasoning: 1 }
  return {
    kind: 'model.called',
    actor: 'kernel',
    ...place(n),
    data: {
      ...{ request: 1, parent: null, keptItems: 0, items: 1, api: 'chat', model: `m${n % 3}`, simulated: true },
      ...{ status: n % 5 === 0 ? 'failed' : 'completed', attempts: 1, usage, usageSource: 'reported' },
      ...{ costNanoUsd: n % 7 === 0 ? null : 100 + n, costReason: null, priceVersion: 'p' },
      ...{ durationMs: 1, firstByteMs: 1, output: [], error: null },
      firstDifference: n % 4 === 0 ? { index: n, kind: 'item', before: 'b'.repeat(64), after: 'c'.repeat(64) } : null,
      composition: { instructions: 1, tools: 1, messages: 1, toolResults: 1 },
    },
  } as EventDraft
}

/** Steps that two agents share, fractions of a millisecond, repeated calls, work on the policy, and progress in between. */
function mixed(count: number): EventDraft[] {
  return Array.from({ length: count }, (_, n): EventDraft => {
    const of = { actor: 'kernel', ...place(n) } as const
    switch (n % 5) {
      case 0:
        return modelCall(n, 11)
      case 1: {
        const command = n % 3 === 0 ? 'ls /policy' : `ls ${n % 4}`
        return { kind: 'tool.called', ...of, data: { call: `c${n}`, name: 'shell', arguments: command, request: 0 } }
      }
      case 2: {
        const operations = n % 4 === 0 ? ['policy.propose', 'history.read'] : []
        const ended = {
          outcome: n % 3 === 0 ? 'error' : 'ok',
          output: 'x',
          outputBytes: 1,
          durationMs: 0.1 * n,
        } as const
        return { kind: 'tool.finished', ...of, data: { call: `c${n - 1}`, name: 'shell', ...ended, operations } }
      }
      case 3:
        return n % 20 === 3
          ? { kind: 'task.progressed', ...of, data: { value: n, goal: 100, unit: 'x', source: 'measured' } }
          : { kind: 'note.added', ...of, data: { text: 'n' } }
      default:
        return {
          kind: 'tool.called',
          ...of,
          run: 'check',
          data: { call: `k${n}`, name: 'read', arguments: '{}', request: 0 },
        }
    }
  })
}

it('what is derived is the same to the last digit, however the events share commits', () => {
  const drafts = mixed(240)
  const alone = logOf(drafts, 1)
  const whole = everything(alone)
  expect(whole.step_rollup?.length).toBe(40)
  expect(whole.repeated_calls?.length).toBeGreaterThan(3)
  expect(checkDerived(alone)).toBeNull()
  for (const perCommit of [7, 100, drafts.length]) {
    const db = logOf(drafts, perCommit)
    expect(everything(db)).toEqual(whole)
    expect(checkDerived(db)).toBeNull()
  }
})

it('sums beyond what a number holds exactly are the same too', () => {
  const drafts = [0, 3, 6, 9].map((n) => modelCall(n, Number.MAX_SAFE_INTEGER - n))
  const whole = everything(logOf(drafts, 1))
  expect(everything(logOf(drafts, 4))).toEqual(whole)
})

it('one that is refused leaves nothing of its sums behind, and those beside it keep theirs', () => {
  const db = openForWriting(join(folder, 'refused.db'))
  open.push(db)
  migrate(db, '')
  const commits = createCommits(db)
  const append = (...drafts: EventDraft[]): WriteOp => ({
    op: 'append',
    expect: null,
    events: drafts.map((draft) => rowOf(draft, 1_000)),
  })
  const { agent, revision } = place(0)
  const gone: EventDraft = {
    kind: 'payload.tombstoned',
    actor: 'operator',
    agent,
    revision,
    data: { seq: 99, reason: 'x' },
  }
  const group = [append(modelCall(1, 10)), append(modelCall(1, 500), gone), append(modelCall(1, 7))]
  const { outcomes } = commits.run(group.map((op, id) => ({ id, op })))
  expect(outcomes.map(({ ok }) => ok)).toEqual([true, false, true])
  expect(db.prepare('SELECT sum(uncached), sum(calls) FROM model_rollup').raw().get()).toEqual([17, 2])
  expect(db.prepare('SELECT uncached, calls FROM step_rollup').raw().all()).toEqual([[17, 2]])
  expect(checkDerived(db)).toBeNull()
})
