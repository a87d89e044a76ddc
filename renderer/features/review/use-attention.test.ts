import { afterEach, describe, expect, it, vi } from 'vitest'
import { isMeant } from './use-attention.ts'

describe('a key or click of a verdict', () => {
  afterEach(() => vi.useRealTimers())

  it('is not meant without attention, nor in the first 800 ms of it', () => {
    vi.useFakeTimers({ now: 10_799 })
    expect(isMeant(null)).toBe(false)
    expect(isMeant({ since: 10_000, at: 500 })).toBe(false)
    vi.setSystemTime(10_800)
    expect(isMeant({ since: 10_000, at: 500 })).toBe(true)
  })

  it('is not meant when it was made before and only handed over late', () => {
    vi.useFakeTimers({ now: 15_000 })
    const attention = { since: 10_000, at: 500 }
    expect(isMeant(attention, { timeStamp: 499 })).toBe(false)
    expect(isMeant(attention, { timeStamp: 1299 })).toBe(false)
    expect(isMeant(attention, { timeStamp: 1300 })).toBe(true)
  })
})
