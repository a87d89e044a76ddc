import { describe, expect, it } from 'vitest'
import { KernelError } from '../../errors.ts'
import type { ContextReplay, ReplayedRequest } from '../../wire/operator-replay.ts'
import type { GuardianParts } from '../core.ts'
import type { CheckRecord } from '../state.ts'
import { candidateOf } from './candidate.fixture.ts'
import { contextReplay } from './context-replay.ts'
import { read, seed, withFiles } from './facts/tree.fixture.ts'
import { judge } from './static.ts'

const request = (total: number, over: Partial<ReplayedRequest> = {}): ReplayedRequest => ({
  tokens: { instructions: 100, tools: 100, messages: 0, toolResults: total - 200, total },
  ...{ cachedShare: 0.8, breaks: null, costNanoUsd: total * 300, error: null, undecided: false },
  ...over,
})
const refused = (error: string, undecided = false): ReplayedRequest =>
  request(200, { tokens: null, cachedShare: null, costNanoUsd: null, error, undecided })
const means = (
  inputTokensPerStep: number,
  cachedShare = 0.8,
  costNanoUsdPerStep: number | null = inputTokensPerStep * 300,
) => ({
  ...{ inputTokensPerStep, cachedShare, costNanoUsdPerStep, inputTokensPerStepAhead: inputTokensPerStep },
})

function replayOf(over: Partial<ContextReplay>, before = request(5000), after = request(5000)): ContextReplay {
  const exceptions = [before, after].flatMap(({ error, undecided }, index) =>
    error === null ? [] : [{ step: 3, side: index === 0 ? ('before' as const) : ('after' as const), error, undecided }],
  )
  return {
    ...{
      estimated: true,
      task: 'T-1',
      model: 'test-model',
      simulated: true,
      ahead: 10,
      costReason: null,
      prefixBreak: null,
    },
    steps: [{ turn: 1, step: 3, seq: 30, recordedInputTokens: 5000, before, after }],
    ...{ before: means(5000), after: means(5000), exceptions },
    fidelity: { compared: 1, equal: 1, firstDifference: null, meteredPerCounted: 1 },
    ...over,
  }
}

const judged = (replay: ContextReplay | null | Error, thresholds = {}, checks: CheckRecord[] = []) => {
  const context = async () => {
    if (replay instanceof Error) throw replay
    return replay
  }
  const parts = { replays: { context, tape: async () => null } } as Partial<GuardianParts> as GuardianParts
  return contextReplay.run(candidateOf({ thresholds, checks }), parts, new AbortController().signal)
}

describe('the verdict of a context replay', () => {
  it('passes what costs about the same, and says that it is an estimate', async () => {
    expect(await judged(replayOf({}))).toMatchObject({
      verdict: 'pass',
      summary: expect.stringContaining('estimate over 1'),
    })
  })

  it('fails what throws where the active revision does not', async () => {
    const thrown = replayOf({}, request(5000), refused('its turn threw: no'))
    expect(await judged(thrown)).toMatchObject({
      verdict: 'fail',
      summary: expect.stringContaining('at recorded step 3'),
    })
  })

  it('is unresolved, never pass, where nothing was decided', async () => {
    const cases = [
      null,
      replayOf({}, refused('its turn threw: no'), request(5000)),
      replayOf({}, request(5000), refused('its turn threw: no sandbox', true)),
      new KernelError('unavailable', 'no box can be had'),
    ]
    for (const replay of cases) expect((await judged(replay)).verdict).toBe('unresolved')
  })

  it('fails what costs more than the profile allows, and passes it where a person allows more', async () => {
    const dear = replayOf({ after: means(12_000) })
    expect((await judged(dear)).verdict).toBe('fail')
    expect((await judged(dear, { inputTokensRatio: 3, costRatio: 3 })).verdict).toBe('pass')
  })

  it('fails a prompt that the cache no longer holds, with and without a price', async () => {
    const prefixBreak = {
      at: 'every step',
      kind: 'instructions',
      index: 0,
      rewarmTokens: 5000,
      rewarmNanoUsd: null,
    } as const
    const priced = replayOf({ before: means(5000, 0.8, 1_400_000), after: means(5000, 0, 5_000_000), prefixBreak })
    const unpriced = replayOf({ before: means(5000, 0.8, null), after: means(5000, 0, null), prefixBreak })
    for (const replay of [priced, unpriced])
      expect(await judged(replay)).toMatchObject({
        verdict: 'fail',
        summary: expect.stringContaining('what the instructions say changes from step to step'),
      })
  })

  it('is unresolved where a tool that the source defines is offered in no request', async () => {
    const tool = "export const tool = { name: 'standing', description: 'Where it stands.', properties: {} }\n"
    const { verdict, summary, details } = judge(read(seed), read(withFiles(seed, { 'tools/index.ts': tool })))
    const checks = [{ seq: 1, hash: '', check: 'static', verdict, summary, details, durationMs: 1, gates: true }]
    const offering = (...after: string[]) => judged(replayOf({ offered: { before: ['shell'], after } }), {}, checks)
    expect(await offering('shell')).toMatchObject({
      verdict: 'unresolved',
      summary: expect.stringContaining('standing never fires: none of its 1 replayed requests offers it'),
    })
    expect((await offering('shell', 'standing')).verdict).toBe('pass')
  })

  it('lets a short prompt grow', async () => {
    expect((await judged(replayOf({ before: means(600), after: means(1500) }))).verdict).toBe('pass')
  })
})
