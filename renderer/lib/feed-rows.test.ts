import { describe, expect, it } from 'vitest'
import type { EventRow } from '../../kernel/wire/operator.ts'
import { lineOf } from './event-line.ts'
import { matches, rowsOf } from './feed-rows.ts'

let seq = 0
const event = (kind: EventRow['kind'], data: EventRow['data']): EventRow => ({
  seq: ++seq,
  at: seq,
  agent: 'a',
  task: 'T-1',
  run: null,
  generation: null,
  turn: null,
  step: 3,
  actor: 'kernel',
  revision: null,
  kind,
  data,
})
const called = (call: string) =>
  event('tool.called', { call, name: 'shell', arguments: '{"command":"ls"}', request: 1 })
const executed = (call: string) =>
  event('sandbox.executed', { op: 'exec', what: 'ls', call, exitCode: 0, timedOut: false, bytes: 1, durationMs: 1 })
const finished = (call: string, outcome: string) =>
  event('tool.finished', { call, name: 'shell', outcome, output: 'a.ts\nb.ts', outputBytes: 9, durationMs: 12 })

describe('feed rows', () => {
  it('fold a tool call, its executions and its result into one row at the place of the call', () => {
    const rows = rowsOf([called('c1'), called('c2'), executed('c1'), finished('c2', 'ok'), finished('c1', 'error')])
    expect(rows.map((row) => row.events.map((each) => each.kind))).toEqual([
      ['tool.called', 'sandbox.executed', 'tool.finished'],
      ['tool.called', 'tool.finished'],
    ])
    expect(rows[0]?.line).toMatchObject({ icon: '✗', isError: true, text: '{"command":"ls"} → a.ts …' })
    expect(rows[1]?.line).toMatchObject({ icon: '✓', figures: ['12 ms'] })
  })

  it('show a call that has not ended as running', () => {
    expect(rowsOf([called('c1')])[0]?.line).toMatchObject({ icon: '▸', figures: ['running'] })
  })

  it('show an end whose call is on an earlier page as a row of its own', () => {
    expect(rowsOf([finished('gone', 'ok')])).toHaveLength(1)
  })

  it('leave out attempts that worked and keep those that failed', () => {
    const attempt = (status: string) =>
      event('model.attempted', { attempt: 1, model: 'm', status, error: 'rate limited', durationMs: 5 })
    expect(rowsOf([attempt('completed'), attempt('failed')]).map((row) => row.line.text)).toEqual(['rate limited'])
  })

  it('can be narrowed to errors, or to one group', () => {
    const rows = rowsOf([
      called('c1'),
      finished('c1', 'error'),
      event('revision.activated', { activation: 2, revision: 'ab', cause: 'proposal', probationSteps: 10 }),
    ])
    expect(rows.filter((row) => matches(row, 'errors'))).toHaveLength(1)
    expect(rows.filter((row) => matches(row, 'policy')).map((row) => row.line.word)).toEqual(['r2 active'])
  })
})

describe('a line for a model call', () => {
  it('tells tokens that were not reported from zero, and an unknown price from a free call', () => {
    const base = { model: 'm', status: 'completed', output: [], durationMs: 5, firstDifference: null, error: null }
    expect(lineOf(event('model.called', { ...base, usage: null, costNanoUsd: null })).figures).toEqual([
      'not reported',
      '—',
      '5 ms',
    ])
    const usage = { uncached: 100, cacheRead: 1100, cacheWrite: 0, output: 20, reasoning: 0 }
    expect(lineOf(event('model.called', { ...base, usage, costNanoUsd: 0 })).figures).toEqual([
      '1.2k → 20',
      '$0.00',
      '5 ms',
    ])
  })
})
