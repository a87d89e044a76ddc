import type { Effect } from '../../kernel/wire/operator-effects.ts'
import type { FakeWorld } from './fake-world.ts'

/** What each activation of the invented host brought: one that repaid itself, one that regressed. */
export function fakeEffects(world: FakeWorld, kept: ReadonlySet<number>): Effect[] {
  const figure = (value: number, spread: number, n: number) => ({
    ...{ value, low: value * (1 - spread), high: value * (1 + spread), n },
  })
  const none = { inputTokens: null, costNanoUsd: null, cachedShare: null, progressPerUsd: null }
  return world.revisions.map(({ activation, revision, cause, state, at }): Effect => {
    const [before, after] = activation === 2 ? [3_100_000, 1_900_000] : [1_900_000, 6_200_000]
    const spent = 24_000_000
    const each = before - after
    const steps = 40
    const isGood = each > 0
    if (cause !== 'proposal')
      return {
        ...{
          activation,
          revision,
          predicted: null,
          before: none,
          after: none,
          verdict: 'not-measured',
          judgedBy: null,
        },
        ...{ breakEven: null, regressed: null },
      }
    const sides = (cost: number, n: number) => ({
      inputTokens: figure(cost / 400, 0.06, n),
      costNanoUsd: figure(cost, 0.08, n),
      cachedShare: figure(isGood || cost === before ? 0.81 : 0.22, 0.05, n),
      progressPerUsd: figure(2e9 / cost, 0.2, n),
    })
    return {
      ...{ activation, revision },
      predicted: {
        inputTokensPerStep: { before: before / 400, after: (before / 400) * 0.66 },
        cachedShare: { before: 0.81, after: 0.79 },
        costNanoUsdPerStep: { before, after: before * 0.68 },
        n: 12,
      },
      before: sides(before, 31),
      after: sides(after, 9),
      verdict: isGood ? 'better' : 'worse',
      judgedBy: 'cost-per-step',
      breakEven: {
        spentNanoUsd: spent,
        savedNanoUsd: each * steps,
        atStep: isGood ? Math.ceil(spent / each) : null,
        isRepaid: each * steps >= spent,
        basis: `A step cost $${(before / 1e9).toFixed(4)} before (mean, n=31 steps) and $${(after / 1e9).toFixed(4)} since (mean, n=${steps} steps). Making it took 6 steps of work on the policy, $0.0220, and its new prompt prefix $0.0020.`,
        per: 'step',
        steps,
        line: Array.from({ length: steps + 1 }, (_, step) => ({ step, netNanoUsd: each * step - spent })),
      },
      regressed: isGood
        ? null
        : {
            ...{ at: at + 60_000, seq: 1, limit: 'cost-per-step', value: after, bound: before * 3, leadsTo: 'propose' },
            text: 'a step costs $0.00620 (median), where $0.00570 is allowed, over 9 steps against 19 of the revision before',
            isOpen: (state === 'active' || state === 'probation') && !kept.has(activation),
          },
    }
  })
}
