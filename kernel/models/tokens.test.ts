import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it } from 'vitest'
import { createTokenCounter } from './tokens.ts'

describe('the token counter', () => {
  const counter = createTokenCounter()

  it('counts ordinary text as o200k does, and special tokens as text', () => {
    const text = 'const answer = await gateway.call(request) // 42\n'.repeat(50)
    expect(counter.count(text)).toBe(encode(text).length)
    expect(counter.count('<|endoftext|>')).toBeGreaterThan(1)
    expect(counter.count('')).toBe(0)
  })

  it('stays near the true count in unbroken runs, whose exact count takes time by their square', () => {
    for (const run of ['a'.repeat(3000), ' '.repeat(3000), '日本'.repeat(1500)]) {
      const exact = encode(run).length
      expect(Math.abs(counter.count(run) - exact)).toBeLessThanOrEqual(3000 / 128 + 1)
    }
  })

  it('overestimates rather than underestimates what it does not read', () => {
    const text = 'word '.repeat(40_000)
    expect(counter.count(text)).toBeGreaterThanOrEqual(encode(text).length)
    expect(counter.count(text)).toBeLessThan(text.length)
  })

  it('gives the same count again from memory, and after forgetting', () => {
    const small = createTokenCounter(2)
    const texts = [1, 2, 3, 4].map((n) => `text ${n} `.repeat(200))
    const first = texts.map((text) => small.count(text))
    expect(texts.map((text) => small.count(text))).toEqual(first)
  })
})
