import { describe, expect, it } from 'vitest'
import { budgetChange } from './budget.ts'
import { BadArguments } from './command.ts'
import { runRequest } from './run.ts'

describe('a budget', () => {
  it('is shown where no limit is given, and set where one is', () => {
    expect(budgetChange({})).toBeNull()
    expect(budgetChange({ day: '5' })).toEqual({ of: 'day', nanoUsd: 5_000_000_000 })
    expect(budgetChange({ day: 'none', 'day-tokens': '1000' })).toEqual({ of: 'day', nanoUsd: null, tokens: 1000 })
    expect(budgetChange({ agent: 'A', usd: '0.5' })).toEqual({ of: 'agent', agent: 'A', nanoUsd: 500_000_000 })
    expect(budgetChange({ task: 'T-1', tokens: 'none' })).toEqual({ of: 'task', task: 'T-1', tokens: null })
  })

  it.each([
    [{ day: '1,5' }, '--day'],
    [{ day: '-1' }, '--day'],
    [{ day: 'NaN' }, '--day'],
    [{ agent: 'A', tokens: '1.5' }, '--tokens'],
    [{ usd: '1' }, '--agent A or --task T'],
    [{ agent: 'A' }, '--usd'],
    [{ agent: 'A', task: 'T-1', usd: '1' }, 'one of them'],
    [{ day: '1', agent: 'A', usd: '1' }, '--day'],
  ])('is refused as %j, with what to write instead', (values, said) => {
    expect(() => budgetChange(values)).toThrow(BadArguments)
    expect(() => budgetChange(values)).toThrow(said)
  })
})

describe('a run', () => {
  it('speaks the API that its flag names', () => {
    expect(runRequest('p', { model: 'm', api: 'chat' })).toEqual({ pack: 'p', model: 'm', api: 'chat' })
    expect(() => runRequest('p', { api: 'completions' })).toThrow(/--api is one of responses, chat/)
  })
})
