import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { agent, openTestGuardian, type TestGuardian } from '../testing/guardian.ts'
import { limitedStep, limitedSteps } from '../testing/limited-steps.ts'
import { draft } from '../wire/events.ts'

let test: TestGuardian
beforeEach(async () => {
  test = await openTestGuardian({ probationSteps: 3 })
  const choice = {
    name: 'm',
    api: 'responses' as const,
    baseUrl: 'http://127.0.0.1:1/v1',
    keyEnv: null,
    simulated: true,
  }
  const limits = { budgetNanoUsd: null, budgetTokens: null, maxSteps: null, maxMs: null }
  const made = {
    title: 't',
    pack: 'beans',
    instruction: '',
    model: choice,
    sandbox: 'local' as const,
    limits,
    goal: null,
  }
  const rest = { seed: 1, propose: true, approve: 'none' as const, workdir: '/task' }
  await test.history.append([draft('task.created', { ...made, ...rest }, { actor: 'operator', agent, task: 'T-1' })])
})
afterEach(() => test.close())

const replayed = {
  inputTokensPerStep: 1000,
  cachedShare: 0.8,
  costNanoUsdPerStep: 1_000_000,
  inputTokensPerStepAhead: null,
}
const replay = {
  ...{ estimated: true, task: 'T-1', model: 'm', simulated: true, steps: [], ahead: 0, costReason: null },
  before: replayed,
  after: { ...replayed, inputTokensPerStep: 500, cachedShare: 0.4, costNanoUsdPerStep: 600_000 },
  prefixBreak: null,
  fidelity: { compared: 0, equal: 0, firstDifference: null, meteredPerCounted: 1 },
  exceptions: [],
}

describe('the effects of activations', () => {
  it('are those that planted figures add up to: predicted, before, after, the verdict, and what it repaid', async () => {
    let reached = 0
    for (let n = 0; n < 12; n += 1) {
      reached += 2
      await limitedStep(test, { costNanoUsd: 1_000_000, progress: reached })
    }
    await limitedSteps(test, 2, { costNanoUsd: 3_000_000, isPolicyWork: true, progress: reached })
    const proposal = await test.propose('two')
    const details = { ...replay, steps: [] }
    const checked = {
      proposal,
      check: 'context-replay',
      verdict: 'pass' as const,
      summary: '',
      durationMs: 1,
      gates: true,
    }
    await test.history.append([
      draft('proposal.checked', { ...checked, details }, { actor: 'kernel', agent, task: null }),
    ])
    await test.approve(proposal)
    await test.guardian.settled(agent)
    for (let n = 0; n < 11; n += 1) {
      reached += 2
      await limitedStep(test, { costNanoUsd: 250_000, uncached: 300, cacheRead: 200, progress: reached })
    }

    const [seed, two] = await test.guardian.effects(agent)
    expect(seed).toMatchObject({
      activation: 1,
      predicted: null,
      verdict: 'not-measured',
      judgedBy: null,
      breakEven: null,
    })
    const same = (value: number, n: number) => ({ value, low: value, high: value, n })
    expect(two).toMatchObject({
      activation: 2,
      predicted: {
        inputTokensPerStep: { before: 1000, after: 500 },
        cachedShare: { before: 0.8, after: 0.4 },
        costNanoUsdPerStep: { before: 1_000_000, after: 600_000 },
        n: 0,
      },
      before: { inputTokens: same(1000, 13), cachedShare: same(0.8, 13) },
      after: { inputTokens: same(500, 10), costNanoUsd: same(250_000, 10), cachedShare: same(0.4, 10) },
      verdict: 'better',
      judgedBy: 'progress-per-dollar',
      regressed: null,
    })
    expect(two?.before.costNanoUsd).toMatchObject({ value: 1_000_000, n: 13 })
    // 22 units for 2 750 000 since.
    expect(two?.after.progressPerUsd).toMatchObject({ value: expect.closeTo(8000, 6), n: 11 })
    // Before: the first step sets where progress starts from; eleven steps of 2 units for 1 000 000 each.
    expect(two?.breakEven).toMatchObject({
      ...{ spentNanoUsd: 6_000_000, savedNanoUsd: 11_000_000 - 2_750_000, isRepaid: true, atStep: 8 },
      ...{ per: 'unit', steps: 11 },
    })
    expect(two?.breakEven?.line).toHaveLength(12)
  })

  it('say nothing of too few steps, and show a breach with what it leads to', async () => {
    await limitedSteps(test, 4)
    await test.approve(await test.propose('two'))
    await test.guardian.settled(agent)
    await limitedSteps(test, 4, { costNanoUsd: 1 })
    expect((await test.guardian.effects(agent))[1]).toMatchObject({ verdict: 'not-measured', judgedBy: null })
    await limitedSteps(test, 6)
    await test.approve(await test.propose('three'))
    await test.guardian.settled(agent)
    await limitedSteps(test, 7, { costNanoUsd: 5_000_000 })
    expect((await test.guardian.effects(agent))[2]).toMatchObject({
      verdict: 'worse',
      judgedBy: 'cost-per-step',
      regressed: { limit: 'cost-per-step', value: 5_000_000, bound: 3_000_000, isOpen: true, leadsTo: 'propose' },
    })
  })
})
