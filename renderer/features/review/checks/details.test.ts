import { describe, expect, it } from 'vitest'
import { blockingFirst, capabilityLine, hadNothing, prefixLine, staticOf, touchesTests } from './details.ts'

const check = (name: string, details: unknown) =>
  ({ checks: [{ seq: 1, check: name, verdict: 'pass', summary: '', details, durationMs: 1 }] }) as Parameters<
    typeof capabilityLine
  >[0]
const facts = { version: 1, problems: [], gained: [], lost: [], knobs: [], files: [] }
const replay = {
  estimated: true,
  steps: [{}],
  exceptions: [],
  before: {},
  after: {},
  fidelity: {},
  prefixBreak: null as unknown,
}

describe('the line of capabilities', () => {
  it('names each kind once, and settings that let it spend more', () => {
    const gained = [{ kind: 'network' }, { kind: 'retry' }, { kind: 'network' }]
    const knobs = [{ buysBudget: true }, { buysBudget: false }]
    expect(capabilityLine(check('static', { ...facts, gained, knobs }))).toEqual({
      text: 'network, retry, 1 setting lets it spend more',
      isGain: true,
    })
    expect(capabilityLine(check('static', facts))).toEqual({ text: 'none added', isGain: false })
  })

  it('says nothing where nothing was measured, or in a shape that is not known', () => {
    expect(capabilityLine({ checks: [] })).toBeNull()
    expect(capabilityLine(check('static', { added: [] }))).toBeNull()
    for (const details of [null, 7, 'x', [], { gained: 1 }]) expect(staticOf(details)).toBeNull()
  })
})

describe('a check that passed', () => {
  const [tests, claim, leakage] = ['tests', 'claim', 'leakage'].map(
    (name) =>
      (details: unknown, verdict = 'pass') =>
        hadNothing({ ...check(name, details).checks[0], verdict } as Parameters<typeof hadNothing>[0]),
  )
  const none = { files: [], removed: [], changed: [], own: null, base: null, output: '' }

  it('had nothing to check where no tests were brought, nothing was claimed, or no text is protected', () => {
    expect(tests?.(none)).toBe(true)
    expect(claim?.({ statements: [] })).toBe(true)
    expect(claim?.({ statements: [{ kind: 'effect', verdict: 'not-decided' }] })).toBe(true)
    expect(leakage?.({ leaks: [], protectedTexts: 0 })).toBe(true)
  })

  it('did check where there was something, and no other verdict is softened', () => {
    expect(tests?.({ ...none, files: ['a.test.ts'], own: { passed: 1, failed: 0, firstFailure: null } })).toBe(false)
    expect(tests?.(none, 'unresolved')).toBe(false)
    expect(claim?.({ statements: [{ kind: 'only', verdict: 'true' }] })).toBe(false)
    expect(leakage?.({ leaks: [], protectedTexts: 3 })).toBe(false)
    for (const details of [null, {}, 7]) expect(tests?.(details)).toBe(false)
  })
})

it('shows what stands in the way first, else in the order of measuring', () => {
  const checks = (['pass', 'unresolved', 'pass', 'fail'] as const).map((verdict, at) => ({ verdict, at }))
  expect(blockingFirst(checks).map(({ at }) => at)).toEqual([3, 1, 0, 2])
})

describe('the line of the prompt prefix', () => {
  it('tells what breaks it, and whether once or always', () => {
    const broken = (at: string) => ({ ...replay, prefixBreak: { kind: 'tools', index: 1, at } })
    expect(prefixLine(check('context-replay', broken('every step')))?.text).toBe('CHANGED at tools, at every step')
    expect(prefixLine(check('context-replay', broken('activation')))?.text).toBe('CHANGED at tools, once')
  })

  it('never takes an empty replay for an unchanged prefix', () => {
    expect(prefixLine(check('context-replay', replay))).toEqual({ text: 'unchanged (estimate)', isBroken: false })
    expect(prefixLine(check('context-replay', { ...replay, steps: [] }))).toBeNull()
    expect(prefixLine({ checks: [] })).toBeNull()
  })
})

it('touched tests are those that the kernel tags; without tags it is not known', () => {
  const file = { path: 'tests/a.ts', change: 'changed' as const, addedLines: 1, removedLines: 0 }
  expect(touchesTests({ files: [file] })).toBeNull()
  expect(
    touchesTests({
      files: [
        { ...file, tags: ['test'] },
        { ...file, path: 'b.ts', tags: ['tool'] },
      ],
    }),
  ).toEqual(['tests/a.ts'])
  expect(touchesTests({ files: [{ ...file, tags: ['tool'] }] })).toEqual([])
})
