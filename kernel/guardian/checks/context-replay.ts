import { staticDetailsSchema } from '../../wire/operator-checks.ts'
import type { ContextReplay } from '../../wire/operator-replay.ts'
import { type Candidate, type Check, fail, pass, unresolved } from './check.ts'
import { undecidable } from './undecidable.ts'

const thresholds = {
  /** Recorded steps that are replayed. */
  steps: 12,
  /** Input tokens per step against those of the base, on what is recorded. */
  inputTokensRatio: 2,
  /** The same of cost; where no price is known, of the tokens that the cache does not hold. */
  costRatio: 2,
  /** More input tokens per step than the base's are allowed in any case: a short prompt is soon twice as long. */
  allowedTokens: 2_000,
}

/** What the candidate would have sent at recorded steps, beside what the base would have. Nothing is sent. */
export const contextReplay: Check = {
  name: 'context-replay',
  description:
    'Runs the candidate at recorded steps up to its model call: errors, prompt size, cached share and cost per step.',
  gates: true,
  thresholds,
  rules: { version: 3 },
  async run({ agent, proposal, revision, baseRevision, checks, thresholds: set }, { replays }, signal) {
    const { steps, ...limits } = { ...thresholds, ...set }
    const request = { agent, base: baseRevision, candidate: revision, label: `${agent}.${proposal}.replay`, signal }
    const replay = await undecidable('the replay', () => replays.context({ ...request, steps: Math.max(2, steps) }))
    if (replay === null)
      return {
        ...unresolved('no recorded step to replay yet: this agent has made no model call', { n: 0 }),
        gates: false,
      }
    return 'verdict' in replay ? replay : judge(replay, limits, gainedTools(checks))
  },
}

/** By the kernel's own reading of the source, whatever the executor says that it has. */
function gainedTools(checks: Candidate['checks']): string[] {
  const read = staticDetailsSchema.safeParse(checks.findLast(({ check }) => check === 'static')?.details)
  return read.success ? read.data.gained.filter(({ kind }) => kind === 'tool').map(({ what }) => what) : []
}

function judge(replay: ContextReplay, limits: Omit<typeof thresholds, 'steps'>, gained: readonly string[]) {
  const made = replay.steps.filter(({ before }) => before.tokens !== null)
  const broken = made.filter(({ after }) => after.error !== null)
  const certain = broken.find(({ after }) => !after.undecided)
  if (made.length === 0) {
    const why = replay.exceptions[0]?.error ?? 'it sent nothing'
    return unresolved(`the active revision cannot be replayed, so there is nothing to compare with: ${why}`, replay)
  }
  if (certain !== undefined)
    return fail(
      `at recorded step ${certain.step}, where the active revision asks the model, ${certain.after.error}`,
      replay,
    )
  const [first] = broken
  if (first !== undefined)
    return unresolved(`at recorded step ${first.step} it needs what a replay has not: ${first.after.error}`, replay)
  const { before, after } = replay
  const grown = (after.inputTokensPerStep ?? 0) - (before.inputTokensPerStep ?? 0)
  if (
    ratio(after.inputTokensPerStep, before.inputTokensPerStep) > limits.inputTokensRatio &&
    grown > limits.allowedTokens
  )
    return fail(
      `its prompts are longer: ${tokens(after)} input tokens per step, ${tokens(before)} now; at most ${limits.inputTokensRatio} times are allowed`,
      replay,
    )
  if (after.costNanoUsdPerStep !== null && before.costNanoUsdPerStep !== null) {
    if (
      ratio(after.costNanoUsdPerStep, before.costNanoUsdPerStep) > limits.costRatio &&
      dearer(replay) > limits.allowedTokens
    )
      return fail(`a step would cost ${usd(after)}, ${usd(before)} now${because(replay)}`, replay)
  } else if (ratio(uncached(after), uncached(before)) > limits.costRatio && dearer(replay) > limits.allowedTokens) {
    return fail(
      `${Math.round(uncached(after))} input tokens per step would not come from the prompt cache, ${Math.round(uncached(before))} now${because(replay)}`,
      replay,
    )
  }
  const idle = gained.filter((tool) => replay.offered?.after.includes(tool) === false)
  if (idle.length > 0)
    return unresolved(
      `${idle.slice(0, 5).join(', ')} never fires: none of its ${made.length} replayed requests offers it. Offer it, or leave it out`,
      replay,
    )
  return pass(summaryOf(replay), replay)
}

type Means = ContextReplay['before']

function summaryOf(replay: ContextReplay): string {
  const { before, after, steps, fidelity } = replay
  const share = (means: Means) =>
    means.cachedShare === null ? '' : `, ${Math.round(means.cachedShare * 100)} % of them cached`
  const cost =
    after.costNanoUsdPerStep === null || before.costNanoUsdPerStep === null
      ? ''
      : `; ${usd(before)} → ${usd(after)} a step`
  const doubt =
    fidelity.equal === fidelity.compared
      ? ''
      : `. Only ${fidelity.equal} of ${fidelity.compared} recorded requests of the active revision came out as they were`
  return `estimate over ${steps.length} recorded steps: ${tokens(before)}${share(before)} → ${tokens(after)}${share(after)} input tokens per step${cost}${because(replay)}${doubt}`
}

function because({ prefixBreak }: ContextReplay): string {
  if (prefixBreak === null) return ''
  const { at, kind, index, rewarmTokens } = prefixBreak
  const where = kind === 'tools' ? 'the list of tools' : kind === 'item' ? `item ${index}` : 'what the instructions say'
  return at === 'every step'
    ? `: ${where} changes from step to step, so that the prompt cache is lost each time`
    : `; the prompt cache is lost once, from ${where} on (${rewarmTokens} tokens)`
}

/** Tokens per step that the cache would hold no more, or that are new. */
function dearer({ before, after }: ContextReplay): number {
  return uncached(after) - uncached(before)
}

function uncached({ inputTokensPerStep, cachedShare }: Means): number {
  return (inputTokensPerStep ?? 0) * (1 - (cachedShare ?? 0))
}

function ratio(after: number | null, before: number | null): number {
  return after === null || before === null || before === 0 ? 1 : after / before
}

const tokens = ({ inputTokensPerStep }: Means) => `${Math.round(inputTokensPerStep ?? 0)}`
const usd = ({ costNanoUsdPerStep }: Means) => `$${((costNanoUsdPerStep ?? 0) / 1e9).toFixed(5)}`
