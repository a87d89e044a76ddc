import { describe, expect, it } from 'vitest'
import { verifiedWords } from './verified.ts'

const ok = (events: number) => ({ ok: true, events, at: 1, problem: null })

describe('what is said of the log', () => {
  it('claims nothing of a log that was empty when it was verified', () => {
    expect(verifiedWords('log', ok(0), 900)).toEqual({ tone: 'muted', text: 'log not verified yet' })
    expect(verifiedWords('log', null, 900)).toEqual({ tone: 'muted', text: 'log not verified yet' })
  })

  it('says how far it was verified and how many events came since', () => {
    expect(verifiedWords('log', ok(40), 52)).toEqual({ tone: 'ok', text: '✓ log verified to #40 · 12 since' })
    expect(verifiedWords('log', ok(40), 40)).toEqual({ tone: 'ok', text: '✓ log verified to #40' })
    expect(verifiedWords('log', ok(40), 39)).toEqual({ tone: 'ok', text: '✓ log verified to #40' })
  })

  it('says what does not hold', () => {
    const broken = { ok: false, events: 0, at: 1, problem: 'event 7 was changed' }
    expect(verifiedWords('chain', broken, 9)).toEqual({ tone: 'bad', text: '✗ chain: event 7 was changed' })
  })
})
