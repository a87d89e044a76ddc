import type { History } from '../history/history.ts'
import type { TrialRow } from '../wire/operator-trials.ts'
import type { ArmEnd, TrialArm } from '../wire/trials.ts'
import type { TrialRecord } from './record.ts'

type Figures = Omit<ArmEnd, 'of' | 'outcome' | 'reason'>
type ArmRow = TrialRow['arms'][number]

const none: Figures = {
  steps: 0,
  toolCalls: 0,
  failedCalls: 0,
  tokens: { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 },
  costNanoUsd: 0,
  cachedShare: null,
  progress: null,
  progressDelta: null,
}

/** What an arm has done so far, from history's roll-ups. */
export async function figuresOf(history: History, task: string): Promise<Figures> {
  const [totals, tools, activations] = await Promise.all([
    history.totals({ task }),
    history.tools({ task }),
    history.activations(task),
  ])
  const { uncached, cacheRead, cacheWrite, output, reasoning, steps, costNanoUsd, progress, failedCalls } = totals
  const sum = (of: 'calls' | 'errors' | 'interrupted') => tools.reduce((total, tool) => total + tool[of], 0)
  const input = uncached + cacheRead + cacheWrite
  const [first] = activations
  const from = first?.progressFrom ?? null
  const to = activations.at(-1)?.progressTo ?? null
  return {
    steps,
    toolCalls: sum('calls'),
    failedCalls: failedCalls + sum('errors') + sum('interrupted'),
    tokens: { uncached, cacheRead, cacheWrite, output, reasoning },
    costNanoUsd,
    cachedShare: input === 0 ? null : cacheRead / input,
    progress,
    // One that was measured and took no step has moved by nothing.
    progressDelta: from !== null && to !== null ? to - from : progress === null ? null : 0,
  }
}

export async function armRow(
  history: History,
  { plan, arms }: TrialRecord,
  arm: TrialArm,
  current: string | null,
): Promise<ArmRow> {
  const found = arms[arm]
  const revision = plan.revisions[arm]
  if (found === undefined)
    return { arm, agent: null, task: null, revision, state: 'waiting', outcome: null, reason: null, ...none }
  const { agent, task, end } = found
  const isRunning = task === current
  const {
    of: _of,
    outcome,
    reason: _reason,
    ...figures
  } = end ?? {
    ...{ of: 'end', outcome: null, reason: null },
    ...(isRunning ? await figuresOf(history, task) : none),
  }
  const state = end !== null ? 'finished' : isRunning ? 'running' : 'waiting'
  return { arm, agent, task, revision, state, outcome, reason: end?.reason ?? null, ...figures }
}

export function trialRow({ trial, plan, plannedAt, result, closedAt, arms }: TrialRecord, rows: ArmRow[]): TrialRow {
  const costs = rows.map(({ costNanoUsd }) => costNanoUsd)
  const { agent, proposal, capNanoUsd, capTokens, maxSteps, simulated } = plan
  const hasBegun = rows.some(({ state }) => state !== 'waiting')
  return {
    ...{ trial, agent, proposal, capNanoUsd, capTokens, maxSteps, simulated },
    state: result?.state ?? (hasBegun ? 'running' : 'starting'),
    reason: result?.reason ?? null,
    startedAt: plannedAt,
    endedAt: closedAt,
    forkedAt: arms.before?.forkedAt ?? 0,
    spentNanoUsd: costs.some((cost) => cost === null)
      ? null
      : costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0),
    arms: rows,
  }
}
