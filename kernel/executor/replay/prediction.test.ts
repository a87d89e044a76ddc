import { describe, expect, it } from 'vitest'
import { createTokenCounter } from '../../models/tokens.ts'
import { requestOf } from './answers.ts'
import { aheadOf, cachedOf, prefixOf } from './prediction.ts'

const counter = createTokenCounter()
const request = (instructions: string, ...texts: string[]) => {
  const items = texts.map((content) => ({ role: 'user', content }))
  const given = items.map((value) => ({ value, json: JSON.stringify(value) }))
  return requestOf('responses', { instructions, tools: [{ name: 'shell' }], input: items }, given, counter)
}

describe('a prediction', () => {
  it('finds the longest common prefix, into the first item that differs', () => {
    const grown = prefixOf(request('work', 'one'), request('work', 'one', 'two'), counter)
    expect(grown).toMatchObject({ breaks: null })
    expect(grown.tokens).toBe(request('work', 'one').items.reduce((sum, { tokens }) => sum + tokens, 0))
    expect(prefixOf(request('work', 'one'), request('play', 'one'), counter)).toEqual({
      tokens: 0,
      breaks: { kind: 'instructions', index: 0 },
    })
    const long = 'a sentence that both have. '.repeat(20)
    const within = prefixOf(request('work', `${long}one`), request('work', `${long}two`), counter)
    expect(within.breaks).toEqual({ kind: 'item', index: 2 })
    expect(within.tokens).toBeGreaterThan(100)
  })

  it('says where a request ends before the one before it did', () => {
    const shorter = prefixOf(request('work', 'one', 'two'), request('work', 'one'), counter)
    expect(shorter.breaks).toEqual({ kind: 'item', index: 3 })
  })

  it('knows that caches hold nothing short, and whole steps', () => {
    expect([1023, 1024, 1200].map(cachedOf)).toEqual([0, 1024, 1152])
  })

  it('lets a context grow as it usually does, and one that shrinks stay around its mean', () => {
    expect(aheadOf([1000, 1100, 4100], [100, 3000, 100, 100], 10)).toBe(4100 + 550)
    expect(aheadOf([900, 1100, 1000], [200, -100], 10)).toBe(1000)
    expect(aheadOf([500], [], 10)).toBe(500)
    expect(aheadOf([], [], 10)).toBeNull()
  })
})
