import type { TrialRow } from '../../kernel/wire/operator-trials.ts'
import { hash } from './fake-hash.ts'

export function fakeTrial(
  proposal: string,
  forkedAt: number,
  caps: Pick<TrialRow, 'capNanoUsd' | 'capTokens' | 'maxSteps'>,
): TrialRow {
  const arm = (name: 'before' | 'after', better: number): TrialRow['arms'][number] => ({
    arm: name,
    agent: `scout.${name}`,
    task: null,
    revision: hash(name === 'before' ? 2 : 9),
    state: 'finished',
    outcome: 'budget',
    ended: 'all steps done',
    reason: 'the limit of 12 steps is reached',
    steps: 12,
    toolCalls: 14,
    failedCalls: name === 'before' ? 3 : 1,
    tokens: { uncached: 9100, cacheRead: 51_000, cacheWrite: 1500, output: 1240, reasoning: 0 },
    costNanoUsd: 8_400_000 * better,
    cachedShare: 0.83,
    progress: { value: 412 + 40 / better, goal: 1500, unit: 'xp', source: 'measured' },
    progressDelta: Math.round(40 / better),
  })
  return {
    ...caps,
    trial: 'S-1',
    agent: 'scout',
    proposal,
    task: 'T-1',
    state: 'finished',
    reason: null,
    startedAt: Date.now() - 90_000,
    endedAt: Date.now() - 10_000,
    forkedAt,
    spentNanoUsd: 15_100_000,
    arms: [arm('before', 1), arm('after', 0.8)],
    simulated: true,
  }
}
