import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EventRow } from '../../kernel/wire/operator.ts'
import { Feed } from './feed.ts'

const event = (seq: number): EventRow => ({
  seq,
  at: seq,
  agent: 'a',
  task: 'T-1',
  run: null,
  generation: null,
  turn: null,
  step: null,
  actor: 'kernel',
  revision: null,
  kind: 'task.started',
  data: {},
})
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => event(from + i))

function manualFeed(options: { keep?: number; max?: number } = {}) {
  const frames: (() => void)[] = []
  const feed = new Feed({ ...options, schedule: (flush) => frames.push(flush) })
  const frame = () => {
    for (const flush of frames.splice(0)) flush()
  }
  const seqs = () => feed.snapshot().events.map((each) => each.seq)
  return { feed, frame, frames, seqs }
}

describe('feed', () => {
  it('turns all that arrives between two frames into one change', () => {
    const { feed, frame, frames, seqs } = manualFeed()
    let changes = 0
    feed.subscribe(() => changes++)
    for (const each of range(1, 300)) feed.push([each])
    expect(frames).toHaveLength(1)
    expect(changes).toBe(0)
    frame()
    expect(changes).toBe(1)
    expect(seqs()).toEqual(range(1, 300).map((each) => each.seq))
  })

  it('keeps the newest while following and says that there is more before', () => {
    const { feed, frame, seqs } = manualFeed({ keep: 10 })
    feed.load(range(1, 8), false)
    expect(feed.snapshot().hasEarlier).toBe(false)
    feed.push(range(9, 25))
    frame()
    expect(seqs()).toEqual([16, 17, 18, 19, 20, 21, 22, 23, 24, 25])
    expect(feed.snapshot().hasEarlier).toBe(true)
  })

  it('[U10] holds the newest few thousand of a million events, and knows that there is more', () => {
    const { feed, frame, seqs } = manualFeed()
    feed.load([], false)
    for (let from = 1; from <= 1_000_000; from += 500) {
      feed.push(range(from, from + 499))
      frame()
      expect(feed.snapshot().events.length).toBeLessThanOrEqual(5000)
    }
    expect([seqs().length, seqs()[0], seqs().at(-1)]).toEqual([5000, 995_001, 1_000_000])
    expect(feed.snapshot().hasEarlier).toBe(true)
  })

  it('drops nothing from under a reader who looks at older rows, up to its bound', () => {
    const { feed, frame, seqs } = manualFeed({ keep: 10, max: 30 })
    feed.load(range(11, 20), true)
    feed.hold(true)
    feed.prepend(range(1, 10), false)
    feed.push(range(21, 28))
    frame()
    expect(seqs()).toEqual(range(1, 28).map((each) => each.seq))
    feed.push(range(29, 40))
    frame()
    expect(seqs()).toHaveLength(30)
    expect(feed.isFull).toBe(true)
  })

  it('is the same gap-free list however a subscription is cut and repeated', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(40), fc.nat(20)), { maxLength: 20 }), (batches) => {
        const { feed, frame, seqs } = manualFeed()
        feed.load(range(1, 5), false)
        let end = 5
        for (const [back, size] of batches) {
          const from = Math.max(1, end + 1 - back)
          const to = Math.max(end, from + size)
          feed.push(range(from, to))
          end = to
          frame()
        }
        expect(seqs()).toEqual(range(1, end).map((each) => each.seq))
      }),
    )
  })
})
