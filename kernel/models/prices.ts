import { hash } from 'node:crypto'
import {
  type ConditionalPrice,
  calcPrice,
  findProvider,
  type ModelPrice as ListedPrices,
  type MatchLogic,
} from '@pydantic/genai-prices'
import { KernelError } from '../errors.ts'
import type { ModelCard, ModelCards } from './cards.ts'
import type { BucketPrices, ModelPrice, PriceTable } from './models.ts'

/** The list that the package carries: its version and the day that it was published. */
const list = { name: 'genai-prices 0.1.8', date: '2026-09-23' }

/** A price that the operator has set, for one model at one endpoint. USD per million tokens; left out: not known. */
export interface PriceOverride {
  name: string
  baseUrl: string
  input?: number | undefined
  cachedInput?: number | undefined
  cacheWrite?: number | undefined
  output?: number | undefined
  /** ISO date from which it holds. */
  since: string
}

/**
 * Looks for a price in this order: the operator's own, the simulator's model card for simulated models, the dated public
 * list for models at the endpoint of the provider that sets the price. The list's guesses by prefix are not prices.
 */
export function createPriceTable(options: {
  cards: ModelCards
  /** As they are at each look. */
  overrides?: () => readonly PriceOverride[]
}): PriceTable {
  const { overrides = () => [] } = options
  return {
    get version() {
      const own = overrides()
      const named = `${list.name} of ${list.date}`
      if (own.length === 0) return named
      return `${named} + ${own.length} of the operator's (${hash('sha256', JSON.stringify(own)).slice(0, 8)})`
    },
    price({ name, baseUrl, simulated }, at) {
      const override = overrides().find(
        (candidate) =>
          candidate.name === name && sameEndpoint(candidate.baseUrl, baseUrl) && Date.parse(candidate.since) <= at,
      )
      if (override !== undefined) return { price: fromOverride(override) }
      if (!simulated) return listedPrice(name, baseUrl, at)
      const card = options.cards.find(name)
      return card === null
        ? { price: null, reason: `the simulator has no model card for '${name}'` }
        : { price: fromCard(card) }
    },
  }
}

/** Nano-dollars a token from USD per million tokens. */
function perToken(usdPerMillion: number | undefined): number | null {
  return usdPerMillion === undefined ? null : usdPerMillion * 1000
}

function fromCard({ pricing }: ModelCard): ModelPrice {
  return {
    uncached: perToken(pricing.input),
    cacheRead: perToken(pricing.cached_input),
    cacheWrite: perToken(pricing.input),
    output: perToken(pricing.output),
    since: list.date,
    source: 'simulator model card (simulated)',
  }
}

function fromOverride({ input, cachedInput, cacheWrite, output, since }: PriceOverride): ModelPrice {
  return {
    uncached: perToken(input),
    cacheRead: perToken(cachedInput),
    cacheWrite: perToken(cacheWrite),
    output: perToken(output),
    since,
    source: 'set by the operator',
  }
}

/** @throws KernelError `invalid`. */
export function checkOverride(override: PriceOverride): void {
  const { name, input, cachedInput, cacheWrite, output, since } = override
  for (const price of [input, cachedInput, cacheWrite, output])
    if (price !== undefined && !(Number.isFinite(price) && price >= 0 && price <= 100_000))
      throw new KernelError('invalid', `price of '${name}': ${price} is not an amount of USD per million tokens`)
  if (Number.isNaN(Date.parse(since))) throw new KernelError('invalid', `price of '${name}': '${since}' is not a date`)
}

export function sameEndpoint(a: string, b: string): boolean {
  const normal = (url: string) => url.replace(/\/+$/, '').toLowerCase()
  return normal(a) === normal(b)
}

function listedPrice(name: string, baseUrl: string, at: number): ReturnType<PriceTable['price']> {
  const provider = providerAt(baseUrl)
  if (provider === null) return { price: null, reason: `${list.name} lists no provider at ${hostOf(baseUrl)}` }
  const found = calcPrice({}, name, { provider, timestamp: new Date(at) })
  if (found === null || found.provider.id !== provider.id || !names(found.model.match, name))
    return { price: null, reason: `${list.name} has no price for '${name}' of ${provider.name}` }
  return {
    price: {
      ...fromList(found.model_price),
      since: sinceOf(found.model.prices, at),
      source: `${list.name}, ${provider.name}`,
    },
  }
}

/** The provider whose own endpoint this is: the list's pattern must cover the whole origin, not its beginning. */
function providerAt(baseUrl: string) {
  if (!URL.canParse(baseUrl)) return null
  const { protocol, origin } = new URL(baseUrl)
  if (protocol !== 'https:') return null
  const provider = findProvider({ providerApiUrl: baseUrl })
  if (provider === undefined) return null
  const isWhole = new RegExp(`^(?:${provider.api_pattern})(?:[/:]|$)`).test(`${origin}${new URL(baseUrl).pathname}`)
  return isWhole ? provider : null
}

/** True where the list names this very model (or its dated versions), not a family that it might belong to. */
function names(match: MatchLogic, model: string): boolean {
  if ('or' in match) return match.or.some((inner) => names(inner, model))
  if ('and' in match) return match.and.every((inner) => names(inner, model))
  if ('equals' in match) return match.equals === model
  return 'regex' in match && new RegExp(match.regex).test(model)
}

function fromList(listed: ListedPrices): Omit<ModelPrice, 'since' | 'source'> {
  const keys = {
    uncached: 'input_mtok',
    cacheRead: 'cache_read_mtok',
    cacheWrite: 'cache_write_mtok',
    output: 'output_mtok',
  }
  const bucketsAt = (inputTokens: number): BucketPrices => {
    const at = (key: string): number | null => {
      const entry = listed[key]
      if (typeof entry !== 'object') return perToken(entry)
      return perToken(entry.tiers.findLast((tier) => inputTokens > tier.start)?.price ?? entry.base)
    }
    return {
      uncached: at(keys.uncached),
      cacheRead: at(keys.cacheRead),
      cacheWrite: at(keys.cacheWrite),
      output: at(keys.output),
    }
  }
  const starts = new Set(
    Object.values(keys).flatMap((key) => {
      const entry = listed[key]
      return typeof entry === 'object' ? entry.tiers.map((tier) => tier.start) : []
    }),
  )
  const above = [...starts]
    .sort((a, b) => a - b)
    .map((inputTokens) => ({ inputTokens, price: bucketsAt(inputTokens + 1) }))
  return above.length === 0 ? bucketsAt(0) : { ...bucketsAt(0), above }
}

function sinceOf(prices: ConditionalPrice[] | ListedPrices, at: number): string {
  if (!Array.isArray(prices)) return list.date
  const starts = prices.flatMap(({ constraint }) => (constraint?.type === 'start_date' ? [constraint.start_date] : []))
  return (
    starts
      .filter((start) => Date.parse(start) <= at)
      .sort()
      .at(-1) ?? list.date
  )
}

function hostOf(baseUrl: string): string {
  return URL.canParse(baseUrl) ? new URL(baseUrl).host : 'this address'
}
