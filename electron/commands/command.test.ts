import { describe, expect, it } from 'vitest'
import type { Desk } from '../host-client.ts'
import { agentOf, parseAgentCommand } from './agent.ts'
import { BadArguments, nanoUsd, oneOf, parseCommand, wholeNumber } from './command.ts'
import { commands, usage, usageOf } from './index.ts'
import { runRequest } from './run.ts'

describe('arguments of a command', () => {
  it('hold what was given, with --data made absolute and --json off by default', () => {
    const found = parseCommand(['a', '--data', '/x/../data', '--kind', 'b'], { kind: { type: 'string' } }, [
      'FIRST',
      'SECOND?',
    ])
    expect(found).toMatchObject({ positionals: ['a'], dataDir: '/data', json: false, values: { kind: 'b' } })
  })

  it.each([
    ['an unknown option', ['a', '--frob']],
    ['an option without its value', ['a', '--kind']],
    ['a value for a switch', ['a', '--json=yes']],
    ['a missing argument', []],
    ['one argument too many', ['a', 'b', 'c']],
  ])('are refused with %s', (_what, args) => {
    expect(() => parseCommand(args, { kind: { type: 'string' } }, ['FIRST', 'SECOND?'])).toThrow(BadArguments)
  })

  it.each([
    [['kim'], ['TASK', 'TEXT'], 'TEXT is missing'],
    [[], ['TASK', 'TEXT'], 'TASK is missing'],
  ])('%j say which of %j is missing', (args, names, message) => {
    expect(() => parseCommand(args, {}, names)).toThrow(new BadArguments(message))
  })

  it.each([
    [['kim', 'P-1'], ['P-n'], 'the agent is given as --agent: write P-1 --agent kim'],
    [['kim', 'r3'], ['rN'], 'the agent is given as --agent: write r3 --agent kim'],
    [['kim', 'P-1'], ['P-n?'], 'the agent is given as --agent: write P-1 --agent kim'],
    [['kim'], [], 'the agent is given as --agent: write --agent kim'],
    [['kim'], ['P-n'], '"kim" is not a proposal such as P-1 (an agent is given as --agent)'],
    [['3'], ['rN'], '"3" is not an activation such as r1 (an agent is given as --agent)'],
    [['P-1', 'P-2'], ['P-n'], 'unexpected argument "P-2"'],
    [['a', 'b', 'c'], ['P-n'], 'unexpected argument "c"'],
    [[], ['P-n'], 'P-n is missing'],
  ])('%j of a command about an agent that takes %j say what to write instead', (args, names, message) => {
    expect(() => parseAgentCommand(args, {}, names)).toThrow(new BadArguments(message))
  })

  it('of a command about an agent hold it as named, or leave it to the one that there is', async () => {
    expect(parseAgentCommand(['P-1', '--agent', 'kim'], {}, ['P-n'])).toMatchObject({
      positionals: ['P-1'],
      named: 'kim',
    })
    const desk = (...agents: string[]) =>
      ({ agents: { list: async () => agents.map((agent) => ({ agent })) } }) as unknown as Desk
    expect(await agentOf(desk('kim', 'lee'), 'lee')).toBe('lee')
    expect(await agentOf(desk('kim'), undefined)).toBe('kim')
    await expect(agentOf(desk('kim', 'lee'), undefined)).rejects.toThrow('--agent is missing: there are kim, lee')
    await expect(agentOf(desk(), undefined)).rejects.toThrow('there is no agent yet')
  })

  it.each([
    [['--day', '-1'], '--day takes an amount of 0 or more, not "-1"'],
    [['--day', '3', '--day', '-1'], '--day takes an amount of 0 or more, not "-1"'],
    [['--day', '-.5'], '--day takes an amount of 0 or more, not "-.5"'],
    [['--day', '--json'], /^--day is given without its value: "--json" follows it;.* --day=VALUE$/],
  ])('%j say what is wrong in plain words', (args, message) => {
    expect(() => parseCommand(args, { day: { type: 'string' } })).toThrow(message)
  })

  it('take money as written, to the nano-dollar', () => {
    expect(nanoUsd('--budget', '2')).toBe(2_000_000_000)
    expect(nanoUsd('--budget', '0.1')).toBe(100_000_000)
    expect(nanoUsd('--budget', '0.000000001')).toBe(1)
    expect(nanoUsd('--budget', '1.005')).toBe(1_005_000_000)
    for (const text of ['', '-1', '1e3', '$2', '0.0000000001', '1,5', '.5', ' 1']) {
      expect(() => nanoUsd('--budget', text), text).toThrow(/--budget/)
    }
  })

  it('take whole numbers and words from a list, and name the option that is wrong', () => {
    expect(wholeNumber('--seed', '0')).toBe(0)
    for (const text of ['1.5', '-1', '', 'x', '1e3', '99999999999999999999']) {
      expect(() => wholeNumber('--seed', text), text).toThrow(/--seed/)
    }
    expect(() => wholeNumber('--max-steps', '0', 1)).toThrow(/at least 1/)
    expect(oneOf('--propose', 'off', ['on', 'off'])).toBe('off')
    expect(oneOf('--propose', undefined, ['on', 'off'])).toBeUndefined()
    expect(() => oneOf('--propose', 'maybe', ['on', 'off'])).toThrow(/--propose is one of on, off/)
  })
})

describe('a run', () => {
  it('asks for what its flags say and leaves the rest to the kernel', () => {
    expect(runRequest('tasks/none', {})).toEqual({ pack: 'tasks/none' })
    const values = {
      agent: 'a',
      approve: 'all',
      propose: 'off',
      budget: '0.5',
      'max-steps': '7',
      seed: '3',
      unattended: true,
    }
    expect(
      runRequest('p', { ...values, sandbox: 'local', model: 'm', 'base-url': 'http://127.0.0.1:1/v1', 'key-env': 'K' }),
    ).toEqual({
      pack: 'p',
      agent: 'a',
      approve: 'all',
      propose: false,
      budgetNanoUsd: 500_000_000,
      maxSteps: 7,
      seed: 3,
      unattended: true,
      sandbox: 'local',
      model: 'm',
      baseUrl: 'http://127.0.0.1:1/v1',
      keyEnv: 'K',
    })
  })

  it('allows the endpoints that its flags name, with the address where one is given', () => {
    expect(runRequest('p', { 'allow-endpoint': ['game', 'map=127.0.0.1:8081'] }).endpoints).toEqual([
      { name: 'game' },
      { name: 'map', address: '127.0.0.1:8081' },
    ])
  })

  it('gives a pack of this folder by its full path, for a host that works in another', () => {
    const pack = `${import.meta.dirname}/../../tasks/hollowmere/skills`
    expect(runRequest(pack, {}).pack).toMatch(/^\/.*\/tasks\/hollowmere\/skills$/)
    expect(runRequest('tasks/not-here', {}).pack).toBe('tasks/not-here')
  })

  it('is refused with an endpoint and no model, and with a word that no flag has', () => {
    expect(() => runRequest('p', { 'base-url': 'http://127.0.0.1:1/v1' })).toThrow(/need --model/)
    expect(() => runRequest('p', { approve: 'some' })).toThrow(/--approve is one of none, rules, all/)
    expect(() => runRequest('p', { sandbox: 'none' })).toThrow(/--sandbox/)
    for (const text of ['', '=', '=127.0.0.1:1', 'game='])
      expect(() => runRequest('p', { 'allow-endpoint': [text] }), text).toThrow(/--allow-endpoint/)
  })
})

describe('the usage', () => {
  it('lists every command, and each has its own', () => {
    for (const [name, command] of Object.entries(commands)) {
      expect(usage()).toContain(`  ${name} `)
      expect(usageOf(name, command)).toContain(command.summary)
    }
  })
})
