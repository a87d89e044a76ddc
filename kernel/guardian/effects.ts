import type { Effect } from '../wire/operator-effects.ts'
import { contextReplaySchema } from '../wire/operator-replay.ts'
import { minSteps, sentenceOf } from './breach.ts'
import { breakEvenOf } from './break-even.ts'
import type { Core } from './core.ts'
import { compare, type Figures, figuresOf } from './figures.ts'
import { type Interval, medianInterval, ratioInterval } from './intervals.ts'
import { type ActivationRecord, type AgentState, isBreachOpen, proposalOf } from './state.ts'

/** Steps on either side that figures are over, and steps since that a break-even is counted over. */
const most = { before: 200, after: 200, since: 5000 }
const nanoPerUsd = 1e9

type Sides = Pick<Effect, 'before' | 'after'>

/** What each activation was said to bring, and what it brought. All from roll-ups: never a scan of the log. */
export async function effectsOf(core: Core, agent: string): Promise<Effect[]> {
  const state = core.ledger.state(agent)
  const { history } = core.parts
  const rows = (await Promise.all(state.tasks.map(({ task }) => history.activations(task)))).flat()
  const tasksOf = (activation: number) =>
    rows.filter((row) => row.agent === agent && row.activation === activation && row.steps > 0).map(({ task }) => task)
  return Promise.all(state.activations.map((one) => effectOf(core, state, one, tasksOf(one.activation))))
}

async function effectOf(core: Core, state: AgentState, one: ActivationRecord, tasks: string[]): Promise<Effect> {
  const { history } = core.parts
  const [first] = tasks
  const none = { before: [], after: [] }
  const { before, after } = first === undefined ? none : await compare(history, state, one, first, most)
  const sides = { before: figures(before), after: figures(after) }
  const { breach } = one
  return {
    activation: one.activation,
    revision: one.revision,
    predicted: predictionOf(state, one),
    ...sides,
    ...verdictOf(sides),
    breakEven: one.cause === 'proposal' && first !== undefined ? await repaid(core, state, one, tasks, before) : null,
    regressed:
      breach === null
        ? null
        : {
            ...{ at: breach.at, seq: breach.seq, limit: breach.limit, value: breach.measured, bound: breach.bound },
            ...{ text: sentenceOf(breach), isOpen: isBreachOpen(one), leadsTo: breach.leadsTo },
          },
  }
}

function figures(steps: readonly Figures[]): Sides['before'] {
  const settled = steps.filter(({ isFirst }) => !isFirst)
  const measured = steps.flatMap(({ gained, costNanoUsd }) =>
    gained === null || costNanoUsd === null ? [] : [{ gained, cost: costNanoUsd / nanoPerUsd }],
  )
  return {
    inputTokens: medianInterval(settled.map(({ inputTokens }) => inputTokens)),
    costNanoUsd: medianInterval(settled.flatMap((step) => (step.costNanoUsd === null ? [] : [step.costNanoUsd]))),
    cachedShare: medianInterval(
      settled.flatMap((step) => (step.inputTokens === 0 ? [] : [step.cacheRead / step.inputTokens])),
    ),
    progressPerUsd: ratioInterval(measured),
  }
}

/** Under five steps on either side nothing is measured. */
function verdictOf({ before, after }: Sides): Pick<Effect, 'verdict' | 'judgedBy'> {
  const isEnough = (then: Interval | null, now: Interval | null) =>
    then !== null && now !== null && Math.min(then.n, now.n) >= minSteps
  const hasGained = (before.progressPerUsd?.value ?? 0) > 0 || (after.progressPerUsd?.value ?? 0) > 0
  if (hasGained && isEnough(before.progressPerUsd, after.progressPerUsd))
    return { judgedBy: 'progress-per-dollar', verdict: word(after.progressPerUsd, before.progressPerUsd) }
  if (isEnough(before.costNanoUsd, after.costNanoUsd))
    return { judgedBy: 'cost-per-step', verdict: word(before.costNanoUsd, after.costNanoUsd) }
  if (isEnough(before.inputTokens, after.inputTokens))
    return { judgedBy: 'input-tokens', verdict: word(before.inputTokens, after.inputTokens) }
  return { judgedBy: null, verdict: 'not-measured' }
}

/** `better` where all of `high` lies above all of `low`. */
function word(high: Interval | null, low: Interval | null): Effect['verdict'] {
  if (high === null || low === null) return 'not-measured'
  if (high.low > low.high) return 'better'
  return high.high < low.low ? 'worse' : 'inconclusive'
}

function predictionOf(state: AgentState, { proposal }: ActivationRecord): Effect['predicted'] {
  const checks = proposal === null ? [] : (proposalOf(state, proposal)?.checks ?? [])
  const replay = contextReplaySchema.safeParse(checks.findLast(({ check }) => check === 'context-replay')?.details)
  if (!replay.success) return null
  const { before, after, steps } = replay.data
  if (before.inputTokensPerStep === null || after.inputTokensPerStep === null) return null
  return {
    inputTokensPerStep: { before: before.inputTokensPerStep, after: after.inputTokensPerStep },
    cachedShare: { before: before.cachedShare, after: after.cachedShare },
    costNanoUsdPerStep: { before: before.costNanoUsdPerStep, after: after.costNanoUsdPerStep },
    n: steps.length,
  }
}

async function repaid(core: Core, state: AgentState, one: ActivationRecord, tasks: string[], before: Figures[]) {
  const { history } = core.parts
  const { agent } = state
  const madeAt = (activated: ActivationRecord) =>
    activated.proposal === null ? null : (proposalOf(state, activated.proposal)?.madeAt ?? null)
  const until = madeAt(one)
  if (until === null) return null
  const others = state.activations.flatMap((each) => madeAt(each) ?? [])
  const since: Figures[] = []
  for (const task of tasks) {
    const limit = most.since - since.length
    if (limit > 0) since.push(...(await figuresOf(history, agent, one.activation, task, { limit })))
  }
  const after = Math.max(0, ...others.filter((at) => at < until))
  const work = await history.policyWork(agent, { after, until })
  const opinions = proposalOf(state, one.proposal ?? '')?.opinions ?? []
  const asked = opinions.reduce<number | null>((sum, { costNanoUsd }) => addKnown(sum, costNanoUsd), 0)
  const making = { steps: work.steps, costNanoUsd: addKnown(work.costNanoUsd, asked) }
  return breakEvenOf(before, since, making, Math.max(...others))
}

function addKnown(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b
}
