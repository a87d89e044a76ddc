import type { ActivationPoint, EventRow, TaskSummary } from '../../kernel/wire/operator.ts'
import type { Desk } from '../host-client.ts'
import { amount } from './progress.ts'
import { dollars, percent } from './text.ts'

export interface RunResult {
  task: string
  agent: string
  /** `paused` and `interrupted`: not over, it can go on. */
  outcome: 'completed' | 'failed' | 'stopped' | 'budget' | 'claimed' | 'paused' | 'interrupted'
  progress: { value: number; unit: string; source: 'measured' | 'reported' } | null
  modelCalls: number
  tokens: Tokens
  cachedShare: number | null
  /** null: the price of at least one call is unknown. */
  costNanoUsd: number | null
  proposals: { made: number; approved: number; rejected: number; failedChecks: number }
  /** On copies of this task. Not in the figures above. */
  trials: { trials: number; steps: number; tokens: number; costNanoUsd: number | null }
  activations: number
  rollbacks: number
  byActivation: {
    activation: number
    revision: string
    steps: number
    modelCalls: number
    tokens: Tokens
    cachedShare: number | null
    costNanoUsd: number | null
    progressDelta: number | null
  }[]
}

interface Tokens {
  uncached: number
  cacheRead: number
  cacheWrite: number
  output: number
}

/** What a run came to: the last line of `run --json`. `since` is the seq at which it was created. */
export async function runResult(desk: Desk, task: TaskSummary, since: number): Promise<RunResult> {
  const [series, report, events] = await Promise.all([
    desk.tasks.series({ task: task.task }),
    desk.tasks.report({ task: task.task }),
    policyEvents(desk, task.agent, since),
  ])
  const made = new Set(events.filter(({ kind }) => kind === 'proposal.made').map(({ data }) => data.proposal))
  const states = await desk.proposals.list({ agent: task.agent })
  const verdicts = (verdict: string) =>
    events.filter(({ kind, data }) => kind === 'proposal.reviewed' && data.verdict === verdict).length
  const { progress, totals } = task
  return {
    task: task.task,
    agent: task.agent,
    outcome: task.outcome ?? (task.state === 'paused' || task.state === 'pausing' ? 'paused' : 'interrupted'),
    progress: progress && { value: progress.value, unit: progress.unit, source: progress.source },
    modelCalls: totals.modelCalls,
    tokens: tokensOf(totals),
    cachedShare: totals.cachedShare,
    costNanoUsd: totals.costNanoUsd,
    proposals: {
      made: made.size,
      approved: verdicts('approved'),
      rejected: verdicts('rejected'),
      failedChecks: states.filter(({ proposal, state }) => made.has(proposal) && state === 'failed-checks').length,
    },
    trials: report.trials,
    activations: events.filter(({ kind }) => kind === 'revision.activated').length,
    rollbacks: events.filter(({ kind }) => kind === 'revision.rolled-back').length,
    byActivation: series.activations.map(activationResult),
  }
}

function activationResult(point: ActivationPoint): RunResult['byActivation'][number] {
  const { activation, revision, steps, modelCalls, cachedShare, costNanoUsd, progressDelta } = point
  return { activation, revision, steps, modelCalls, tokens: tokensOf(point), cachedShare, costNanoUsd, progressDelta }
}

function tokensOf({ uncached, cacheRead, cacheWrite, output }: Tokens): Tokens {
  return { uncached, cacheRead, cacheWrite, output }
}

async function policyEvents(desk: Desk, agent: string, since: number): Promise<EventRow[]> {
  const found: EventRow[] = []
  let after: number | null = since
  while (after !== null) {
    const page: { events: EventRow[]; next: number | null } = await desk.events.read({
      agent,
      after,
      kinds: ['proposal.made', 'proposal.reviewed', 'revision.activated', 'revision.rolled-back'],
      limit: 1000,
      order: 'asc',
    })
    found.push(...page.events)
    after = page.next
  }
  return found
}

/** The same for a person. */
export function resultLines(result: RunResult, task: TaskSummary): string[] {
  const { proposals } = result
  const simulated = task.model.simulated
  const figures = [
    task.progress && amount(task.progress),
    `${result.modelCalls} model calls`,
    `${percent(result.cachedShare)} cached`,
    dollars(result.costNanoUsd, simulated),
  ].filter((part) => part !== null)
  return [
    // Why it is paused was said when it was.
    `${result.task} ${result.outcome}${task.reason === null || result.outcome === 'paused' ? '' : `: ${task.reason}`}`,
    `  ${figures.join(' · ')}`,
    `  proposals: ${proposals.made} made, ${proposals.approved} approved, ${proposals.rejected} rejected, ${proposals.failedChecks} failed checks; ${result.rollbacks} rolled back`,
    ...trialTotal(result.trials, simulated),
    ...result.byActivation.map(
      (row) =>
        `  r${row.activation}: ${row.steps} steps, ${row.modelCalls} calls, ${percent(row.cachedShare)} cached, ${dollars(row.costNanoUsd, simulated)}${row.progressDelta === null ? '' : `, progress +${row.progressDelta}`}`,
    ),
  ]
}

/** What trials cost beside the task itself. */
export function trialTotal({ trials, steps, tokens, costNanoUsd }: RunResult['trials'], simulated: boolean): string[] {
  if (trials === 0) return []
  const count = trials === 1 ? '1 trial' : `${trials} trials`
  return [
    `  ${count}: ${steps} steps, ${tokens} tokens, ${dollars(costNanoUsd, simulated)}, in the budgets of agent and day`,
  ]
}
