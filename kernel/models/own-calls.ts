import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import type { History, StoredRequest } from '../history/history.ts'
import { draft, type Event, type EventData, type EventDraft, type ModelChoice } from '../wire/events.ts'
import type { Gateway, GatewayAnswer, OwnCall, OwnCalls, TokenCounter } from './models.ts'

export interface OwnCallParts {
  history: History
  gateway: Gateway
  tokens: TokenCounter
  /** Whether a model of this name is one that the simulator plays. */
  isSimulated(name: string): boolean
}

/** Calls that the kernel makes by itself, for a person: in no task, and recorded and metered as any other. */
export function createOwnCalls({ history, gateway, tokens, isSimulated }: OwnCallParts): OwnCalls {
  const closing = new AbortController()
  let last = 0

  async function ask(call: OwnCall): Promise<GatewayAnswer & { text: string }> {
    if (closing.signal.aborted) throw new KernelError('unavailable', 'the app is ending: start it again first')
    last += 1
    // In no task's budget: in those of the agent and the day.
    const account = `own-call-${last}`
    gateway.openBudget(account, { limitNanoUsd: null, limitTokens: null, spentNanoUsd: 0, spentTokens: 0 })
    try {
      return await send(call, account)
    } finally {
      gateway.closeBudget(account)
    }
  }

  async function send(call: OwnCall, account: string): Promise<GatewayAnswer & { text: string }> {
    const { agent, revision, model, instructions, text } = call
    const header = headerOf(agent, revision)
    const items = [
      { kind: 'instructions' as const, json: JSON.stringify(instructions) },
      { kind: 'item' as const, json: JSON.stringify({ role: 'user', content: text }) },
    ]
    const stored = await history.putRequest({ agent: agent ?? '', task: '', model: model.name, items })
    const answer = await gateway.call({
      ...{ agent: agent ?? '', task: account, model, body: bodyOf(call) },
      signal: AbortSignal.any([closing.signal, AbortSignal.timeout(call.timeoutMs)]),
      onReserve: async (reservation) => {
        const data = { ...reservation, ...requestOf(stored), model: model.name }
        const [event] = await history.append([draft('model.reserved', data, header)])
        failpoint('own-call:reserved')
        return event?.seq ?? 0
      },
      onAttempt: async (attempt) => {
        await history.append([draft('model.attempted', { ...attempt, model: model.name }, header)])
      },
    })
    const { status, attempts, usage, usageSource, costNanoUsd, costReason, priceVersion, durationMs } = answer
    const called: EventData<'model.called'> = {
      ...requestOf(stored),
      ...{ api: model.api, model: model.name, simulated: model.simulated, status, attempts, usage, usageSource },
      ...(answer.prices === undefined ? {} : { prices: answer.prices }),
      ...(answer.cacheReported === undefined ? {} : { cacheReported: answer.cacheReported }),
      ...{ costNanoUsd, costReason, priceVersion, durationMs, firstByteMs: answer.firstByteMs, output: [] },
      firstDifference: null,
      composition: { instructions: tokens.count(instructions), tools: 0, messages: tokens.count(text), toolResults: 0 },
      error: answer.error?.message ?? null,
    }
    await history.append([draft('model.called', called, header)])
    return { ...answer, text: textOf(model.api, answer.response) }
  }

  return {
    ask,

    async recover() {
      const kinds = ['model.reserved', 'model.attempted', 'model.called'] as const
      const { events } = await history.read({ agent: null }, { kinds, order: 'desc', limit: 1000 })
      const ofChecks = events.filter(({ run }) => run === 'check').reverse()
      const called = new Set(ofChecks.flatMap((event) => (event.kind === 'model.called' ? [event.data.request] : [])))
      const tried = new Map(
        ofChecks.flatMap((event) => (event.kind === 'model.attempted' ? [[event.data.reservation, event.data]] : [])),
      )
      for (const event of ofChecks) {
        if (event.kind !== 'model.reserved' || called.has(event.data.request)) continue
        await history.append(chargeOf(event, tried.get(event.seq) ?? null, isSimulated(event.data.model)))
      }
    },

    close: () => closing.abort(),
  }
}

const headerOf = (agent: string | null, revision: string | null) =>
  ({ actor: 'kernel', agent, task: null, run: 'check', revision }) as const

function requestOf({ id, hash, parent, keptItems, itemHashes }: StoredRequest) {
  return { request: id, requestHash: hash, parent, keptItems, items: itemHashes.length }
}

function bodyOf({ model: { name, api }, instructions, text, answerTokens }: OwnCall): Record<string, unknown> {
  const user = { role: 'user', content: text }
  if (api === 'responses') return { model: name, instructions, input: [user], max_output_tokens: answerTokens }
  return {
    model: name,
    messages: [{ role: 'system', content: instructions }, user],
    max_completion_tokens: answerTokens,
  }
}

/** The words of an answer, of either API. */
function textOf(api: ModelChoice['api'], response: GatewayAnswer['response']): string {
  if (response === null) return ''
  if (api === 'chat') {
    const [choice] = (response.choices ?? []) as { message?: { content?: unknown } }[]
    return typeof choice?.message?.content === 'string' ? choice.message.content : ''
  }
  const output = (response.output ?? []) as { content?: { type?: string; text?: unknown }[] }[]
  return output
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .flatMap(({ type, text }) => (type === 'output_text' && typeof text === 'string' ? [text] : []))
    .join('\n')
}

/** As a whole, where not even its try is known: the provider may have been paid for it. */
function chargeOf(
  { seq, agent, revision, data }: Event<'model.reserved'>,
  tried: EventData<'model.attempted'> | null,
  simulated: boolean,
): EventDraft[] {
  const { request, requestHash, parent, keptItems, items, model, tokens, promptTokens, nanoUsd, attempt } = data
  const header = headerOf(agent, revision)
  const error = 'the kernel ended before its answer was recorded'
  const nothing = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }
  const made: EventData<'model.attempted'> = tried ?? {
    ...{ attempt, model, status: 'aborted', httpStatus: null, error, durationMs: 0 },
    usage: { ...nothing, uncached: promptTokens, output: tokens - promptTokens },
    ...{ usageSource: 'estimated', costNanoUsd: nanoUsd, reservation: seq },
  }
  const called: EventData<'model.called'> = {
    ...{ request, parent, keptItems, items, ...(requestHash === undefined ? {} : { requestHash }) },
    ...{ api: 'responses', model, simulated, status: 'aborted', attempts: 1 },
    ...{ usage: made.usage, usageSource: made.usageSource, costNanoUsd: made.costNanoUsd },
    costReason: made.costNanoUsd === null ? 'no price was known' : null,
    ...{ priceVersion: null, durationMs: 0, firstByteMs: null, output: [], firstDifference: null },
    composition: { instructions: 0, tools: 0, messages: 0, toolResults: 0 },
    error,
  }
  return [...(tried === null ? [draft('model.attempted', made, header)] : []), draft('model.called', called, header)]
}
