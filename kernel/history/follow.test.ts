import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EventDraft } from '../wire/events.ts'
import { openTestHistory, type TestHistory } from './fixture.ts'

let test: TestHistory
beforeEach(async () => {
  test = await openTestHistory()
})
afterEach(() => test.close())

const note = (agent: string, text: string, task = 'T-1') =>
  ({ kind: 'note.added', data: { text }, actor: 'executor', agent, task }) as EventDraft
const many = (count: number, agent = 'a') => Array.from({ length: count }, (_, n) => note(agent, String(n)))
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n)

describe('follow', () => {
  it('gives every event once and in order, from disk and then live, while others append', async () => {
    await test.history.append(many(1_200))
    const controller = new AbortController()
    const seen: number[] = []
    const writing = (async () => {
      for (let n = 0; n < 60; n += 1) await test.history.append(many(20))
    })()
    for await (const batch of test.history.follow({ agent: null }, { after: 0, signal: controller.signal })) {
      expect(batch.length).toBeLessThanOrEqual(500)
      seen.push(...batch.map(({ seq }) => seq))
      if (seen.length >= 2_400) controller.abort()
    }
    await writing
    expect(seen).toEqual(range(1, 2_400))
  })

  it('holds no more than a bounded queue for one that is slow, who misses nothing all the same', async () => {
    const controller = new AbortController()
    const iterator = test.history
      .follow({ agent: null }, { after: 0, signal: controller.signal })
      [Symbol.asyncIterator]()
    const first = iterator.next()
    await test.history.append(many(1))
    const seen = ((await first).value ?? []).map(({ seq }: { seq: number }) => seq)
    // It does not ask again before far more has come than a queue holds.
    for (let n = 0; n < 10; n += 1) await test.history.append(many(1_000))
    while (seen.length < 10_001)
      seen.push(...((await iterator.next()).value ?? []).map(({ seq }: { seq: number }) => seq))
    expect(seen).toEqual(range(1, 10_001))
    await test.history.append(many(1))
    expect((await iterator.next()).value?.map(({ seq }: { seq: number }) => seq)).toEqual([10_002])
    controller.abort()
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
  })

  it('starts after a given seq, of one agent and task only', async () => {
    await test.history.append([note('a', 'old'), note('a', 'two'), note('b', 'foreign'), note('a', 'elsewhere', 'T-2')])
    const controller = new AbortController()
    const texts: string[] = []
    const following = (async () => {
      for await (const batch of test.history.follow(
        { agent: 'a' },
        { after: 1, task: 'T-1', signal: controller.signal },
      )) {
        texts.push(...batch.map(({ data }) => (data as { text: string }).text))
        if (texts.length === 2) controller.abort()
      }
    })()
    await test.history.append([note('b', 'foreign'), note('a', 'elsewhere', 'T-2'), note('a', 'live')])
    await following
    expect(texts).toEqual(['two', 'live'])
  })

  it('ends at once when its signal aborts while nothing happens, and at `asOf`', async () => {
    await test.history.append(many(3))
    const controller = new AbortController()
    const iterator = test.history
      .follow({ agent: null }, { after: 3, signal: controller.signal })
      [Symbol.asyncIterator]()
    const next = iterator.next()
    controller.abort()
    expect(await next).toEqual({ done: true, value: undefined })

    const seen: number[] = []
    const signal = new AbortController().signal
    for await (const batch of test.history.follow({ agent: null, asOf: 2 }, { after: 0, signal }))
      seen.push(...batch.map(({ seq }) => seq))
    expect(seen).toEqual([1, 2])
  })
})
