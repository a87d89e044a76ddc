import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { PartialAnswer } from './answer.ts'
import { type AttemptEnd, type AttemptLimits, runAttempt } from './attempt.ts'
import { type Budgets, createBudgets, type Reservation, requirePrice } from './budgets.ts'
import type { ModelCards } from './cards.ts'
import { endpointOf, failureOf, type ModelKeys } from './endpoint.ts'
import { createLedger } from './ledger.ts'
import { limitsOf } from './limits.ts'
import { type Masks, maskedDeltas } from './masked-deltas.ts'
import type { Attempt, Gateway, GatewayAnswer, GatewayCall, PriceTable, SharedBudgets, TokenCounter } from './models.ts'
import { type PromptSize, sizeOf } from './prompt.ts'
import { type ApiCall, apiCall } from './protocols.ts'
import { isTransient, pause, waitMs } from './retry.ts'
import { costOf, estimate, type MeteredUsage, meter, tokensOf } from './usage.ts'

export interface GatewayLimits extends AttemptLimits {
  /** A whole call, its retries and pauses included. */
  totalMs: number
  /** Attempts after the first. */
  retries: number
}

export interface GatewayOptions extends Masks {
  clock: Clock
  prices: PriceTable
  cards: ModelCards
  counter: TokenCounter
  keys: ModelKeys
  /** Of agents and of the day; absent: there are only those of tasks. */
  shared?: SharedBudgets
  limits?: Partial<GatewayLimits>
}

const defaultLimits: GatewayLimits = {
  // Reasoning models are silent for minutes between two events.
  idleMs: 300_000,
  totalMs: 1_800_000,
  retries: 2,
  answerBytes: 64 * 1024 * 1024,
  lineBytes: 16 * 1024 * 1024,
}

/** A report of more output than this, where the model's own limit is lower or not known, is nonsense. */
const mostBelievableOutput = 200_000

const cancelled = { code: 'cancelled', message: 'The call was cancelled.' } as const

export function createGateway(options: GatewayOptions): Gateway {
  const limits = { ...defaultLimits, ...options.limits }
  const budgets = createBudgets()
  return {
    call: (call) => runCall(options, limits, budgets, call),
    openBudget: budgets.open,
    async hold(name, agent, amount) {
      budgets.hold(name, (await options.shared?.accountsOf(agent)) ?? [], amount)
    },
    release: budgets.release,
    budget: budgets.state,
    raiseBudget: budgets.raise,
    closeBudget: budgets.close,
    async requirePrice(agent, model, limitNanoUsd) {
      const shared =
        agent === null
          ? ((await options.shared?.list()) ?? [])
              .filter(({ scope }) => scope === 'day')
              .map((day) => ({ ...day, of: 'the day' }))
          : ((await options.shared?.accountsOf(agent)) ?? [])
      const { price, ...unpriced } = options.prices.price(model, options.clock.now())
      requirePrice(
        [{ of: 'the task', limitNanoUsd }, ...shared],
        model,
        price,
        'reason' in unpriced ? unpriced.reason : null,
      )
    },
    whenRoom: async (task, agent, signal) =>
      options.shared?.whenRoom(agent, budgets.refused(task) ?? { nanoUsd: 0, tokens: 0 }, signal),
    describe(model) {
      const { price } = options.prices.price(model, options.clock.now())
      const { uncached = null, cacheRead = null } = price ?? {}
      return {
        ...limitsOf(model, options.cards),
        cacheReadFactor: uncached === null || uncached === 0 || cacheRead === null ? null : cacheRead / uncached,
      }
    },
    requireAllowed(model, body) {
      apiCall(model, body)
    },
    cost(model, usage) {
      const found = options.prices.price(model, options.clock.now())
      return costOf(usage, found.price, found.price === null ? found.reason : null)
    },
  }
}

async function runCall(
  options: GatewayOptions,
  limits: GatewayLimits,
  budgets: Budgets,
  call: GatewayCall,
): Promise<GatewayAnswer> {
  const { clock, prices, counter, redact } = options
  const startedAt = clock.monotonic()
  const elapsedMs = () => clock.monotonic() - startedAt
  const api = apiCall(call.model, call.body)
  const endpoint = await endpointOf(call.model, options.keys)
  const shared = (await options.shared?.accountsOf(call.agent)) ?? []
  const prompt = sizeOf(api.prompt, counter)
  const { maxOutputTokens } = limitsOf(call.model, options.cards)
  const size = {
    promptTokens: prompt.tokens,
    outputTokens: Math.min(api.askedTokens ?? maxOutputTokens, maxOutputTokens),
  }
  const found = prices.price(call.model, clock.now())
  const priceReason = found.price === null ? found.reason : null
  const ledger = createLedger(found.price, priceReason, prices.version)
  const reserve = () => budgets.reserve(call.task, shared, size, found.price, priceReason)
  let firstByteMs: number | null = null

  const finish = (
    status: GatewayAnswer['status'],
    attempts: number,
    response: GatewayAnswer['response'] = null,
    error: GatewayAnswer['error'] = null,
  ): GatewayAnswer => ({
    status,
    response,
    attempts,
    ...ledger.totals(),
    durationMs: elapsedMs(),
    firstByteMs,
    error: error === null ? null : { ...error, message: redact(error.message) },
  })

  let reservation = reserve()
  for (let attempt = 1; ; attempt += 1) {
    const recorded = await settleOnThrow(reservation, 0, () => record(call, attempt, prompt, reservation))
    if (call.signal.aborted) {
      reservation.settle(0, 0)
      await call.onAttempt({ ...unsent(attempt), ...recorded })
      return finish('aborted', attempt, null, cancelled)
    }
    const attemptAt = elapsedMs()
    const answer = api.answer()
    const shown = call.onDelta === undefined ? null : maskedDeltas(call.onDelta, options)
    const reader = { signal: call.signal, ...(shown === null ? {} : { onDelta: shown.take }) }
    const sending = { endpoint, path: api.path, body: api.body(outputLimit(api, reservation)), answer }
    const end = await settleOnThrow(reservation, prompt.tokens, async () => {
      const end = await runAttempt(clock, sending, reader, limits, limits.totalMs - attemptAt)
      if (end.status !== 'aborted') await shown?.flush()
      return end
    })
    const metered = meterAttempt(end, answer, prompt, Math.max(maxOutputTokens, mostBelievableOutput), counter)
    const costNanoUsd = ledger.charge(metered, answer.reportedNanoUsd())
    reservation.settle(metered === null ? 0 : tokensOf(metered.usage), costNanoUsd)
    if (end.firstEventMs !== null) firstByteMs ??= attemptAt + end.firstEventMs
    await call.onAttempt({
      attempt,
      status: end.status,
      httpStatus: end.httpStatus,
      error: end.error === null ? null : redact(end.error.message),
      durationMs: end.durationMs,
      usage: metered?.usage ?? null,
      usageSource: metered?.source ?? 'none',
      costNanoUsd,
      ...recorded,
    })
    if (end.status === 'aborted') return finish('aborted', attempt, null, cancelled)
    const response = redactResponse(answer.response(), redact)
    if (end.error === null) return finish(end.status, attempt, response)

    const failure = failureOf(end.error, call.model)
    const wait = waitMs(attempt, end.error.retryAfter, clock.now(), Math.random())
    const isLast = attempt > limits.retries || elapsedMs() + wait >= limits.totalMs
    // What the reader has seen cannot be taken back: only an attempt that showed nothing is made again.
    if (isLast || answer.hasGrown || !isTransient(end.error)) return finish(end.status, attempt, response, failure)
    await pause(wait, call.signal)
    if (call.signal.aborted) return finish('aborted', attempt, null, cancelled)
    try {
      reservation = reserve()
    } catch (error) {
      if (error instanceof KernelError) return finish('failed', attempt, null, error)
      throw error
    }
  }
}

/** Has the reservation recorded before anything is sent. */
async function record(
  call: GatewayCall,
  attempt: number,
  { tokens }: PromptSize,
  reservation: Reservation,
): Promise<{ reservation?: number }> {
  if (call.onReserve === undefined) return {}
  const { tokens: reserved, nanoUsd } = reservation
  return { reservation: await call.onReserve({ attempt, promptTokens: tokens, tokens: reserved, nanoUsd }) }
}

/** An attempt that was cancelled before it was sent. */
const unsent = (attempt: number): Attempt => ({
  attempt,
  status: 'aborted',
  httpStatus: null,
  error: 'cancelled before it was sent',
  durationMs: 0,
  usage: null,
  usageSource: 'none',
  costNanoUsd: 0,
})

/** What the provider must be told: what was asked for, or what a budget leaves; null where nobody limits it. */
function outputLimit({ askedTokens }: ApiCall, { mustLimit, outputTokens }: Reservation): number | null {
  return mustLimit || askedTokens !== null ? outputTokens : null
}

/** A failure of ours, or of the reader, is not the provider's, which is still owed for what was sent. */
async function settleOnThrow<T>(reservation: Reservation, sentTokens: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    reservation.settle(sentTokens, sentTokens === 0 ? 0 : null)
    throw error
  }
}

/** null: nothing was generated, and nothing is charged. */
function meterAttempt(
  end: AttemptEnd,
  answer: PartialAnswer,
  prompt: PromptSize,
  mostOutputTokens: number,
  counter: TokenCounter,
): MeteredUsage | null {
  if (end.error?.isUnanswered) return null
  const evidence = {
    promptTokens: prompt.tokens,
    mostPromptTokens: prompt.mostTokens,
    emittedTokens: answer.emittedTokens(counter),
    mostOutputTokens,
  }
  const isPartial = end.status === 'failed' || end.status === 'aborted'
  return isPartial && answer.end === null ? estimate(evidence) : meter(answer.report(), evidence)
}

function redactResponse(
  response: Record<string, unknown> | null,
  redact: (text: string) => string,
): Record<string, unknown> | null {
  const text = JSON.stringify(response)
  const clean = redact(text)
  return clean === text ? response : JSON.parse(clean)
}
