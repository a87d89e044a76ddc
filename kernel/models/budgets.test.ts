import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBudgets, type Reservation } from './budgets.ts'

const price = { uncached: 1000, cacheRead: 100, cacheWrite: null, output: 8000, since: '2026-01-01', source: 'test' }
const unlimited = { limitNanoUsd: null, limitTokens: null, spentNanoUsd: 0, spentTokens: 0 }

function openBudgets(limits: Partial<Parameters<ReturnType<typeof createBudgets>['open']>[1]>) {
  const budgets = createBudgets()
  budgets.open('T-1', { ...unlimited, ...limits })
  return budgets
}

describe('a budget', () => {
  it('counts what was spent before this process', () => {
    const budgets = openBudgets({ limitTokens: 1000, spentTokens: 900 })
    expect(() => budgets.reserve('T-1', [], { promptTokens: 50, outputTokens: 300 }, price, null)).toThrow(
      /900 tokens are spent/,
    )
  })

  it('shortens the output to what is left, and no further than makes sense', () => {
    const budgets = openBudgets({ limitTokens: 1000 })
    expect(budgets.reserve('T-1', [], { promptTokens: 100, outputTokens: 5000 }, price, null).outputTokens).toBe(900)
    expect(() => budgets.reserve('T-1', [], { promptTokens: 100, outputTokens: 5000 }, price, null)).toThrow(
      /over|may need/,
    )
  })

  it('can be raised while the task runs', () => {
    const budgets = openBudgets({ limitTokens: 100 })
    expect(() => budgets.reserve('T-1', [], { promptTokens: 100, outputTokens: 10 }, price, null)).toThrow()
    budgets.raise('T-1', { limitNanoUsd: null, limitTokens: 1000 })
    expect(budgets.reserve('T-1', [], { promptTokens: 100, outputTokens: 10 }, price, null).outputTokens).toBe(10)
  })

  it('charges all that was reserved when the cost of a call stays unknown', () => {
    const budgets = openBudgets({ limitNanoUsd: 10_000_000 })
    budgets.reserve('T-1', [], { promptTokens: 100, outputTokens: 100 }, price, null).settle(120, null)
    expect(budgets.state('T-1')).toMatchObject({ spentNanoUsd: 100 * 1000 + 100 * 8000, reservedNanoUsd: 0 })
  })

  it('is not there for a task that does not run', () => {
    expect(() => createBudgets().reserve('T-9', [], { promptTokens: 1, outputTokens: 1 }, price, null)).toThrow(
      /not running/,
    )
  })

  it('never has more spent and reserved than its limit while calls keep to their reservations', () => {
    const step = fc.record({
      promptTokens: fc.integer({ min: 0, max: 2000 }),
      outputTokens: fc.integer({ min: 1, max: 4000 }),
      settle: fc.boolean(),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const budgets = openBudgets({ limitNanoUsd: 20_000_000, limitTokens: 10_000 })
        const open: { reservation: Reservation; promptTokens: number }[] = []
        for (const { promptTokens, outputTokens, settle, share } of steps) {
          const first = open[0]
          if (settle && first !== undefined) {
            const output = Math.floor(first.reservation.outputTokens * share)
            first.reservation.settle(first.promptTokens + output, first.promptTokens * 1000 + output * 8000)
            open.shift()
          } else {
            try {
              open.push({
                reservation: budgets.reserve('T-1', [], { promptTokens, outputTokens }, price, null),
                promptTokens,
              })
            } catch (error) {
              expect(error).toMatchObject({ code: 'over-budget' })
            }
          }
          const state = budgets.state('T-1')
          expect((state?.spentNanoUsd ?? 0) + (state?.reservedNanoUsd ?? 0)).toBeLessThanOrEqual(20_000_000)
          expect((state?.spentTokens ?? 0) + (state?.reservedTokens ?? 0)).toBeLessThanOrEqual(10_000)
        }
      }),
    )
  })
})

describe('an amount held in a shared budget', () => {
  const size = { promptTokens: 100, outputTokens: 400 }
  const day = (limitTokens: number | null) => ({
    ...{ ...unlimited, limitTokens, reservedNanoUsd: 0, reservedTokens: 0 },
    ...{ scope: 'day' as const, of: 'the day' },
  })

  it('is kept from others, drawn on by its own calls, and free again when it is released', () => {
    const budgets = openBudgets({})
    const shared = [day(1500)]
    budgets.hold('TR-1', shared, { nanoUsd: null, tokens: 1000 })
    budgets.open('T-2', { ...unlimited, limitTokens: 1000 }, 'TR-1')
    const others = budgets.reserve('T-1', shared, size, price, null)
    expect(others.outputTokens).toBe(400)
    expect(() => budgets.reserve('T-1', shared, size, price, null)).toThrow('1500 tokens reserved')
    const own = budgets.reserve('T-2', shared, size, price, null)
    expect([own.outputTokens, shared[0]?.reservedTokens]).toEqual([400, 1500])
    own.settle(120, 0)
    // What the call did not need is still its holder's.
    expect(shared[0]).toMatchObject({ spentTokens: 120, reservedTokens: 500 + 880 })
    budgets.release('TR-1')
    expect(shared[0]).toMatchObject({ spentTokens: 120, reservedTokens: 500 })
    budgets.reserve('T-2', shared, size, price, null).settle(500, 0)
    others.settle(500, 0)
    expect(shared[0]).toMatchObject({ spentTokens: 1120, reservedTokens: 0 })
  })

  it('is refused where it does not fit, or says nothing in the unit of a limit, and nothing is set aside', () => {
    const budgets = createBudgets()
    const shared = [day(null), day(1000)]
    const held = (tokens: number | null) => () => budgets.hold('TR-1', shared, { nanoUsd: 5, tokens })
    expect(held(1001)).toThrow(/may need 1001 tokens.*give a lower cap/)
    expect(held(null)).toThrow('is in tokens: give a cap in tokens as well')
    expect(shared.map(({ reservedTokens, reservedNanoUsd }) => [reservedTokens, reservedNanoUsd])).toEqual([
      [0, 0],
      [0, 0],
    ])
    held(1000)()
    expect(shared[1]?.reservedTokens).toBe(1000)
  })
})
