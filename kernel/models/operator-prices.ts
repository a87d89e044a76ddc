import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import { draft, type Event } from '../wire/events.ts'
import type { OperatorPrices, SetPrice } from './models.ts'
import { checkOverride, sameEndpoint } from './prices.ts'

/** @returns those that history knows, and what is set from now on. */
export async function openOperatorPrices({
  history,
  clock,
}: {
  history: History
  clock: Clock
}): Promise<OperatorPrices> {
  let prices: readonly SetPrice[] = await readPrices(history)
  return {
    list: () => prices,
    async set(given) {
      if (!URL.canParse(given.baseUrl) || !/^https?:$/.test(new URL(given.baseUrl).protocol))
        throw new KernelError('invalid', 'that is not a base URL: give one such as https://api.openai.com/v1')
      // The day alone: a clock that is set back by hours does not take the price away.
      const price = { ...given, since: new Date(clock.now()).toISOString().slice(0, 10) }
      checkOverride(price)
      const source = 'set by the operator'
      const data = { version: `${price.name} at ${price.baseUrl}`, source, models: 1, price }
      const [event] = await history.append([draft('price.changed', data, { actor: 'operator' })])
      prices = withPrice(prices, price)
      return event?.seq ?? 0
    },
  }
}

function withPrice(prices: readonly SetPrice[], price: SetPrice): SetPrice[] {
  const isOther = (one: SetPrice) => one.name !== price.name || !sameEndpoint(one.baseUrl, price.baseUrl)
  return [...prices.filter(isOther), price]
}

async function readPrices(history: History): Promise<SetPrice[]> {
  let prices: SetPrice[] = []
  for (let after: number | null = 0; after !== null; ) {
    const page: Awaited<ReturnType<History['read']>> = await history.read(
      { agent: null },
      { kinds: ['price.changed'], after, limit: 1000 },
    )
    for (const { data } of page.events as Event<'price.changed'>[])
      if (data.price !== undefined) prices = withPrice(prices, data.price)
    after = page.next
  }
  return prices
}
