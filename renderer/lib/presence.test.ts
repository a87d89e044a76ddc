import { expect, it } from 'vitest'
import { seenAt } from './presence.ts'

const minute = 60_000

it('a desk is left when nobody looked at it for five minutes, and a reload or a look elsewhere is not that', () => {
  const first = seenAt(null, 0)
  expect(first).toEqual({ at: 0, left: null })
  const looking = seenAt(seenAt(first, minute), 2 * minute)
  expect(looking).toEqual({ at: 2 * minute, left: null })
  const back = seenAt(looking, 60 * minute)
  expect(back).toEqual({ at: 60 * minute, left: 2 * minute })
  expect(seenAt(back, 64 * minute)).toEqual({ at: 64 * minute, left: 2 * minute })
  // A clock that was set back moves nothing.
  expect(seenAt(back, minute)).toEqual({ at: 60 * minute, left: 2 * minute })
})
