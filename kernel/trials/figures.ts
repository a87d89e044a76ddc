import type { History } from '../history/history.ts'
import type { TrialRow, TrialTotals } from '../wire/operator-trials.ts'
import { cachedShareOf } from '../wire/statistics.ts'
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
  const [first] = activations
  const from = first?.progressFrom ?? null
  const to = activations.at(-1)?.progressTo ?? null
  return {
    steps,
    toolCalls: sum('calls'),
    failedCalls: failedCalls + sum('errors') + sum('interrupted'),
    tokens: { uncached, cacheRead, cacheWrite, output, reasoning },
    costNanoUsd,
    cachedShare: cachedShareOf(totals),
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
  if (found === undefined) return { arm, agent: null, task: null, revision, state: 'waiting', ...unended, ...none }
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
  return {
    arm,
    agent,
    task,
    revision,
    state,
    outcome,
    ended: endedAs(end, plan.maxSteps),
    reason: end?.reason ?? null,
    ...figures,
  }
}

const unended = { outcome: null, ended: null, reason: null }

const outcomes: Readonly<Record<string, string>> = {
  completed: 'goal reached',
  claimed: 'says that it is done',
  failed: 'failed',
  stopped: 'stopped',
}

/** A task calls every limit a budget: here the steps are what was to be done, and the caps what was not. */
function endedAs(end: ArmEnd | null, maxSteps: number): string | null {
  if (end === null) return null
  if (end.outcome !== 'budget') return outcomes[end.outcome] ?? end.outcome
  return end.steps >= maxSteps ? 'all steps done' : `cut short: ${end.reason}`
}

export function trialTotals(rows: readonly TrialRow[]): TrialTotals {
  const arms = rows.flatMap((row) => row.arms)
  const spent = arms.map(({ costNanoUsd }) => costNanoUsd)
  return {
    trials: rows.length,
    steps: arms.reduce((sum, arm) => sum + arm.steps, 0),
    tokens: arms.reduce((sum, { tokens: of }) => sum + of.uncached + of.cacheRead + of.cacheWrite + of.output, 0),
    costNanoUsd: spent.reduce((sum, cost) => (sum === null || cost === null ? null : sum + cost), 0),
  }
}

export function trialRow({ trial, plan, plannedAt, result, closedAt, arms }: TrialRecord, rows: ArmRow[]): TrialRow {
  const costs = rows.map(({ costNanoUsd }) => costNanoUsd)
  const { agent, proposal, task, capNanoUsd, capTokens, maxSteps, simulated } = plan
  const hasBegun = rows.some(({ state }) => state !== 'waiting')
  return {
    ...{ trial, agent, proposal, task, capNanoUsd, capTokens, maxSteps, simulated },
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
