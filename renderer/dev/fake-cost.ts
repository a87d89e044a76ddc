import type { CostPoint, CostReport, CostSums } from '../../kernel/wire/operator-cost.ts'
import { os } from './fake-contract.ts'
import type { FakeWorld } from './fake-world.ts'

const noSums: CostSums = {
  ...{ uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0, costNanoUsd: 0, knownNanoUsd: 0 },
  ...{ calls: 0, failed: 0, unpriced: 0, simulated: 0, estimated: 0, cacheUnreported: 0 },
}

/** Costs of the invented steps. */
export function fakeCost(world: FakeWorld, isBroken = false) {
  const report = (scope: CostReport['scope']): CostReport => {
    const steps = world.isEmpty ? [] : world.steps.filter((step) => scope.of !== 'turn' || step.turn === scope.turn)
    const points = steps.map(
      (step, index): CostPoint => ({
        ...{
          from: index + 1,
          calls: 1,
          uncached: step.uncached,
          cacheRead: step.cacheRead,
          cacheWrite: step.cacheWrite,
        },
        ...{ output: step.output, reasoning: 0, knownNanoUsd: step.costNanoUsd ?? 0, unpriced: 0 },
        ...{ breaks: step.cacheBreak ? 1 : 0, instructions: 1180, tools: 1960, memory: index > 24 ? 410 : 0 },
        ...{ messages: 300 + 24 * (index % 30), toolResults: 240 + 190 * (index % 30) },
        ...{ turn: step.turn, step: step.step, activation: step.activation, seq: index + 10 },
      }),
    )
    const sum = (of: readonly CostPoint[]): CostSums => {
      const total = (name: 'uncached' | 'cacheRead' | 'cacheWrite' | 'output' | 'knownNanoUsd') =>
        of.reduce((all, point) => all + point[name], 0)
      const known = total('knownNanoUsd')
      return {
        ...{ ...noSums, uncached: total('uncached'), cacheRead: total('cacheRead'), cacheWrite: total('cacheWrite') },
        ...{ output: total('output'), knownNanoUsd: known, costNanoUsd: known, calls: of.length, simulated: of.length },
      }
    }
    const whole = sum(points)
    const total = points.length === 0 ? noSums : { ...whole, failed: 1, unpriced: 1, costNanoUsd: null }
    const broken = points.filter(({ breaks }) => breaks > 0)
    const own = { ...{ agent: 'scout', task: 'T-1', model: 'sim-apprentice', idleMs: 900, costNanoUsd: 9_100_000 } }
    return {
      ...{
        scope,
        at: Date.now(),
        since: null,
        total: { ...total, turns: new Set(points.map(({ turn }) => turn)).size },
      },
      byModel: points.length === 0 ? [] : [{ ...total, model: 'sim-apprentice' }],
      byRevision: [...new Set(points.map(({ activation }) => activation))].map((activation) => ({
        ...sum(points.filter((point) => point.activation === activation)),
        ...{
          agent: 'scout',
          activation: activation ?? 0,
          revision: world.revisions[(activation ?? 1) - 1]?.revision ?? '',
        },
      })),
      byTask: points.length === 0 ? [] : [{ ...total, agent: 'scout', task: 'T-1' }],
      byTool: (['shell', 'gather', 'read', ''] as const).map((name, index) => ({
        ...{
          name,
          purpose: 'task' as const,
          toolCalls: name === '' ? 0 : 40 - index * 12,
          reasoning: 0,
          cacheWrite: 0,
        },
        ...{ uncached: Math.round(whole.uncached / (index + 2)), cacheRead: Math.round(whole.cacheRead / (index + 2)) },
        ...{
          output: Math.round(whole.output / (index + 2)),
          knownNanoUsd: Math.round(whole.knownNanoUsd / (index + 2)),
        },
        costNanoUsd: Math.round(whole.knownNanoUsd / (index + 2)),
      })),
      series: { unit: 'step', size: 1, points },
      breaks: {
        ...{ count: broken.length + 1, missed: 4820 * (broken.length + 1), missedUnknown: 0 },
        missedNanoUsd: 5_422_500 * (broken.length + 1),
        rows: [
          ...broken.map((point) => ({
            ...{ ...own, seq: point.seq ?? 0, at: Date.now() - 60_000, turn: point.turn, step: point.step },
            ...{ activation: point.activation ?? 1, item: 1, kind: 'tools' as const, what: 'tools' as const },
            ...{
              cause: 'revision' as const,
              because: `r${point.activation}, which P-2 brought sends other tool definitions`,
            },
            ...{ event: 41, proposal: 'P-2', missed: 4820, missedNanoUsd: 5_422_500 },
          })),
          {
            ...{
              ...own,
              seq: 77,
              at: Date.now() - 900_000,
              turn: 2,
              step: 31,
              activation: 1,
              item: 4,
              kind: 'item' as const,
            },
            ...{ what: 'memory' as const, cause: 'memory' as const, event: 76, proposal: null },
            because: 'the agent put a summary in the place of its earlier steps',
            ...{ missed: 4820, missedNanoUsd: 5_422_500 },
          },
        ],
      },
      context: {
        rentUnknown: 0,
        blocks: (['instructions', 'tools', 'memory', 'messages', 'toolResults'] as const).map((block, index) => ({
          ...{
            block,
            tokens: points.reduce((all, point) => all + point[block], 0),
            latest: points.at(-1)?.[block] ?? null,
          },
          rentNanoUsd: index < 3 ? points.reduce((all, point) => all + point[block], 0) * 210 : null,
        })),
      },
      repeats: [
        ...(points.length === 0
          ? []
          : ([
              ['look', 9],
              ['craft --all', 3],
            ] as const)
        ).map(([command, calls]) => ({
          ...{ task: 'T-1', name: 'shell', arguments: JSON.stringify({ command }), calls: calls as number },
          ...{
            tokens: 3100 * (calls as number),
            costNanoUsd: 900_000 * (calls as number),
            knownNanoUsd: 900_000 * (calls as number),
          },
        })),
      ],
      troubled: [
        {
          ...{ seq: 58, at: Date.now() - 300_000, task: 'T-1', agent: 'scout', model: 'sim-apprentice' },
          ...{ status: 'failed' as const, usageSource: 'none' as const, costNanoUsd: null },
          reason: 'the provider ended the stream before the answer was whole; no price was known; no tokens are known',
        },
      ],
      caps: [
        {
          ...{
            of: 'task',
            name: 'T-1',
            limitNanoUsd: 2e9,
            spentNanoUsd: whole.knownNanoUsd,
            limitTokens: null,
            spentTokens: 0,
          },
        },
        {
          ...{
            of: 'day',
            name: 'today',
            limitNanoUsd: null,
            spentNanoUsd: whole.knownNanoUsd,
            limitTokens: null,
            spentTokens: 0,
          },
        },
      ],
    }
  }
  return {
    report: os.cost.report.handler(({ input }) => {
      if (isBroken) throw new Error('the database is locked')
      return report(input.scope)
    }),
    difference: os.cost.difference.handler(() => ({
      before: '…"name":"shell","description":"Run a command."},{"type":"function","name":"write"…',
      after: '…"name":"shell","description":"Run a command."},{"type":"function","name":"gather"…',
    })),
    prices: os.cost.prices.handler(() => ({
      version: 'genai-prices 0.1.8 of 2026-09-23 + 1 of the operator’s (a1b2c3d4)',
      rows: world.isEmpty
        ? []
        : [
            {
              ...{
                model: 'sim-apprentice',
                baseUrl: 'http://127.0.0.1:9',
                simulated: true,
                input: 1.25,
                cachedInput: 0.125,
              },
              ...{
                cacheWrite: 1.25,
                output: 10,
                above: [],
                since: '2026-09-23',
                source: 'simulator model card (simulated)',
              },
              ...{ reason: null, isOverride: false },
            },
            {
              ...{
                model: 'qwen3-32b',
                baseUrl: 'http://127.0.0.1:8000/v1',
                simulated: false,
                input: 0.1,
                cachedInput: null,
              },
              ...{ cacheWrite: null, output: 0.3, above: [], since: '2026-11-02', source: 'set by the operator' },
              ...{ reason: null, isOverride: true },
            },
            {
              ...{
                model: 'house-model',
                baseUrl: 'https://models.example/v1',
                simulated: false,
                input: null,
                cachedInput: null,
              },
              ...{ cacheWrite: null, output: null, above: [], since: null, source: null, isOverride: false },
              reason: 'genai-prices 0.1.8 lists no provider at models.example',
            },
          ],
    })),
  }
}
