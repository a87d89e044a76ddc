import { expect, it } from 'vitest'
import { cachedShareOf, mean, median, ratio } from './statistics.ts'

it('a median is of the middle, a mean of all, and neither is of nothing', () => {
  expect([median([9, 1, 2]), median([4, 1, 2, 9]), median([])]).toEqual([2, 3, null])
  expect([mean([9, 1, 2]), mean([])]).toEqual([4, null])
  expect([ratio(6, 4), ratio(6, 0), ratio(null, 4)]).toEqual([1.5, null, null])
})

it('a cached share is of all input, whatever was written to the cache, and of nothing where nothing was sent', () => {
  expect(cachedShareOf({ uncached: 10, cacheRead: 60, cacheWrite: 30 })).toBe(0.6)
  expect(cachedShareOf({ uncached: 0, cacheRead: 0, cacheWrite: 0 })).toBeNull()
})
