import { describe, expect, it } from 'vitest'
import type { KernelError } from '../errors.ts'
import type { StreamChunk, StreamEnd } from '../wire/executor.ts'
import { ModelStream } from './stream.ts'

function open(
  over: {
    credits?: number
    chunkBytes?: number
    coalesceMs?: number
    stallMs?: number
    send?: () => Promise<void>
  } = {},
) {
  const sent: (StreamChunk | StreamEnd)[] = []
  const stalls: KernelError[] = []
  const stream = new ModelStream({
    call: 3,
    credits: 2,
    chunkBytes: 30,
    coalesceMs: 1,
    stallMs: 60_000,
    send: async (_, params) => void sent.push(params),
    onStall: (error) => stalls.push(error),
    ...over,
  })
  const text = (): string => sent.map((part) => ('delta' in part ? part.delta.text : '')).join('')
  return { stream, sent, stalls, text }
}

describe('a model stream', () => {
  it('gathers small deltas into chunks, numbers them, and ends with their count', async () => {
    const { stream, sent } = open({ coalesceMs: 60_000 })
    await stream.delta({ type: 'text', text: 'a' })
    await stream.delta({ type: 'text', text: 'b' })
    await stream.delta({ type: 'arguments', text: 'c' })
    await stream.end()
    expect(sent).toEqual([
      { call: 3, n: 0, delta: { type: 'text', text: 'ab' } },
      { call: 3, n: 1, delta: { type: 'arguments', text: 'c' } },
      { call: 3, chunks: 2 },
    ])
  })

  it('sends no more than was granted, and makes the source wait', async () => {
    const { stream, sent } = open()
    let isThrough = false
    const through = stream.delta({ type: 'text', text: 'x'.repeat(50) }).then(() => {
      isThrough = true
    })
    await expect.poll(() => sent.length, { interval: 1 }).toBe(2)
    expect(isThrough).toBe(false)
    stream.grant(3)
    await through
    expect(sent).toHaveLength(5)
  })

  it('never cuts a character in two', async () => {
    const { stream, text, sent } = open({ credits: 100 })
    await stream.delta({ type: 'text', text: `x${'😀'.repeat(40)}` })
    await stream.end()
    expect(text()).toBe(`x${'😀'.repeat(40)}`)
    for (const part of sent) if ('delta' in part) expect(part.delta.text).not.toMatch(/\p{Surrogate}/u)
  })

  it('gives up on a reader that takes nothing', async () => {
    const { stream, stalls, sent } = open({ credits: 0, stallMs: 5 })
    await stream.delta({ type: 'text', text: 'x'.repeat(50) })
    expect(stalls).toMatchObject([{ code: 'cancelled' }])
    await stream.delta({ type: 'text', text: 'more' })
    await stream.end()
    expect(sent).toEqual([{ call: 3, chunks: 0 }])
  })

  it('[R8] gives up on a pipe that takes nothing, though there are credits left and more are granted', async () => {
    const { stream, stalls } = open({ credits: 100, stallMs: 20, send: () => new Promise(() => undefined) })
    const through = stream.delta({ type: 'text', text: 'x'.repeat(50) })
    stream.grant(100)
    await through
    expect(stalls).toMatchObject([{ code: 'cancelled' }])
  })
})
