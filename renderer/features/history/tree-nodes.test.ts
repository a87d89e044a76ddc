import { describe, expect, it } from 'vitest'
import type { EventRow, StepPoint, TaskSummary } from '../../../kernel/wire/operator.ts'
import { laneOf, nodesOf } from './tree-nodes.ts'

const point = (turn: number, step: number, at: number, more: Partial<StepPoint> = {}): StepPoint => ({
  ...{ turn, step, at, activation: 1, modelCalls: 1, failedCalls: 0, toolCalls: 2, costNanoUsd: 10, progress: null },
  ...{ cacheBreak: null, uncached: 100, cacheRead: 50, cacheWrite: 0, output: 5, reasoning: 0 },
  ...more,
})
const task = {
  ...{
    task: 'T-1',
    title: 'count',
    state: 'running',
    outcome: null,
    createdAt: 1_000,
    lastEventAt: 9_000,
    finishedAt: null,
  },
  totals: { uncached: 300, cacheRead: 150, cacheWrite: 0, costNanoUsd: null },
  model: { simulated: true },
} as unknown as TaskSummary
const steps = [point(1, 1, 2_000), point(1, 2, 4_000, { costNanoUsd: null }), point(2, 3, 7_000, { failedCalls: 1 })]
const event = {
  seq: 41,
  at: 5_000,
  kind: 'model.called',
  data: { durationMs: 800, costNanoUsd: 10, simulated: true },
} as never as EventRow

const shown = (expanded: string[]) =>
  nodesOf(
    [task],
    new Set(expanded),
    new Map([['T-1', steps]]),
    new Map([['T-1/1/2', { events: [event], isCut: false }]]),
  )

describe('the tree of a task', () => {
  it('opens level by level, in order', () => {
    expect(shown([]).map(({ id }) => id)).toEqual(['T-1'])
    expect(shown(['T-1']).map(({ id }) => id)).toEqual(['T-1', 'T-1/1', 'T-1/2'])
    expect(shown(['T-1', 'T-1/1', 'T-1/1/2']).map(({ id }) => id)).toEqual([
      'T-1',
      'T-1/1',
      'T-1/1/1',
      'T-1/1/2',
      'T-1/1/2/41',
      'T-1/2',
    ])
    // What is closed above shows nothing below, and what is on its way says so.
    expect(shown(['T-1/1', 'T-1/1/2'])).toHaveLength(1)
    expect(nodesOf([task], new Set(['T-1']), new Map(), new Map()).at(-1)?.title).toBe('loading…')
  })

  it('sums what is below, keeps an unknown cost unknown, and marks failure', () => {
    const [whole, first, second] = shown(['T-1'])
    expect(whole).toMatchObject({ costNanoUsd: null, isSimulated: true, startAt: 1_000, endAt: 9_000 })
    expect(first).toMatchObject({
      about: '2 steps',
      toolCalls: 4,
      inputTokens: 300,
      costNanoUsd: null,
      hasFailed: false,
    })
    expect(first).toMatchObject({ startAt: 2_000, endAt: 7_000 })
    expect(second).toMatchObject({ costNanoUsd: 10, hasFailed: true, startAt: 7_000, endAt: 9_000 })
  })

  it('places each bar within what holds it', () => {
    const nodes = shown(['T-1', 'T-1/1', 'T-1/1/2'])
    const lane = (id: string) => laneOf(nodes.find((node) => node.id === id) as (typeof nodes)[number])
    expect(lane('T-1/1')).toEqual({ left: 12.5, width: 62.5 })
    expect(lane('T-1/1/2')).toEqual({ left: 40, width: 60 })
    const bar = lane('T-1/1/2/41')
    expect(bar?.left).toBeCloseTo(6.67, 1)
    expect(bar?.width).toBeCloseTo(26.67, 1)
  })
})
