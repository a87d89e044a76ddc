import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import { createModelCards } from './cards.ts'
import type { OperatorPrices } from './models.ts'
import { openOperatorPrices } from './operator-prices.ts'
import { createPriceTable } from './prices.ts'

const baseUrl = 'http://127.0.0.1:8000/v1'
const model = { name: 'm', baseUrl, simulated: false }
let open: TestHistory
let prices: OperatorPrices
const again = async () => {
  prices = await openOperatorPrices({ history: open.history, clock: systemClock })
}
beforeEach(async () => {
  open = await openTestHistory()
  await again()
})
afterEach(() => open.close())

const now = () => {
  const table = createPriceTable({ cards: createModelCards(), overrides: prices.list })
  return { price: table.price(model, Date.now()).price, version: table.version }
}

describe('a price that the operator sets', () => {
  it('is in force at once, takes the place of the earlier one, and outlives a restart', async () => {
    const before = now()
    expect(before.price).toBeNull()
    await prices.set({ name: 'm', baseUrl, input: 1, output: 2 })
    expect(now().price).toMatchObject({ uncached: 1000, cacheRead: null, output: 2000, source: 'set by the operator' })
    await prices.set({ name: 'm', baseUrl: `${baseUrl}/`, input: 3, cachedInput: 0.3, output: 4 })
    const changed = now()
    expect(changed.price).toMatchObject({ uncached: 3000, cacheRead: 300, output: 4000 })
    expect(changed.version).not.toBe(before.version)
    expect(prices.list()).toHaveLength(1)
    await again()
    expect(now()).toEqual(changed)
    const { events } = await open.history.read({ agent: null }, { kinds: ['price.changed'] })
    expect(events.map(({ actor }) => actor)).toEqual(['operator', 'operator'])
  })

  it('is refused, and nothing is kept, where it has no address or is no amount', async () => {
    await expect(prices.set({ name: 'm', baseUrl: 'here', input: 1, output: 1 })).rejects.toMatchObject({
      code: 'invalid',
    })
    await expect(prices.set({ name: 'm', baseUrl, input: Number.NaN, output: 1 })).rejects.toThrow(/not an amount/)
    await again()
    expect(prices.list()).toEqual([])
  })
})
