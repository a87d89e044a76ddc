import { describe, expect, it } from 'vitest'
import { BadArguments } from './command.ts'
import { wantedPrice } from './price.ts'

const whole = { 'base-url': 'http://127.0.0.1:8000/v1', input: '0', output: '0.5' }

describe('a price', () => {
  it('is shown where nothing is given, and set where it is', () => {
    expect(wantedPrice(undefined, {})).toBeNull()
    const price = { name: 'm', baseUrl: 'http://127.0.0.1:8000/v1', input: 0, output: 0.5 }
    expect(wantedPrice('m', whole)).toEqual(price)
    expect(wantedPrice('m', { ...whole, cached: '0.05', 'cache-write': '1' })).toEqual({
      ...price,
      cachedInput: 0.05,
      cacheWrite: 1,
    })
  })

  it.each([
    ['m', {}, '--base-url is missing'],
    ['m', { ...whole, output: undefined }, '--output is missing'],
    [undefined, whole, 'name the model'],
    ['m', { ...whole, input: '1,5' }, '--input'],
    ['m', { ...whole, output: '-1' }, '--output'],
    ['m', { ...whole, cached: 'NaN' }, '--cached'],
    ['m', { ...whole, input: '100000' }, '--input'],
  ])('%s with %j is refused, with what to write instead', (name, values, said) => {
    expect(() => wantedPrice(name, values)).toThrow(BadArguments)
    expect(() => wantedPrice(name, values)).toThrow(said)
  })
})
