import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { costOf, meter, reportOfResponses, tokensOf } from './usage.ts'

const evidence = { promptTokens: 500, mostPromptTokens: 10_000, emittedTokens: 7, mostOutputTokens: 5000 }
const price = { uncached: 1250, cacheRead: 125, cacheWrite: 1500, output: 10_000, since: '2026-01-01', source: 'test' }
const used = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }

describe('the meter', () => {
  it('splits the prompt into disjoint buckets', () => {
    const report = {
      input_tokens: 1000,
      input_tokens_details: { cached_tokens: 600, cache_write_tokens: 150 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 20 },
    }
    expect(meter(reportOfResponses(report), evidence)).toEqual({
      source: 'reported',
      cacheReported: true,
      usage: { uncached: 250, cacheRead: 600, cacheWrite: 150, output: 50, reasoning: 20 },
    })
  })

  it('tells a provider that says nothing of a cache from one that read nothing', () => {
    const silent = { input_tokens: 400, output_tokens: 5 }
    const none = { ...silent, input_tokens_details: { cached_tokens: 0 } }
    expect(meter(reportOfResponses(silent), evidence)).toMatchObject({ cacheReported: false, usage: { uncached: 400 } })
    expect(meter(reportOfResponses(none), evidence)).toMatchObject({ cacheReported: true, usage: { uncached: 400 } })
    expect(meter(null, evidence)).not.toHaveProperty('cacheReported')
  })

  it('gives whole, bounded counts whatever is reported', () => {
    const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(0, 1e18, -1, 100, 5000, null, undefined, '9'))
    const report = fc.record({
      input_tokens: number,
      input_tokens_details: fc.oneof(
        fc.record({ cached_tokens: number, cache_write_tokens: number }),
        fc.constant(null),
      ),
      output_tokens: number,
      output_tokens_details: fc.oneof(fc.record({ reasoning_tokens: number }), fc.constant(undefined)),
    })
    fc.assert(
      fc.property(fc.oneof(report, fc.anything()), (value) => {
        const { usage, source } = meter(reportOfResponses(value), evidence)
        for (const tokens of Object.values(usage)) expect(Number.isSafeInteger(tokens) && tokens >= 0).toBe(true)
        expect(usage.uncached + usage.cacheRead + usage.cacheWrite).toBeLessThanOrEqual(evidence.mostPromptTokens)
        expect(usage.output).toBeLessThanOrEqual(evidence.mostOutputTokens)
        expect(usage.reasoning).toBeLessThanOrEqual(usage.output)
        if (source === 'estimated') expect(tokensOf(usage)).toBe(507)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('the cost', () => {
  it('rounds each bucket half up on its own', () => {
    const fractions = { ...price, uncached: 0.5, output: 37.5 }
    expect(costOf({ ...used, uncached: 1, output: 1 }, fractions, null).costNanoUsd).toBe(1 + 38)
    expect(costOf({ ...used, uncached: 3 }, { ...fractions, uncached: 0.4 }, null).costNanoUsd).toBe(1)
  })

  it('is unknown, with the reason, as soon as a bucket in use has no price', () => {
    const partial = { ...price, cacheRead: null }
    expect(costOf({ ...used, uncached: 10 }, partial, null)).toEqual({ costNanoUsd: 12_500, reason: null })
    const { costNanoUsd, reason } = costOf({ ...used, uncached: 10, cacheRead: 1 }, partial, null)
    expect(costNanoUsd).toBeNull()
    expect(reason).toBe('test has no price for cached input')
    expect(costOf({ ...used, output: 1 }, null, 'nobody knows')).toEqual({ costNanoUsd: null, reason: 'nobody knows' })
  })

  it('of nothing is zero even without a price', () => {
    expect(costOf(used, null, 'nobody knows').costNanoUsd).toBe(0)
  })

  it('takes the prices of the prompt length, for the whole call', () => {
    const tiered = { ...price, above: [{ inputTokens: 1000, price: { ...price, uncached: 2500, output: 20_000 } }] }
    expect(costOf({ ...used, uncached: 1000, output: 1 }, tiered, null).costNanoUsd).toBe(1000 * 1250 + 10_000)
    expect(costOf({ ...used, uncached: 900, cacheRead: 101, output: 1 }, tiered, null).costNanoUsd).toBe(
      900 * 2500 + 101 * 125 + 20_000,
    )
  })
})
