import { createRouterClient } from '@orpc/server'
import { afterAll, describe, expect, it } from 'vitest'
import { boxMissing, complete, openTestKernel, shell, startSimulator } from '../testing/kernel.ts'
import type { Event, EventKind } from '../wire/events.ts'
import { Decisions } from './decision-time.ts'

const minute = 60_000

/** Only what is looked at. */
function event(at: number, kind: EventKind, data: object = {}): Event {
  return { at, kind, data } as unknown as Event
}
const answered = (at: number, status = 'completed') => event(at, 'model.called', { status })

function figuresOf(events: readonly Event[]) {
  const decisions = new Decisions()
  for (const each of events) decisions.add(each)
  return decisions.figures()
}

describe('decision time', () => {
  it('a decision lasts from the beginning of the turn, or the end of the last command, to the answer', () => {
    const { windows, activeMs } = figuresOf([
      event(1000, 'turn.started'),
      answered(1400),
      event(1500, 'sandbox.executed'),
      event(1900, 'sandbox.executed'),
      // Told when the next request is on its way: the wait for it is the executor's own and counts.
      event(1950, 'tool.finished'),
      answered(2500),
      // Of a tool without a command only this is known.
      event(2600, 'tool.finished'),
      answered(2700),
      event(2800, 'turn.ended', { durationMs: 1790 }),
    ])
    expect(windows).toEqual([{ fromMs: 0, decisions: 3, medianMs: 400, longestMs: 600 }])
    expect(activeMs).toBe(1790)
  })

  it('a failed call is part of the wait for the answer, and what never was answered is no decision', () => {
    const { windows } = figuresOf([
      event(0, 'turn.started'),
      answered(300, 'failed'),
      answered(800),
      event(900, 'sandbox.executed'),
      answered(1000, 'aborted'),
      event(1100, 'turn.ended', { durationMs: 1100 }),
    ])
    expect(windows).toEqual([{ fromMs: 0, decisions: 1, medianMs: 800, longestMs: 800 }])
  })

  it('of several answers to one input the last ends the decision, also while it may still be followed', () => {
    const events = [event(0, 'turn.started'), answered(500), answered(900)]
    expect(figuresOf(events).windows).toEqual([{ fromMs: 0, decisions: 1, medianMs: 900, longestMs: 900 }])
    expect(figuresOf([...events, event(950, 'sandbox.executed'), answered(1050)]).windows).toEqual([
      { fromMs: 0, decisions: 2, medianMs: 500, longestMs: 900 },
    ])
  })

  it('a turn that a kill cut ends with its last work, whenever it was found', () => {
    const hour = 60 * minute
    const { windows, activeMs } = figuresOf([
      event(0, 'turn.started'),
      answered(400),
      event(500, 'sandbox.executed'),
      answered(700),
      event(hour, 'tool.finished', { outcome: 'interrupted' }),
      event(hour, 'turn.ended', { outcome: 'interrupted' }),
      event(hour + 100, 'turn.started'),
      answered(hour + 400),
    ])
    expect(windows).toEqual([{ fromMs: 0, decisions: 3, medianMs: 300, longestMs: 400 }])
    expect(activeMs).toBe(700 + 300)
  })

  it('windows are of active time: a pause between turns moves nothing, and an empty window is there', () => {
    const day = 24 * 60 * minute
    const { windows, activeMs } = figuresOf([
      event(0, 'turn.started'),
      answered(2000),
      event(14 * minute, 'turn.ended', { durationMs: 14 * minute }),
      event(day, 'turn.started'),
      answered(day + 3000),
      event(day + 3500, 'sandbox.executed'),
      event(day + 17 * minute, 'sandbox.executed'),
      answered(day + 17 * minute + 4000),
    ])
    expect(windows).toEqual([
      { fromMs: 0, decisions: 2, medianMs: 2500, longestMs: 3000 },
      { fromMs: 15 * minute, decisions: 0, medianMs: null, longestMs: null },
      { fromMs: 30 * minute, decisions: 1, medianMs: 4000, longestMs: 4000 },
    ])
    expect(activeMs).toBe(31 * minute + 4000)
  })
})

if (boxMissing) console.warn(`skipped: ${boxMissing}`)
describe.skipIf(boxMissing)('of a task that ran', () => {
  const simulator = startSimulator()
  afterAll(() => simulator.stop())

  it('every answer of its model is one decision, and what came since the last look is added once', async () => {
    const test = await openTestKernel(simulator)
    try {
      const desk = createRouterClient(test.kernel.operator, { context: { via: 'socket' } })
      const pack = test.pack('three', { script: [shell('true'), shell('echo two'), complete()] })
      const { task } = await test.kernel.tasks.run({ pack, model: 'sim-script' })
      await Promise.all([desk.tasks.decisionTime({ task }), desk.tasks.decisionTime({ task })])
      expect((await desk.tasks.get({ task })).workedMs).toEqual(expect.any(Number))
      await test.kernel.tasks.ended(task)
      const { windows, activeMs } = await desk.tasks.decisionTime({ task })
      const calls = await test.events(['model.called'], task)
      const turns = (await test.events(['turn.ended'], task)) as Event<'turn.ended'>[]
      expect(calls.length).toBeGreaterThanOrEqual(3)
      expect(windows.map(({ decisions }) => decisions)).toEqual([calls.length])
      expect(activeMs).toBe(turns.reduce((sum, { data }) => sum + (data.durationMs ?? 0), 0))
      expect((await desk.tasks.get({ task })).workedMs).toBeUndefined()
      await expect(desk.tasks.decisionTime({ task: 'T-99' })).rejects.toThrow('there is no task T-99')
    } finally {
      await test.close()
    }
  }, 60_000)
})
