import type { ContextReplay, ReplayedRequest } from '../../wire/operator-replay.ts'
import { type CapturedRequest, type ReplayParts, toolNames } from './answers.ts'
import type { ReplayedTask, ReplayPoint } from './points.ts'
import { aheadOf, cachedOf, meanOf, type Prefix, prefixOf } from './prediction.ts'

/** Steps that a prediction looks ahead: as many as a probation lasts by default. */
const ahead = 10

/** One step as one revision would have made it. */
export interface Replayed {
  request: CapturedRequest | null
  error: string | null
  /** `error` may come of what a replay cannot answer. */
  undecided: boolean
}

/** What two revisions would have sent at the same steps, and what was sent. */
export function compare(
  parts: Pick<ReplayParts, 'gateway' | 'tokens'>,
  { task, model, points }: ReplayedTask,
  base: string,
  sides: { before: Replayed[]; after: Replayed[]; recorded: CapturedRequest[] },
): ContextReplay {
  const factor = meteredPerCounted(points, sides.recorded)
  const scaled = (tokens: number) => Math.round(tokens * factor)
  const cost = (input: number, cached: number, output: number) =>
    parts.gateway.cost(model, {
      ...{ uncached: Math.max(0, input - cached), cacheRead: cached, cacheWrite: 0, output, reasoning: 0 },
    })
  const { reason: costReason } = cost(2, 1, 1)
  const rewarm = (tokens: number) => {
    const [anew, held] = [cost(tokens, 0, 0).costNanoUsd, cost(tokens, tokens, 0).costNanoUsd]
    return { rewarmTokens: tokens, rewarmNanoUsd: anew === null || held === null ? null : Math.max(0, anew - held) }
  }

  const requestsOf = (replayed: Replayed[]): ReplayedRequest[] =>
    replayed.map(({ request, error, undecided }, index) => {
      if (request === null) return { ...nothing, error, undecided }
      const { instructions, tools, messages, toolResults } = request.composition
      const total = instructions + tools + messages + toolResults
      const tokens = {
        instructions: scaled(instructions),
        tools: scaled(tools),
        messages: scaled(messages),
        toolResults: scaled(toolResults),
        total: scaled(total),
      }
      const prefix = prefixAt(points, replayed, index, parts)
      const cached = prefix === null ? null : Math.min(tokens.total, cachedOf(scaled(prefix.tokens)))
      return {
        tokens,
        cachedShare: cached === null || tokens.total === 0 ? null : cached / tokens.total,
        breaks: prefix?.breaks ?? null,
        costNanoUsd: cached === null ? null : cost(tokens.total, cached, points[index]?.outputTokens ?? 0).costNanoUsd,
        error,
        undecided,
      }
    })

  const before = requestsOf(sides.before)
  const after = requestsOf(sides.after)
  const exceptionsOf = (side: 'before' | 'after', requests: ReplayedRequest[]) =>
    requests.flatMap(({ error, undecided }, index) =>
      error === null ? [] : [{ step: points[index]?.step ?? 0, side, error, undecided }],
    )
  return {
    estimated: true,
    task,
    model: model.name,
    simulated: model.simulated,
    steps: points.map(({ turn, step, seq, inputTokens, revision }, index) => ({
      ...{ turn, step, seq, recordedInputTokens: revision === base ? inputTokens : null },
      before: before[index] ?? nothing,
      after: after[index] ?? nothing,
    })),
    before: meansOf(points, before),
    after: meansOf(points, after),
    offered: { before: offeredBy(sides.before), after: offeredBy(sides.after) },
    ahead,
    costReason,
    prefixBreak: everyStep(before, after, rewarm) ?? atActivation(parts, points, base, sides, (n) => rewarm(scaled(n))),
    fidelity: { ...fidelityOf(points, base, sides), meteredPerCounted: factor },
    exceptions: [...exceptionsOf('before', before), ...exceptionsOf('after', after)],
  }
}

function offeredBy(replayed: readonly Replayed[]): string[] {
  return [...new Set(replayed.flatMap(({ request }) => (request === null ? [] : toolNames(request))))].sort()
}

const nothing: ReplayedRequest = {
  tokens: null,
  cachedShare: null,
  breaks: null,
  costNanoUsd: null,
  error: null,
  undecided: false,
}

/** Against the replayed request of the call before it; null where that is no point. */
function prefixAt(
  points: readonly ReplayPoint[],
  replayed: readonly Replayed[],
  index: number,
  { tokens }: Pick<ReplayParts, 'tokens'>,
): Prefix | null {
  const [earlier, later] = [replayed[index - 1]?.request, replayed[index]?.request]
  return points[index]?.followsLast && earlier && later ? prefixOf(earlier, later, tokens) : null
}

function meansOf(points: readonly ReplayPoint[], requests: readonly ReplayedRequest[]): ContextReplay['before'] {
  const totals = requests.map(({ tokens }) => tokens?.total ?? null)
  const cached = requests.filter(({ cachedShare }) => cachedShare !== null)
  const input = cached.reduce((sum, { tokens }) => sum + (tokens?.total ?? 0), 0)
  const hits = cached.reduce((sum, { tokens, cachedShare }) => sum + (tokens?.total ?? 0) * (cachedShare ?? 0), 0)
  let window: number[] = []
  const growths: number[] = []
  for (const [index, total] of totals.entries()) {
    const last = totals[index - 1]
    if (!points[index]?.followsLast || typeof last !== 'number') window = []
    else if (total !== null) growths.push(total - last)
    if (total !== null) window.push(total)
  }
  return {
    inputTokensPerStep: meanOf(totals),
    cachedShare: input === 0 ? null : hits / input,
    costNanoUsdPerStep: meanOf(requests.map(({ costNanoUsd }) => costNanoUsd)),
    inputTokensPerStepAhead: aheadOf(window, growths, ahead),
  }
}

type Rewarm = (tokens: number) => { rewarmTokens: number; rewarmNanoUsd: number | null }

/** Where most of the candidate's steps part from the step before although the base's do not. */
function everyStep(
  before: readonly ReplayedRequest[],
  after: readonly ReplayedRequest[],
  rewarm: Rewarm,
): ContextReplay['prefixBreak'] {
  const broken = (requests: readonly ReplayedRequest[]) => requests.filter(({ breaks }) => breaks !== null)
  const followed = after.filter(({ cachedShare }) => cachedShare !== null).length
  const own = broken(after)
  const last = own.at(-1)?.breaks
  if (!last || own.length * 2 <= followed || broken(before).length >= own.length) return null
  const lost = meanOf(own.map(({ tokens, cachedShare }) => (tokens?.total ?? 0) * (1 - (cachedShare ?? 0))))
  return { at: 'every step', ...last, ...rewarm(Math.round(lost ?? 0)) }
}

/** Where the candidate's newest request parts from what the provider's cache holds when it takes over. */
function atActivation(
  { tokens }: Pick<ReplayParts, 'tokens'>,
  points: readonly ReplayPoint[],
  base: string,
  sides: { before: Replayed[]; after: Replayed[]; recorded: CapturedRequest[] },
  rewarm: Rewarm,
): ContextReplay['prefixBreak'] {
  const candidate = sides.after.at(-1)?.request
  const replayed = points.at(-1)?.revision === base ? sides.before.at(-1)?.request : null
  const held = replayed ?? sides.recorded.at(-1)
  if (!candidate || !held) return null
  const prefix = prefixOf(held, candidate, tokens)
  if (prefix.breaks === null) return null
  const { instructions, tools, messages, toolResults } = candidate.composition
  const total = instructions + tools + messages + toolResults
  return { at: 'activation', ...prefix.breaks, ...rewarm(Math.max(0, total - prefix.tokens)) }
}

function fidelityOf(
  points: readonly ReplayPoint[],
  base: string,
  { before, recorded }: { before: Replayed[]; recorded: CapturedRequest[] },
): Omit<ContextReplay['fidelity'], 'meteredPerCounted'> {
  let [compared, equal] = [0, 0]
  let firstDifference: ContextReplay['fidelity']['firstDifference'] = null
  for (const [index, { revision, step }] of points.entries()) {
    const [again, once] = [before[index]?.request, recorded[index]]
    // A step that another revision made says nothing of the base's.
    if (revision !== base || !again || !once) continue
    compared += 1
    const end = Math.max(again.items.length, once.items.length)
    const at = Array.from({ length: end }).findIndex((_, item) => again.items[item]?.hash !== once.items[item]?.hash)
    if (at === -1) equal += 1
    else firstDifference ??= { step, index: at, kind: (once.items[at] ?? again.items[at])?.kind ?? 'item' }
  }
  return { compared, equal, firstDifference }
}

/** Services count in their own way: what they metered for recorded requests, for each token that o200k counts there. */
function meteredPerCounted(points: readonly ReplayPoint[], recorded: readonly CapturedRequest[]): number {
  let [metered, counted] = [0, 0]
  for (const [index, { inputTokens }] of points.entries()) {
    const composed = recorded[index]?.composition
    if (inputTokens === null || composed === undefined) continue
    metered += inputTokens
    counted += composed.instructions + composed.tools + composed.messages + composed.toolResults
  }
  return counted === 0 || metered === 0 ? 1 : metered / counted
}
