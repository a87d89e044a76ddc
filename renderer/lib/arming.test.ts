import { describe, expect, it } from 'vitest'
import { type ArmingInput, arm, bar } from './arming.ts'

const file = (isViewed: boolean, size: 'usual' | 'large' | 'huge' = 'usual') => ({
  isViewed,
  isLarge: size !== 'usual',
  isHuge: size === 'huge',
})
const ready: ArmingInput = {
  now: 10_000,
  attendedSince: 9000,
  state: 'ready',
  blocked: null,
  risk: 'MED',
  files: [file(true), file(true)],
  riskyHunksLeft: 0,
  rejectedHunks: 0,
  isEdited: false,
  comments: 0,
  overridesLeft: 0,
  reason: '',
  hasView: true,
  isStale: false,
  isSending: false,
}
const armed = { kind: 'armed', holdMs: 0 }
const missing = (change: Partial<ArmingInput>) => {
  const result = arm({ ...ready, ...change })
  return result.kind === 'missing' ? result.what : result.kind
}

describe('arming of an approval', () => {
  it('arms once everything was seen and the wait is over', () => expect(arm(ready)).toEqual(armed))

  it('waits 800 ms from when the pane is visible in a focused window', () => {
    expect(arm({ ...ready, attendedSince: 9700 })).toEqual({ kind: 'waiting', untilMs: 500 })
    expect(arm({ ...ready, attendedSince: 9200 })).toEqual(armed)
  })

  it('is disarmed as soon as the window loses the focus', () =>
    expect(missing({ attendedSince: null })).toContain('window'))

  it('[G9] asks for every file to be viewed, except at low risk', () => {
    expect(missing({ files: [file(true), file(false)] })).toBe('view 1 more file first')
    expect(missing({ files: [file(false), file(false)] })).toBe('view 2 more files first')
    expect(missing({ files: [file(false), file(false)], risk: null })).toBe('view 2 more files first')
    expect(arm({ ...ready, files: [file(false)], risk: 'LOW' })).toEqual(armed)
  })

  it('[G9] asks for a large file to be read through whatever its risk, and takes a huge one never in one step', () => {
    expect(missing({ files: [file(false, 'large'), file(false)], risk: 'LOW' })).toBe('view 1 more file first')
    expect(missing({ files: [file(false, 'huge')], risk: 'LOW' })).toBe('view 1 more file first')
    expect(missing({ files: [file(true, 'huge')], risk: 'LOW' })).toContain('write a reason')
    expect(arm({ ...ready, files: [file(true, 'huge')], risk: 'LOW', reason: 'read' })).toEqual({
      kind: 'armed',
      holdMs: 1500,
    })
  })

  it('asks at high risk for each risky hunk, a reason and a hold', () => {
    expect(missing({ risk: 'HIGH', riskyHunksLeft: 2, reason: 'read' })).toBe('decide 2 high-risk hunks first (A or X)')
    expect(missing({ risk: 'HIGH', reason: '  ' })).toContain('reason')
    expect(arm({ ...ready, risk: 'HIGH', reason: 'read twice' })).toEqual({ kind: 'armed', holdMs: 1500 })
  })

  it('asks for a reason for each unresolved check that gates', () =>
    expect(missing({ overridesLeft: 1 })).toBe('give a reason for 1 unresolved check'))

  it('never approves the whole of what was marked, edited or commented on', () => {
    expect(missing({ rejectedHunks: 1 })).toContain('approve a part')
    expect(missing({ isEdited: true })).toContain('save your edit')
    expect(missing({ comments: 2 })).toContain('2 comments not sent')
  })

  it('never arms for what no proposal may change', () =>
    expect(missing({ risk: 'KERNEL', reason: 'please' })).toContain('it changes what no proposal may'))

  it('[C25] never arms without a view of the kernel, with a stale one, twice, or out of turn', () => {
    expect(missing({ hasView: false })).toContain('view')
    expect(missing({ isStale: true })).toContain('reload')
    expect(missing({ isSending: true })).toBe('sending')
    expect(missing({ state: 'superseded' })).toBe('the proposal is superseded')
    expect(missing({ blocked: 'probation of r4 runs' })).toBe('probation of r4 runs')
  })

  it('bars every other verdict for the same reasons, and for no more', () => {
    expect(bar(ready)).toBeNull()
    expect(bar({ ...ready, isStale: true })).toContain('reload')
    expect(bar({ ...ready, state: 'checking' })).toBe('the proposal is checking')
  })
})
