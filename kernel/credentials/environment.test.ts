import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keysFromEnvironment } from './environment.ts'

const key = 'sk-canary/+ä=0123456789'

describe('keys from the environment', () => {
  it('are those of the start, whatever becomes of the environment', () => {
    const env: Record<string, string | undefined> = { A: key }
    const keys = keysFromEnvironment(env)
    env.A = 'changed-since'
    env.B = 'added-since'
    expect(keys.get('A')).toBe(key)
    expect(keys.get('B')).toBeNull()
    expect(env.A).toBe('changed-since')
  })

  it('do not show in an inspection or a serialisation', () => {
    const keys = keysFromEnvironment({ A: key })
    keys.get('A')
    expect(inspect(keys, { depth: 20, showHidden: true, getters: true })).not.toContain('canary')
    expect(JSON.stringify(keys)).toBe('{}')
    expect(() => structuredClone(keys)).toThrow()
  })

  it('are refused when they are too short to be masked without harm', () => {
    expect(() => keysFromEnvironment({ A: 'abc' }).get('A')).toThrow(/A is shorter than 8/)
    expect(keysFromEnvironment({ A: '  ' }).get('A')).toBeNull()
  })

  it('are masked wherever they stand: plain, URL-encoded, or inside base64 at any offset', () => {
    const keys = keysFromEnvironment({ A: key })
    keys.get('A')
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        const text = `${before}${key}${after}`
        const encoded = Buffer.from(text).toString('base64')
        const stretch = Buffer.from(key).toString('base64').slice(4, 16)
        expect(keys.redact(text)).not.toContain(key)
        expect(keys.redact(`?k=${encodeURIComponent(key)}`)).toBe('?k=[redacted key]')
        expect(keys.redact(encoded)).toContain('[redacted key]')
        expect(keys.redact(encoded)).not.toContain(stretch)
        expect(keys.redact(Buffer.from(text).toString('base64url'))).toContain('[redacted key]')
      }),
    )
  })

  it('leave text without them alone', () => {
    const keys = keysFromEnvironment({ A: key, B: 'another-secret' })
    keys.get('A')
    expect(keys.redact('nothing here')).toBe('nothing here')
    expect(keys.redact('another-secret')).toBe('another-secret')
  })
})
