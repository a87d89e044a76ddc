import type { TrialRow } from '../../kernel/wire/operator-trials.ts'
import { dollars, inert, percent, table } from './text.ts'

/** What each arm runs. */
export const armNames = { before: 'active', after: 'candidate' } as const

/** Both arms beside each other, under what the trial came to. */
export function trialLines(row: TrialRow): string[] {
  const { trial, proposal, agent, state, reason, forkedAt, maxSteps, simulated } = row
  const caps = [
    row.capNanoUsd === null ? null : dollars(row.capNanoUsd),
    row.capTokens === null ? null : `${row.capTokens} tokens`,
  ].filter((cap) => cap !== null)
  const from = forkedAt === 0 ? '' : `from event ${forkedAt}, `
  return [
    `${trial} of ${proposal} (${agent}) is ${state}${reason === null ? '' : `: ${inert(reason)}`}`,
    `  ${from}at most ${maxSteps} steps each and ${caps.join(', ')} for both; spent ${dollars(row.spentNanoUsd, simulated)}`,
    ...table(
      ['', 'ended', 'steps', 'tool calls', 'failed', 'tokens', 'cost', 'cached', 'progress'],
      row.arms.map((arm) => [
        armNames[arm.arm],
        arm.ended ?? arm.state,
        arm.steps,
        arm.toolCalls,
        arm.failedCalls,
        arm.tokens.uncached + arm.tokens.cacheRead + arm.tokens.cacheWrite + arm.tokens.output,
        dollars(arm.costNanoUsd),
        percent(arm.cachedShare),
        arm.progressDelta === null
          ? '—'
          : `+${arm.progressDelta} ${inert(arm.progress?.unit ?? '', 40)}`.replace('+-', '−'),
      ]),
    )
      .split('\n')
      .map((line) => `  ${line}`),
    ...row.arms.flatMap((arm) =>
      arm.outcome === 'failed' && arm.reason !== null ? [`  ${armNames[arm.arm]}: ${inert(arm.reason, 1000)}`] : [],
    ),
    '  One run of each shows that it works, and no more.',
  ]
}
