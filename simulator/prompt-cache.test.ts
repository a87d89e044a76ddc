import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPromptCache } from './prompt-cache.ts'
import type { Stretch } from './tokens.ts'

/** A stretch of tokens that a text of this content would have. */
function stretch(tokens: number[], kind = 'message user'): Stretch {
  return { key: `${kind} ${tokens.join(' ')}`, kind, tokens }
}
const run = (length: number, of = 1) => Array.from({ length }, () => of)

function openCache(lifetimeMs = 1000) {
  const time = { ms: 0 }
  return { time, cache: createPromptCache(() => time.ms, lifetimeMs) }
}

describe('the prompt cache', () => {
  it('reads nothing at first, then the common prefix in steps of 128 from 1,024 tokens on', () => {
    const { cache } = openCache()
    expect(cache.read('k', [stretch(run(1500))])).toBe(0)
    expect(cache.read('k', [stretch(run(1500)), stretch(run(300, 2))])).toBe(1408)
    expect(cache.read('k', [stretch(run(1500)), stretch(run(300, 2)), stretch([3])])).toBe(1792)
    expect(cache.read('short', [stretch(run(1000))])).toBe(0)
    expect(cache.read('short', [stretch(run(1000))])).toBe(0)
  })

  it('compares within the item at which two prompts part', () => {
    const { cache } = openCache()
    cache.read('k', [stretch([...run(1300), 7, 8, 9])])
    expect(cache.read('k', [stretch([...run(1300), 7, 8, 10])])).toBe(1280)
  })

  it('shares nothing between keys, nor between items of different kinds', () => {
    const { cache } = openCache()
    cache.read('k', [stretch(run(2000), 'instructions')])
    expect(cache.read('other', [stretch(run(2000), 'instructions')])).toBe(0)
    expect(cache.read('k', [stretch(run(2000), 'tools')])).toBe(0)
  })

  it('remembers a prompt for its lifetime after its last use', () => {
    const { cache, time } = openCache(1000)
    const prompt = [stretch(run(1024))]
    cache.read('k', prompt)
    time.ms = 900
    expect(cache.read('k', prompt)).toBe(1024)
    time.ms = 1800
    expect(cache.read('k', prompt)).toBe(1024)
    time.ms = 2801
    expect(cache.read('k', prompt)).toBe(0)
  })

  it('reads as much as a comparison of every token with every earlier prompt would', () => {
    const item = fc.record({
      size: fc.integer({ min: 1, max: 900 }),
      fill: fc.integer({ min: 1, max: 2 }),
      tail: fc.integer({ min: 1, max: 3 }),
    })
    fc.assert(
      fc.property(
        fc.array(fc.array(item, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 8 }),
        (prompts) => {
          const { cache } = openCache()
          const earlier: number[][] = []
          for (const prompt of prompts) {
            const stretches = prompt.map(({ size, fill, tail }) => stretch([...run(size, fill), tail]))
            // An item's beginning is told apart as a real prompt's is: by a token of its own.
            const tokens = stretches.flatMap(({ tokens }) => [0, ...Array.from(tokens)])
            const marked = stretches.map(({ tokens }) => stretch([0, ...Array.from(tokens)]))
            const best = Math.max(0, ...earlier.map((other) => commonLength(other, tokens)))
            expect(cache.read('k', marked)).toBe(best < 1024 ? 0 : Math.floor(best / 128) * 128)
            earlier.push(tokens)
          }
        },
      ),
    )
  })
})

function commonLength(a: number[], b: number[]): number {
  const differs = a.findIndex((token, index) => token !== b[index])
  return differs < 0 ? a.length : differs
}
