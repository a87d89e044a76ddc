import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createModelCards } from './cards.ts'
import { checkOverride, createPriceTable, type PriceOverride } from './prices.ts'

const openai = 'https://api.openai.com/v1'
const now = Date.parse('2026-11-01')

function priceOf(
  name: string,
  baseUrl = openai,
  options: { simulated?: boolean; at?: number; overrides?: PriceOverride[] } = {},
) {
  const cards = createModelCards()
  cards.add([
    {
      id: 'sim-a',
      context_window: 1000,
      max_output_tokens: 100,
      simulated: true,
      pricing: { input: 1.25, cached_input: 0.125, output: 10 },
    },
  ])
  const table = createPriceTable({ cards, overrides: () => options.overrides ?? [] })
  return table.price({ name, baseUrl, simulated: options.simulated ?? false }, options.at ?? now)
}

describe('the price table', () => {
  it('is named after the list that is installed', () => {
    const installed = JSON.parse(readFileSync('node_modules/@pydantic/genai-prices/package.json', 'utf8'))
    expect(createPriceTable({ cards: createModelCards() }).version).toContain(`genai-prices ${installed.version} of 20`)
  })

  it('gives nano-dollars a token for a model at its provider', () => {
    expect(priceOf('gpt-5').price).toMatchObject({ uncached: 1250, cacheRead: 125, cacheWrite: null, output: 10_000 })
  })

  it('gives the dearer prices of long prompts', () => {
    const { price } = priceOf('gpt-5.4')
    expect(price).toMatchObject({ uncached: 2500, output: 15_000 })
    expect(price?.above).toEqual([
      { inputTokens: 271_999, price: { uncached: 5000, cacheRead: 500, cacheWrite: null, output: 22_500 } },
    ])
  })

  it('gives the price that held at the time', () => {
    expect(priceOf('o3', openai, { at: Date.parse('2025-05-01') }).price).toMatchObject({ uncached: 10_000 })
    expect(priceOf('o3').price).toMatchObject({ uncached: 2000, since: '2025-06-10' })
  })

  it.each([
    ['a model that is not listed', 'gpt-99-nova', openai],
    ['a model of a listed family', 'gpt-4.5-preview-unheard-of', openai],
    ['a listed model at another address', 'gpt-5', 'http://127.0.0.1:8080/v1'],
    [
      'a listed model at an address that only begins like its provider',
      'gpt-5',
      'https://api.openai.com.example.net/v1',
    ],
    ['a listed model over plain http', 'gpt-5', 'http://api.openai.com/v1'],
    ['a simulated name that is not simulated', 'sim-a', openai],
  ])('knows no price for %s, and says why', (_, name, baseUrl) => {
    const { price, reason } = priceOf(name, baseUrl) as { price: null; reason: string }
    expect(price).toBeNull()
    expect(reason).toContain('genai-prices')
  })

  it('takes a simulated price from the model card and says so', () => {
    expect(priceOf('sim-a', 'http://127.0.0.1:1/v1', { simulated: true }).price).toMatchObject({
      uncached: 1250,
      cacheRead: 125,
      output: 10_000,
      source: 'simulator model card (simulated)',
    })
    expect(priceOf('gpt-5', openai, { simulated: true }).price).toBeNull()
  })

  it('prefers what the operator has set, for that model at that endpoint from that date', () => {
    const baseUrl = 'http://127.0.0.1:8080/v1'
    const overrides = [{ name: 'local', baseUrl: `${baseUrl}/`, input: 0, output: 0.5, since: '2026-10-01' }]
    expect(priceOf('local', baseUrl, { overrides }).price).toMatchObject({ uncached: 0, cacheRead: null, output: 500 })
    expect(priceOf('local', baseUrl, { overrides, at: Date.parse('2026-09-01') }).price).toBeNull()
    expect(priceOf('local', openai, { overrides }).price).toBeNull()
    expect(createPriceTable({ cards: createModelCards(), overrides: () => overrides }).version).toMatch(
      / \+ 1 of the operator's/,
    )
  })

  it('refuses a price that is no amount', () => {
    const overrides = [{ name: 'm', baseUrl: openai, input: -1, since: '2026-10-01' }]
    for (const override of overrides) expect(() => checkOverride(override)).toThrow(/not an amount of USD/)
  })
})
