import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { firstLine, inert, inertPieces } from './inert.ts'

const invisible = /(?!\t|\n|\ufe0f)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u

const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0x10ffff }), fc.integer({ min: 0x2000, max: 0x206f })))
  .map((codes) => String.fromCodePoint(...codes))

describe('inert text', () => {
  it('shows marks that reorder text as tokens', () => expect(inert('a\u202eb\u2066c')).toBe('a⟦U+202E⟧b⟦U+2066⟧c'))
  it('shows zero-width, joiners, tags and the byte order mark', () =>
    expect(inert('\u200b\u200d\u{e0041}\ufeff')).toBe('⟦U+200B⟧⟦U+200D⟧⟦U+E0041⟧⟦U+FEFF⟧'))
  it('[U5] shows terminal escapes and other controls', () =>
    expect(inert('\u001b[31mred\u0000')).toBe('⟦ESC⟧[31mred⟦U+0000⟧'))
  it('shows a lone surrogate and a variation selector that could carry data', () =>
    expect(inert('\ud800 x\u{e0101}')).toBe('⟦U+D800⟧ x⟦U+E0101⟧'))
  it('leaves ordinary text, its lines and tabs, other scripts and emoji alone', () => {
    const text = 'a\tb\nжизнь 日本 é ⚠\ufe0f 😀'
    expect(inertPieces(text)).toEqual([{ text, isToken: false }])
  })
  it('[C24] never lets a hidden character through, whatever the text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const shown = inert(text)
        expect(invisible.test(shown)).toBe(false)
        expect(inert(shown)).toBe(shown)
      }),
    )
  })
})

describe('first line', () => {
  it('says that there is more', () => expect(firstLine('one\ntwo')).toBe('one …'))
  it('does not for a trailing newline', () => expect(firstLine('one\n')).toBe('one'))
  it('cuts at the limit', () => expect(firstLine('abcdef', 3)).toBe('abc…'))
})
