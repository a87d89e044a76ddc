import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import { OpenCalls, type Place } from './calls.ts'

let open: TestHistory
beforeEach(async () => {
  open = await openTestHistory()
})
afterEach(() => open.close())

describe('open calls', () => {
  it('are closed with the generation that made them, not with one that never took over', async () => {
    const calls = new OpenCalls(open.history, systemClock, 'a')
    const of = (generation: number): Place => ({
      actor: 'kernel',
      agent: 'a',
      task: 'T-1',
      generation,
      turn: 1,
      step: 1,
    })
    await calls.called([{ call: 'c1', name: 'shell', arguments: '{}' }], 1, of(1))
    expect(calls.interrupted(of(2))).toEqual([])
    const done = await calls.finished([{ call: 'c1', text: 'done' }], of(1))
    expect(done.map(({ data }) => [data.call, data.outcome])).toEqual([['c1', 'ok']])

    await calls.called([{ call: 'c2', name: 'shell', arguments: '{}' }], 2, of(1))
    expect(calls.interrupted(of(1)).map(({ data }) => [data.call, data.outcome])).toEqual([['c2', 'interrupted']])
    expect(calls.size).toBe(0)
  })
})
