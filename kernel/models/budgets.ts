import { KernelError } from '../errors.ts'
import type { BudgetState, ModelPrice } from './models.ts'
import { pricesAt } from './usage.ts'

/** Output that a call is let begin with, at least: fewer tokens would pay for a prompt and get no answer. */
const leastOutputTokens = 256

export interface CallSize {
  promptTokens: number
  /** What the caller asked for, or else the model's most. */
  outputTokens: number
}

/** What one attempt may spend at most. Settled once, whatever comes of the attempt. */
export interface Reservation {
  /** The wanted output, or less where the budget ends before it. */
  outputTokens: number
  /** True where the provider must be told `outputTokens`, or else a budget may not hold. */
  mustLimit: boolean
  /** @param costNanoUsd null (unknown): the whole reservation counts as spent. */
  settle(tokens: number, costNanoUsd: number | null): void
}

export interface Budgets {
  open(task: string, state: Pick<BudgetState, 'limitNanoUsd' | 'limitTokens' | 'spentNanoUsd' | 'spentTokens'>): void
  state(task: string): BudgetState | null
  raise(task: string, limits: Pick<BudgetState, 'limitNanoUsd' | 'limitTokens'>): void
  close(task: string): void
  /**
   * Sets aside the worst case of a call: the prompt uncached and all of its output.
   * @throws KernelError `over-budget` where not even the least output is left; `unavailable` for a USD budget without a price.
   */
  reserve(task: string, size: CallSize, price: ModelPrice | null, reason: string | null): Reservation
}

/** Synchronous throughout: between a look at what is left and its reservation nothing else runs. */
export function createBudgets(): Budgets {
  const states = new Map<string, BudgetState>()
  const get = (task: string): BudgetState => {
    const state = states.get(task)
    if (state === undefined) throw new KernelError('conflict', `Task ${task} has no open budget: it is not running.`)
    return state
  }
  return {
    open: (task, state) => void states.set(task, { ...state, reservedNanoUsd: 0, reservedTokens: 0 }),
    state: (task) => {
      const state = states.get(task)
      return state === undefined ? null : { ...state }
    },
    raise: (task, limits) => void Object.assign(get(task), limits),
    close: (task) => void states.delete(task),
    reserve(task, size, price, reason) {
      const state = get(task)
      const { outputTokens, nanoUsd } = affordable(state, size, price, reason)
      const tokens = size.promptTokens + outputTokens
      state.reservedTokens += tokens
      state.reservedNanoUsd += nanoUsd
      let isOpen = true
      return {
        outputTokens,
        mustLimit: state.limitTokens !== null || state.limitNanoUsd !== null,
        settle(usedTokens, costNanoUsd) {
          if (!isOpen) throw new KernelError('internal', 'a reservation was settled twice')
          isOpen = false
          state.reservedTokens -= tokens
          state.reservedNanoUsd -= nanoUsd
          state.spentTokens += usedTokens
          state.spentNanoUsd += costNanoUsd ?? nanoUsd
        },
      }
    },
  }
}

function affordable(
  state: BudgetState,
  size: CallSize,
  price: ModelPrice | null,
  reason: string | null,
): { outputTokens: number; nanoUsd: number } {
  const least = Math.min(size.outputTokens, leastOutputTokens)
  let outputTokens = size.outputTokens
  if (state.limitTokens !== null) {
    const left = state.limitTokens - state.spentTokens - state.reservedTokens
    outputTokens = Math.min(outputTokens, left - size.promptTokens)
    if (outputTokens < least) throw overBudget(state, 'tokens', size.promptTokens + least)
  }
  const prices = price === null ? null : pricesAt(price, size.promptTokens)
  if (prices === null || prices.uncached === null || prices.output === null) {
    if (state.limitNanoUsd === null) return { outputTokens, nanoUsd: 0 }
    const why = reason ?? `${price?.source ?? 'the price table'} has no full price`
    throw new KernelError(
      'unavailable',
      `This task has a budget in USD, but ${why}: set a price or use a token budget.`,
    )
  }
  const promptNanoUsd = Math.ceil(size.promptTokens * Math.max(prices.uncached, prices.cacheWrite ?? 0))
  if (state.limitNanoUsd !== null) {
    const left = state.limitNanoUsd - state.spentNanoUsd - state.reservedNanoUsd
    if (prices.output > 0) outputTokens = Math.min(outputTokens, Math.floor((left - promptNanoUsd) / prices.output))
    const leastNanoUsd = promptNanoUsd + Math.ceil(least * prices.output)
    if (outputTokens < least || leastNanoUsd > left) throw overBudget(state, 'usd', leastNanoUsd)
  }
  return { outputTokens, nanoUsd: promptNanoUsd + Math.ceil(outputTokens * prices.output) }
}

function overBudget(state: BudgetState, budget: 'usd' | 'tokens', needed: number): KernelError {
  const isUsd = budget === 'usd'
  const show = (amount: number) => (isUsd ? `${(amount / 1e9).toFixed(6)} USD` : `${amount} tokens`)
  const limit = (isUsd ? state.limitNanoUsd : state.limitTokens) ?? 0
  const spent = isUsd ? state.spentNanoUsd : state.spentTokens
  const reserved = isUsd ? state.reservedNanoUsd : state.reservedTokens
  return new KernelError(
    'over-budget',
    `This call may need ${show(needed)}; of ${show(limit)}, ${show(spent)} are spent and ${show(reserved)} reserved by calls in flight. Raise the budget, or send a shorter prompt.`,
    { details: { budget, limit, spent, reserved, needed } },
  )
}
