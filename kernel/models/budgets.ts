import { KernelError } from '../errors.ts'
import type { ModelChoice } from '../wire/events.ts'
import type { Account, Amount, BudgetState, ModelPrice } from './models.ts'
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
  /** The wanted output, or less where a budget ends before it. */
  outputTokens: number
  /** Prompt and output. */
  tokens: number
  /** null: no price is known. */
  nanoUsd: number | null
  /** True where the provider must be told `outputTokens`, or else a budget may not hold. */
  mustLimit: boolean
  /** @param costNanoUsd null (unknown): the whole reservation counts as spent. */
  settle(tokens: number, costNanoUsd: number | null): void
}

/** Set aside in shared budgets for calls that are yet to come. */
interface Hold {
  accounts: readonly Account[]
  left: Amount
}

export interface Budgets {
  /** @param hold name of one that its calls draw on. */
  open(
    task: string,
    state: Pick<BudgetState, 'limitNanoUsd' | 'limitTokens' | 'spentNanoUsd' | 'spentTokens'>,
    hold?: string,
  ): void
  /** @throws KernelError `over-budget`, with nothing set aside. */
  hold(name: string, shared: readonly Account[], amount: { [K in keyof Amount]: number | null }): void
  /** What is left of it is free again. */
  release(name: string): void
  state(task: string): BudgetState | null
  raise(task: string, limits: Pick<BudgetState, 'limitNanoUsd' | 'limitTokens'>): void
  close(task: string): void
  /**
   * Sets aside the worst case of a call, the prompt uncached and all of its output, in the task's account and every shared
   * one: in all of them or in none.
   * @throws KernelError `over-budget` where not even the least output is left; `unavailable` for a USD budget without a price.
   */
  reserve(
    task: string,
    shared: readonly Account[],
    size: CallSize,
    price: ModelPrice | null,
    reason: string | null,
  ): Reservation
  /** What the last refused call of this task needed; null: none was refused since one was let through. */
  refused(task: string): Amount | null
}

/** Synchronous throughout: between a look at what is left and its reservation nothing else runs. */
export function createBudgets(): Budgets {
  const accounts = new Map<string, Account>()
  const refused = new Map<string, Amount>()
  const holds = new Map<string, Hold>()
  const holdOf = new Map<string, string>()
  const get = (task: string): Account => {
    const account = accounts.get(task)
    if (account === undefined) throw new KernelError('conflict', `Task ${task} has no open budget: it is not running.`)
    return account
  }
  return {
    open(task, state, hold) {
      accounts.set(task, { ...state, scope: 'task', of: task, reservedNanoUsd: 0, reservedTokens: 0 })
      if (hold !== undefined) holdOf.set(task, hold)
    },
    hold(name, shared, { nanoUsd, tokens }) {
      for (const account of shared) requireHoldable(account, nanoUsd, tokens)
      const left = { nanoUsd: nanoUsd ?? 0, tokens: tokens ?? 0 }
      for (const account of shared) add(account, left, 1)
      holds.set(name, { accounts: shared, left })
    },
    release(name) {
      const hold = holds.get(name)
      holds.delete(name)
      for (const account of hold?.accounts ?? []) add(account, hold?.left ?? nothing, -1)
    },
    state: (task) => {
      const account = accounts.get(task)
      if (account === undefined) return null
      const { scope: _scope, of: _of, ...state } = account
      return state
    },
    raise: (task, limits) => void Object.assign(get(task), limits),
    close(task) {
      accounts.delete(task)
      refused.delete(task)
      holdOf.delete(task)
    },
    reserve(task, shared, size, price, reason) {
      const all = [get(task), ...shared]
      const held = holds.get(holdOf.get(task) ?? '')
      const cost = costs(all, size, price, reason)
      let outputTokens = size.outputTokens
      for (const account of all) {
        const isHeld = held?.accounts.includes(account) === true
        const room = roomIn(isHeld ? without(account, held.left) : account, size.promptTokens, cost)
        const least = Math.min(size.outputTokens, leastOutputTokens)
        if (room.tokens < least || room.usdTokens < least) {
          const needed = { tokens: size.promptTokens + least, nanoUsd: cost?.of(least) ?? 0 }
          refused.set(task, needed)
          throw overBudget(account, room.tokens < least ? 'tokens' : 'usd', needed)
        }
        outputTokens = Math.min(outputTokens, room.tokens, room.usdTokens)
      }
      refused.delete(task)
      const reserved = { tokens: size.promptTokens + outputTokens, nanoUsd: cost?.of(outputTokens) ?? 0 }
      for (const account of all) add(account, reserved, 1)
      const drawn = held === undefined ? nothing : smaller(held.left, reserved)
      if (held !== undefined) draw(held, drawn)
      let isOpen = true
      return {
        outputTokens,
        tokens: reserved.tokens,
        nanoUsd: cost === null ? null : reserved.nanoUsd,
        mustLimit: all.some(({ limitTokens, limitNanoUsd }) => limitTokens !== null || limitNanoUsd !== null),
        settle(usedTokens, costNanoUsd) {
          if (!isOpen) throw new KernelError('internal', 'a reservation was settled twice')
          isOpen = false
          for (const account of all) {
            add(account, reserved, -1)
            account.spentTokens += usedTokens
            account.spentNanoUsd += costNanoUsd ?? reserved.nanoUsd
          }
          // What was not needed is held for the next call; of one that has been released nothing is.
          if (held === undefined || holds.get(holdOf.get(task) ?? '') !== held) return
          const unused = {
            nanoUsd: Math.max(0, reserved.nanoUsd - (costNanoUsd ?? reserved.nanoUsd)),
            tokens: Math.max(0, reserved.tokens - usedTokens),
          }
          const back = smaller(drawn, unused)
          draw(held, { nanoUsd: -back.nanoUsd, tokens: -back.tokens })
        },
      }
    },
    refused: (task) => refused.get(task) ?? null,
  }
}

/** Whether a call that needs this much could begin. */
export function hasRoom(account: Account, needed: Amount): boolean {
  const { limitNanoUsd, limitTokens, spentNanoUsd, spentTokens, reservedNanoUsd, reservedTokens } = account
  return (
    (limitNanoUsd === null || spentNanoUsd + reservedNanoUsd + needed.nanoUsd <= limitNanoUsd) &&
    (limitTokens === null || spentTokens + reservedTokens + needed.tokens <= limitTokens)
  )
}

const nothing: Amount = { nanoUsd: 0, tokens: 0 }

function smaller(a: Amount, b: Amount): Amount {
  return { nanoUsd: Math.min(a.nanoUsd, b.nanoUsd), tokens: Math.min(a.tokens, b.tokens) }
}

/** As if this were not reserved. */
function without(account: Account, { nanoUsd, tokens }: Amount): Account {
  return {
    ...account,
    reservedNanoUsd: account.reservedNanoUsd - nanoUsd,
    reservedTokens: account.reservedTokens - tokens,
  }
}

function draw(hold: Hold, amount: Amount): void {
  for (const account of hold.accounts) add(account, amount, -1)
  hold.left = { nanoUsd: hold.left.nanoUsd - amount.nanoUsd, tokens: hold.left.tokens - amount.tokens }
}

/** A limit in one unit says nothing of an amount in the other. @throws KernelError `over-budget` */
function requireHoldable(account: Account, nanoUsd: number | null, tokens: number | null): void {
  const { of, scope, limitNanoUsd, limitTokens } = account
  const lacking =
    limitNanoUsd !== null && nanoUsd === null ? 'USD' : limitTokens !== null && tokens === null ? 'tokens' : null
  if (lacking !== null)
    throw new KernelError('over-budget', `The budget of ${of} is in ${lacking}: give a cap in ${lacking} as well.`, {
      details: { scope, of },
    })
  const needs = { nanoUsd: nanoUsd ?? 0, tokens: tokens ?? 0 }
  if (hasRoom(account, needs)) return
  const usd = !hasRoom({ ...account, limitTokens: null }, needs)
  throw overBudget(account, usd ? 'usd' : 'tokens', needs, 'This', 'Raise the budget, or give a lower cap.')
}

function add(account: Account, { tokens, nanoUsd }: Amount, sign: 1 | -1): void {
  account.reservedTokens += sign * tokens
  account.reservedNanoUsd += sign * nanoUsd
}

type Limited = Pick<Account, 'of' | 'limitNanoUsd'>

/** What would hold every call back; null: no limit is in USD. */
function lacksPrice(accounts: readonly Limited[], price: ModelPrice | null, reason: string | null): string | null {
  const limited = accounts.find(({ limitNanoUsd }) => limitNanoUsd !== null)
  if (limited === undefined) return null
  return `The budget of ${limited.of} is in USD, but ${reason ?? `${price?.source ?? 'the price table'} has no full price`}`
}

/** As `reserve` would find it at the first call. @throws KernelError `invalid` */
export function requirePrice(
  accounts: readonly Limited[],
  { name, baseUrl }: Pick<ModelChoice, 'name' | 'baseUrl'>,
  price: ModelPrice | null,
  reason: string | null,
): void {
  if (price !== null && price.uncached !== null && price.output !== null) return
  const lacking = lacksPrice(accounts, price, reason)
  if (lacking === null) return
  throw new KernelError(
    'invalid',
    `${lacking}. Give it a price: exodesk price ${name} --base-url ${baseUrl} --input USD --output USD (per million tokens), or limit tokens instead of USD: --budget-tokens N for the task, exodesk budget --help for the others`,
  )
}

interface Cost {
  promptNanoUsd: number
  perOutputToken: number
  /** Of the prompt and so many tokens of output. */
  of(outputTokens: number): number
}

/** null: no price is known, and none is needed. */
function costs(
  accounts: readonly Account[],
  { promptTokens }: CallSize,
  price: ModelPrice | null,
  reason: string | null,
): Cost | null {
  const prices = price === null ? null : pricesAt(price, promptTokens)
  if (prices === null || prices.uncached === null || prices.output === null) {
    const lacking = lacksPrice(accounts, price, reason)
    if (lacking === null) return null
    throw new KernelError('unavailable', `${lacking}: set a price or use a token budget: exodesk price --help`)
  }
  const promptNanoUsd = Math.ceil(promptTokens * Math.max(prices.uncached, prices.cacheWrite ?? 0))
  const perOutputToken = prices.output
  return { promptNanoUsd, perOutputToken, of: (tokens) => promptNanoUsd + Math.ceil(tokens * perOutputToken) }
}

/** Output that each limit of an account has room for, after the prompt. */
function roomIn(account: Account, promptTokens: number, cost: Cost | null): { tokens: number; usdTokens: number } {
  const { limitTokens, limitNanoUsd } = account
  const tokens =
    limitTokens === null ? Infinity : limitTokens - account.spentTokens - account.reservedTokens - promptTokens
  if (limitNanoUsd === null || cost === null) return { tokens, usdTokens: Infinity }
  const left = limitNanoUsd - account.spentNanoUsd - account.reservedNanoUsd - cost.promptNanoUsd
  // Free output has room wherever its prompt has.
  const usdTokens = left < 0 ? -1 : cost.perOutputToken === 0 ? Infinity : Math.floor(left / cost.perOutputToken)
  return { tokens, usdTokens }
}

function overBudget(
  account: Account,
  budget: 'usd' | 'tokens',
  needs: Amount,
  what = 'This call',
  fix = 'Raise the budget, or send a shorter prompt.',
): KernelError {
  const isUsd = budget === 'usd'
  const show = (amount: number) => (isUsd ? `${(amount / 1e9).toFixed(6)} USD` : `${amount} tokens`)
  const limit = (isUsd ? account.limitNanoUsd : account.limitTokens) ?? 0
  const spent = isUsd ? account.spentNanoUsd : account.spentTokens
  const reserved = isUsd ? account.reservedNanoUsd : account.reservedTokens
  const needed = isUsd ? needs.nanoUsd : needs.tokens
  return new KernelError(
    'over-budget',
    `${what} may need ${show(needed)}; of the budget of ${account.of}, ${show(limit)}, ${show(spent)} are spent and ${show(reserved)} reserved by calls in flight. ${fix}`,
    { details: { scope: account.scope, of: account.of, budget, limit, spent, reserved, needed } },
  )
}
