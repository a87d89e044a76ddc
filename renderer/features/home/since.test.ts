import { expect, it } from 'vitest'
import type { Digest } from '../../../kernel/wire/operator-digest.ts'
import { words } from './since.tsx'

const nothing: Digest = {
  ...{ since: 0, activated: 0, rolledBack: 0, rejected: 0, expired: 0, costNanoUsd: 0, modelCalls: 0 },
  finished: { completed: 0, failed: 0, stopped: 0, budget: 0, claimed: 0 },
  isSimulated: false,
}

it('names what happened and nothing else, a cost that is not known as such, and that nothing happened', () => {
  expect(words(nothing, 0)).toEqual(['nothing happened'])
  expect(
    words(
      {
        ...{ ...nothing, activated: 1, expired: 2, costNanoUsd: 1_210_000_000, modelCalls: 9, isSimulated: true },
        finished: { ...nothing.finished, completed: 2, failed: 1 },
      },
      0,
    ),
  ).toEqual(['3 tasks finished (2 completed, 1 failed)', '1 activated', '2 expired', '+$1.21 (simulated)'])
  expect(words({ ...nothing, costNanoUsd: null, modelCalls: 1 }, 1)).toEqual(['1 failed the checks', '+—'])
})
