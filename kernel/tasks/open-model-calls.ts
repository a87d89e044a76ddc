import {
  draft,
  type Event,
  type EventData,
  type EventDraft,
  type ModelChoice,
  type TokenUsage,
} from '../wire/events.ts'

const killed = 'the kernel ended while the model was asked'
const nothing: TokenUsage = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }

/**
 * Closes the model calls that a kill left open: a reservation without its attempt is charged as a whole, since nobody knows
 * what the provider has done for it, and the call gets its end with the sum of its attempts.
 *
 * @param events `model.reserved`, `model.attempted` and `model.called` of one task, in order.
 */
export async function closeModelCalls(
  events: AsyncIterable<Event>,
  { api, simulated }: Pick<ModelChoice, 'api' | 'simulated'>,
): Promise<{ drafts: EventDraft[]; charged: number }> {
  const calls = new Map<number, Event<'model.reserved'>[]>()
  const attempts = new Map<number, EventData<'model.attempted'>>()
  for await (const event of events) {
    if (event.kind === 'model.reserved') {
      calls.set(event.data.request, [...(calls.get(event.data.request) ?? []), event])
    } else if (event.kind === 'model.attempted') {
      if (event.data.reservation !== undefined) attempts.set(event.data.reservation, event.data)
    } else if (event.kind === 'model.called') calls.delete(event.data.request)
  }
  const drafts: EventDraft[] = []
  let charged = 0
  for (const reserved of calls.values()) {
    const made: EventData<'model.attempted'>[] = []
    for (const event of reserved) {
      const known = attempts.get(event.seq)
      const attempt = known ?? wholeCharge(event)
      made.push(attempt)
      if (known !== undefined) continue
      charged += 1
      drafts.push(draft('model.attempted', attempt, headerOf(event)))
    }
    const [first] = reserved
    if (first !== undefined)
      drafts.push(draft('model.called', calledOf(first, made, { api, simulated }), headerOf(first)))
  }
  return { drafts, charged }
}

function wholeCharge({ seq, data }: Event<'model.reserved'>): EventData<'model.attempted'> {
  return {
    attempt: data.attempt,
    model: data.model,
    status: 'aborted',
    httpStatus: null,
    error: killed,
    durationMs: 0,
    usage: { ...nothing, uncached: data.promptTokens, output: data.tokens - data.promptTokens },
    usageSource: 'estimated',
    costNanoUsd: data.nanoUsd,
    reservation: seq,
  }
}

function calledOf(
  { data }: Event<'model.reserved'>,
  attempts: readonly EventData<'model.attempted'>[],
  model: Pick<ModelChoice, 'api' | 'simulated'>,
): EventData<'model.called'> {
  const { request, requestHash, parent, keptItems, items } = data
  const costs = attempts.map(({ costNanoUsd }) => costNanoUsd)
  const isKnown = costs.every((cost) => cost !== null)
  return {
    ...{ request, parent, keptItems, items, ...(requestHash === undefined ? {} : { requestHash }) },
    ...model,
    model: data.model,
    status: 'aborted',
    attempts: attempts.length,
    usage: attempts.reduce((sum, { usage }) => (usage === null ? sum : added(sum, usage)), nothing),
    usageSource: 'estimated',
    costNanoUsd: isKnown ? costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0) : null,
    costReason: isKnown ? null : 'no price is known',
    priceVersion: null,
    durationMs: 0,
    firstByteMs: null,
    output: [],
    firstDifference: null,
    composition: { instructions: 0, tools: 0, messages: 0, toolResults: 0 },
    error: killed,
  }
}

function added(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    uncached: a.uncached + b.uncached,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  }
}

function headerOf({ generation, turn, step, revision, agent, task, run }: Event): Omit<EventDraft, 'kind' | 'data'> {
  return { actor: 'kernel', agent, task, run, generation, turn, step, revision }
}
