import { describe, expect, it } from 'vitest'
import { BadArguments } from './command.ts'
import { wantedScope } from './cost.ts'

describe('the scope of costs', () => {
  it('is all, or the one that is named', () => {
    expect(wantedScope({})).toEqual({ of: 'all' })
    expect(wantedScope({ today: true })).toEqual({ of: 'today' })
    expect(wantedScope({ agent: 'kim' })).toEqual({ of: 'agent', agent: 'kim' })
    expect(wantedScope({ task: 'T-3' })).toEqual({ of: 'task', task: 'T-3' })
    expect(wantedScope({ task: 'T-3', turn: '2' })).toEqual({ of: 'turn', task: 'T-3', turn: 2 })
  })

  it.each([
    [{ task: 'T-1', today: true }, 'do not go together'],
    [{ agent: 'kim', today: true }, 'do not go together'],
    [{ turn: '2' }, '--turn needs the --task'],
    [{ task: 'T-1', turn: '-2' }, '--turn takes a whole number'],
    [{ task: 'all' }, 'such as T-1'],
  ])('%j is refused, with what to write instead', (values, said) => {
    expect(() => wantedScope(values)).toThrow(BadArguments)
    expect(() => wantedScope(values)).toThrow(said)
  })
})
