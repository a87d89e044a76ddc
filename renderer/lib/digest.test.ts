import { expect, it } from 'vitest'
import { digestOf } from './digest.ts'

const event = (kind: 'revision.activated' | 'revision.rolled-back', at: number, cause: string) => ({
  kind,
  at,
  data: { cause },
})

it('counts a proposal that was activated and rolled back as both, and neither the seed nor the way back as a proposal', () => {
  const events = [
    event('revision.activated', 10, 'seed'),
    event('revision.activated', 20, 'proposal'),
    event('revision.rolled-back', 30, 'operator'),
    event('revision.activated', 30, 'rollback'),
  ]
  expect(digestOf(events, 0)).toEqual({ activated: 1, rolledBack: 1 })
  expect(digestOf(events, 25)).toEqual({ activated: 0, rolledBack: 1 })
})
