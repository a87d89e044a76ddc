import type { ErrorCode } from '../errors.ts'
import type { EventData, ModelChoice, TokenUsage } from '../wire/events.ts'

/** Nano-dollars per token in each bucket. `null`: not known; never zero and never a neighbour's. */
export interface BucketPrices {
  uncached: number | null
  cacheRead: number | null
  cacheWrite: number | null
  output: number | null
}

/** Price of one model. */
export interface ModelPrice extends BucketPrices {
  /** Prices of a whole call whose prompt has more than `inputTokens` tokens, ascending. */
  above?: { inputTokens: number; price: BucketPrices }[]
  /** Date of the entry, ISO, and where it is from. */
  since: string
  source: string
}

export interface PriceTable {
  /** Names the table in every event that used it. */
  readonly version: string
  /** The price in force at `at` (epoch ms) for this model at this endpoint; null with the reason where there is none. */
  price(
    model: Pick<ModelChoice, 'name' | 'baseUrl' | 'simulated'>,
    at: number,
  ): { price: ModelPrice } | { price: null; reason: string }
}

export type SetPrice = NonNullable<EventData<'price.changed'>['price']>

/** The prices that the operator has set; each change is an event, and in force at once. */
export interface OperatorPrices {
  list(): readonly SetPrice[]
  /** @throws KernelError `invalid`: no endpoint, no amount. */
  set(price: Omit<SetPrice, 'since'>): Promise<number>
}

/** Integer nano-dollars, each bucket rounded half up on its own; null and the reason when a bucket in use has no price. */
export type CostOf = (
  usage: TokenUsage,
  price: ModelPrice | null,
  reason: string | null,
) => { costNanoUsd: number | null; reason: string | null }

/** What may still be spent, and the reservations against it. One per task. */
export interface BudgetState {
  limitNanoUsd: number | null
  limitTokens: number | null
  spentNanoUsd: number
  spentTokens: number
  reservedNanoUsd: number
  reservedTokens: number
}

export interface GatewayCall {
  /** Budgets and events belong to it. */
  agent: string
  task: string
  model: ModelChoice
  /** Validated against the allowlist by the gateway; items by reference already resolved. */
  body: Record<string, unknown>
  signal: AbortSignal
  /** Called for what grows; awaiting it pauses the upstream. */
  onDelta?: (delta: { type: 'text' | 'arguments' | 'reasoning'; text: string }) => Promise<void> | void
  /** Called before each attempt is sent; nothing is sent until it resolves. Recorded, so that a kill cannot lose the charge. */
  onReserve?: (reservation: {
    attempt: number
    promptTokens: number
    tokens: number
    nanoUsd: number | null
  }) => Promise<number>
  /** Called once per attempt, failed and aborted ones too, before `call` settles. */
  onAttempt: (attempt: Attempt) => Promise<void>
}

export interface Attempt {
  attempt: number
  status: 'completed' | 'incomplete' | 'failed' | 'aborted'
  httpStatus: number | null
  error: string | null
  durationMs: number
  usage: TokenUsage | null
  usageSource: 'reported' | 'estimated' | 'none'
  costNanoUsd: number | null
  /** What `onReserve` gave. */
  reservation?: number
}

export interface Amount {
  nanoUsd: number
  tokens: number
}

/** A limit and what counts against it, whoever shares it. */
export interface Account extends BudgetState {
  scope: 'task' | 'agent' | 'day'
  /** As a person would say it: "the budget of …". */
  of: string
}

/** A limit that several tasks share: of the day (local midnight to midnight), or of an agent and its forks. */
export interface SharedBudget {
  scope: 'day' | 'agent'
  /** The root of the agent's lineage; null for the day. */
  agent: string | null
  limitNanoUsd: number | null
  limitTokens: number | null
  spentNanoUsd: number
  spentTokens: number
}

export interface SharedLimits {
  nanoUsd: number | null
  tokens: number | null
}

/**
 * Budgets that several tasks share: of the day, and of an agent with all its forks. Set by the operator, kept as events,
 * applied at once; spend before this start is from roll-ups. What simulated calls would have cost counts too.
 */
export interface SharedBudgets {
  /** Those that a call of this agent counts against, of the day that it is now. */
  accountsOf(agent: string): Promise<readonly Account[]>
  /** Every budget that is set, and the day's in any case. */
  list(): Promise<SharedBudget[]>
  /** @param agent null: the day's. @param limits those left out stay as they are. @throws KernelError `not-found`, `invalid`. */
  set(agent: string | null, limits: { [K in keyof SharedLimits]?: SharedLimits[K] | undefined }): Promise<number>
  /** Resolves when a call of this agent that needs so much could begin, or when `signal` aborts. */
  whenRoom(agent: string, needed: Amount, signal: AbortSignal): Promise<void>
}

export interface GatewayAnswer {
  status: 'completed' | 'incomplete' | 'failed' | 'aborted'
  /** The provider's answer, whole; null when failed or aborted before any. */
  response: Record<string, unknown> | null
  attempts: number
  usage: TokenUsage | null
  usageSource: 'reported' | 'estimated' | 'none'
  costNanoUsd: number | null
  costReason: string | null
  priceVersion: string | null
  /** What it was charged by; absent where the table has no price. */
  prices?: BucketPrices
  /** Whether the provider said how much it read from its cache; absent where its report was not used. */
  cacheReported?: boolean
  durationMs: number
  firstByteMs: number | null
  /** Redacted; null unless failed or aborted. `code` is what the executor is told. */
  error: { code: ErrorCode; message: string; details?: Record<string, unknown> } | null
}

/**
 * The only way to a model. Holds the keys, counts every attempt, and enforces budgets before sending:
 * worst case (prompt plus max output, clamped to what is left) is reserved, and settled after.
 */
export interface Gateway {
  /**
   * Never throws for what the provider does: that is an answer with `status` failed.
   * @throws KernelError `invalid` (field not allowed, bad number), `over-budget` (before anything is sent; details name limit and spend),
   * `unavailable` (no key where it should be; a USD budget with an unknown price: set a price or use a token budget).
   */
  call(call: GatewayCall): Promise<GatewayAnswer>
  /** Tells the limits of a task, and what was spent before this process (from roll-ups). */
  openBudget(
    task: string,
    state: Pick<BudgetState, 'limitNanoUsd' | 'limitTokens' | 'spentNanoUsd' | 'spentTokens'>,
    hold?: string,
  ): void
  /**
   * Sets this much aside in the budgets that the agent shares with others, for tasks that are opened with the hold's name:
   * their calls draw on it. @throws KernelError `over-budget`, with nothing set aside.
   */
  hold(name: string, agent: string, amount: { nanoUsd: number | null; tokens: number | null }): Promise<void>
  release(name: string): void
  budget(task: string): BudgetState | null
  raiseBudget(task: string, limits: Pick<BudgetState, 'limitNanoUsd' | 'limitTokens'>): void
  /**
   * Whether calls of this model could be let through under the budgets in USD: the task's own limit, and those shared.
   * @param agent null: one that is to be made. @throws KernelError `invalid` where one of them is in USD and no price of the model is known.
   */
  requirePrice(agent: string | null, model: ModelChoice, limitNanoUsd: number | null): Promise<void>
  closeBudget(task: string): void
  /**
   * Resolves when the budgets that this agent shares with others have room for what the task was last refused, or when
   * `signal` aborts; at once where there are none.
   */
  whenRoom(task: string, agent: string, signal: AbortSignal): Promise<void>
  /** Facts of a model that the policy is told. */
  describe(model: ModelChoice): { contextWindow: number; maxOutputTokens: number; cacheReadFactor: number | null }
  /** Whether `call` would take this body. Nothing is sent. @throws KernelError `invalid`. */
  requireAllowed(model: ModelChoice, body: Record<string, unknown>): void
  /** What so many tokens cost at the price in force now; null with the reason where it is not known. */
  cost(model: ModelChoice, usage: TokenUsage): { costNanoUsd: number | null; reason: string | null }
}

/** A call of the kernel's own: one message, no tools. */
export interface OwnCall {
  /** null: of no agent, counted in the day's budget alone. */
  agent: string | null
  revision: string | null
  model: ModelChoice
  instructions: string
  text: string
  /** At most so many tokens of answer. */
  answerTokens: number
  timeoutMs: number
}

export interface OwnCalls {
  /** With the words of the answer; what the provider does wrong is an answer too. @throws what `Gateway.call` throws, and `unavailable` once the app ends. */
  ask(call: OwnCall): Promise<GatewayAnswer & { text: string }>
  /** At start: what was set aside for one that a kill has cut is charged. */
  recover(): Promise<void>
  close(): void
}

/** Token count by o200k over tools, instructions and item texts; memoised per item, capped per text. */
export interface TokenCounter {
  count(text: string): number
}
