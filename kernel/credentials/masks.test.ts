import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMasks } from './masks.ts'

const key = 'sk-canary/+ä"=0123456789'
const masks = createMasks()
masks.add(key)

describe('a known key is masked', () => {
  it('[S4] wherever it stands in a text: plain, URL-encoded, in hex, as JSON, or inside base64 at any offset', () => {
    const inHex = Buffer.from(key).toString('hex')
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        const text = `${before}${key}${after}`
        const encoded = Buffer.from(text).toString('base64')
        const stretch = Buffer.from(key).toString('base64').slice(4, 16)
        expect(masks.redact(text)).not.toContain(key)
        expect(masks.redact(JSON.stringify({ text }))).not.toContain('canary')
        expect(masks.redact(`?k=${encodeURIComponent(key)}`)).toBe('?k=[redacted key]')
        expect(masks.redact(Buffer.from(text).toString('hex'))).not.toContain(inHex)
        expect(masks.redact(encoded)).toContain('[redacted key]')
        expect(masks.redact(encoded)).not.toContain(stretch)
        expect(masks.redact(Buffer.from(text).toString('base64url'))).toContain('[redacted key]')
      }),
    )
  })

  it('and what is none stays as it is', () => {
    expect(masks.redact('nothing here')).toBe('nothing here')
    expect(createMasks().redact(key)).toBe(key)
  })
})
