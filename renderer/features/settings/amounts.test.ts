import { describe, expect, it } from 'vitest'
import { preferencesSchema } from '../../../kernel/wire/operator-settings.ts'
import { usual } from '../../lib/preferences.ts'
import { bytes, priceOf, priceProblem, tokenLimit, usdLimit, usdText } from './amounts.ts'

const form = (given: Record<string, string>): FormData => {
  const made = new FormData()
  for (const [name, value] of Object.entries(given)) made.set(name, value)
  return made
}

it('the usual preferences are those of the contract', () => expect(usual).toEqual(preferencesSchema.parse({})))

describe('prices as they are typed', () => {
  it('leave out what is left empty: not known is not zero', () => {
    const given = form({ name: ' m ', baseUrl: 'https://x.test/v1', input: '3', cachedInput: '', output: '0.25' })
    expect(priceProblem(given)).toBeNull()
    expect(priceOf(given)).toEqual({ name: 'm', baseUrl: 'https://x.test/v1', input: 3, output: 0.25 })
  })
  it.each(['-1', '1,5', '1e3', 'free', '.5'])('%j is none, and the bucket is named', (input) =>
    expect(priceProblem(form({ input, output: '1' }))).toMatch(/^Input takes USD per million tokens/),
  )
})

describe('limits as they are typed', () => {
  it.each([
    ['5', 5e9],
    ['0.50', 5e8],
    ['', null],
  ])('%j USD is %j nano-dollars', (given, limit) => expect(usdLimit(given)).toBe(limit))
  it.each(['-5', '5,0', 'five', '1e9'])('%j is no amount of USD', (given) =>
    expect(() => usdLimit(given)).toThrow(/such as 5/),
  )
  it.each([
    ['200 000', 200_000],
    ['', null],
  ])('%j is %j tokens', (given, limit) => expect(tokenLimit(given)).toBe(limit))
  it('half a token is none', () => expect(() => tokenLimit('1.5')).toThrow(/whole number/))
  it('come back as they were typed', () => expect([usdText(5e8), usdText(null)]).toEqual(['0.5', '']))
})

it.each([
  [0, '0 bytes'],
  [999, '999 bytes'],
  [1000, '1.0 kB'],
  [412_000_000, '412 MB'],
  [41_000_000_000, '41 GB'],
])('%i is %s', (count, text) => expect(bytes(count)).toBe(text))
