import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { keysFromEnvironment } from './environment.ts'
import { createMasks } from './masks.ts'

const key = 'sk-canary/+ä=0123456789'

describe('keys from the environment', () => {
  it('are those of the start, whatever becomes of the environment', () => {
    const env: Record<string, string | undefined> = { A: key }
    const keys = keysFromEnvironment(env, createMasks())
    env.A = 'changed-since'
    env.B = 'added-since'
    expect(keys.get('A')).toBe(key)
    expect(keys.get('B')).toBeNull()
    expect(env.A).toBe('changed-since')
  })

  it('[S12] do not show in an inspection or a serialisation', () => {
    const masks = createMasks()
    const keys = keysFromEnvironment({ A: key }, masks)
    keys.get('A')
    for (const holder of [keys, masks]) {
      expect(inspect(holder, { depth: 20, showHidden: true, getters: true })).not.toContain('canary')
      expect(JSON.stringify(holder)).toBe('{}')
      expect(() => structuredClone(holder)).toThrow()
    }
  })

  it('are refused when they are too short to be masked without harm', () => {
    expect(() => keysFromEnvironment({ A: 'abc' }, createMasks()).get('A')).toThrow(/A is shorter than 8/)
    expect(keysFromEnvironment({ A: '  ' }, createMasks()).get('A')).toBeNull()
  })

  it('[S12] are refused when they hold what no header carries, and are masked all the same', () => {
    for (const key of ['sk-\u201cquoted-canary\u201d', 'sk-two-lines-\ncanary']) {
      const masks = createMasks()
      const refused = () => keysFromEnvironment({ A: key }, masks).get('A')
      expect(refused).toThrow(
        expect.objectContaining({ code: 'unavailable', message: expect.not.stringContaining('canary') }),
      )
      expect(masks.redact(`it is ${key}`)).toBe('it is [redacted key]')
    }
  })

  it('are masked once they were given out', () => {
    const masks = createMasks()
    const keys = keysFromEnvironment({ A: key, B: 'another-secret' }, masks)
    expect(masks.redact(key)).toBe(key)
    keys.get('A')
    expect(masks.redact(`${key} another-secret`)).toBe('[redacted key] another-secret')
  })
})
