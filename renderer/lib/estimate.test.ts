import { expect, it } from 'vitest'
import type { TaskSummary } from '../../kernel/wire/operator.ts'
import { estimateOf } from './estimate.ts'

const pack = { pack: 'games/hollowmere', name: 'Hollowmere' }
const model = { name: 'small', simulated: false }
const ran = (steps: number, costNanoUsd: number | null, more: object = {}) =>
  ({
    ...{ title: 'Hollowmere', pack: '/packs/games/hollowmere', model, outcome: 'completed' },
    ...{ totals: { steps, costNanoUsd }, createdAt: 1000, finishedAt: 1000 + steps * 10 },
    ...more,
  }) as unknown as TaskSummary

it('an estimate is the median of the earlier runs of the same pack and model that came to their end', () => {
  const others = [
    ran(9, 9, { outcome: 'stopped' }),
    ran(9, 9, { outcome: 'budget' }),
    ran(9, 9, { outcome: null, finishedAt: null }),
    ran(9, 9, { model: { name: 'large', simulated: false } }),
    ran(9, 9, { model: { name: 'small', simulated: true } }),
    ran(9, 9, { pack: '/packs/games/hollowmere-2' }),
    ran(9, 9, { pack: '/packs/not-games/hollowmere', title: 'Another' }),
  ]
  expect(estimateOf(others, pack, model)).toBeNull()
  expect(estimateOf([...others, ran(100, 50), ran(300, 90), ran(110, 60)], pack, model)).toEqual({
    ...{ runs: 3, steps: 110, costNanoUsd: 60, durationMs: 1100 },
  })
  expect(estimateOf([ran(100, 50), ran(200, null)], pack, model)).toMatchObject({ steps: 150, costNanoUsd: null })
})
