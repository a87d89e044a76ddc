import { describe, expect, it } from 'vitest'
import { type ArmingInput, arm } from './arming.ts'

const ready: ArmingInput = {
  now: 10_000,
  attendedSince: 9000,
  state: 'ready',
  blocked: null,
  risk: 'MED',
  files: 2,
  filesViewed: 2,
  reason: '',
  hasView: true,
  isStale: false,
  isSending: false,
}
const missing = (change: Partial<ArmingInput>) => {
  const result = arm({ ...ready, ...change })
  return result.kind === 'missing' ? result.what : result.kind
}

describe('arming of an approval', () => {
  it('arms once everything was seen and the wait is over', () => expect(arm(ready)).toEqual({ kind: 'armed' }))

  it('waits 800 ms from when the pane is visible in a focused window', () => {
    expect(arm({ ...ready, attendedSince: 9700 })).toEqual({ kind: 'waiting', untilMs: 500 })
    expect(arm({ ...ready, attendedSince: 9200 })).toEqual({ kind: 'armed' })
  })

  it('is disarmed as soon as the window loses the focus', () =>
    expect(missing({ attendedSince: null })).toContain('window'))

  it('[G9] asks for every file to be viewed, except at low risk', () => {
    expect(missing({ filesViewed: 1 })).toBe('view 1 more file first')
    expect(missing({ filesViewed: 0 })).toBe('view 2 more files first')
    expect(missing({ filesViewed: 0, risk: null })).toBe('view 2 more files first')
    expect(arm({ ...ready, filesViewed: 0, risk: 'LOW' })).toEqual({ kind: 'armed' })
  })

  it('asks for a reason and a longer wait at high risk', () => {
    expect(missing({ risk: 'HIGH', reason: '  ' })).toContain('reason')
    expect(arm({ ...ready, risk: 'HIGH', reason: 'read twice' })).toEqual({ kind: 'waiting', untilMs: 500 })
  })

  it('never arms for the kernel itself', () =>
    expect(missing({ risk: 'KERNEL', reason: 'please' })).toContain('kernel'))

  it('[C25] never arms without a view of the kernel, with a stale one, twice, or out of turn', () => {
    expect(missing({ hasView: false })).toContain('view')
    expect(missing({ isStale: true })).toContain('reload')
    expect(missing({ isSending: true })).toBe('sending')
    expect(missing({ state: 'superseded' })).toBe('the proposal is superseded')
    expect(missing({ blocked: 'probation of r4 runs' })).toBe('probation of r4 runs')
  })
})
