import { describe, expect, it } from 'vitest'
import { chordOf, isMac } from './keys.ts'

const press = (key: string, code: string, held: { mod?: boolean; shift?: boolean; alt?: boolean } = {}) =>
  chordOf({
    key,
    code,
    ctrlKey: !isMac && held.mod === true,
    metaKey: isMac && held.mod === true,
    altKey: held.alt === true,
    shiftKey: held.shift === true,
  })

describe('chords', () => {
  it('names keys with their modifiers', () => {
    expect(press('Enter', 'Enter', { mod: true })).toBe('Mod+enter')
    expect(press('X', 'KeyX', { mod: true, shift: true })).toBe('Mod+Shift+x')
    expect(press('j', 'KeyJ')).toBe('j')
  })
  it('takes a printed character as it is, however the layout makes it', () =>
    expect(press('?', 'Slash', { shift: true })).toBe('?'))
  it('finds digits and the point where shift changes what they print', () => {
    expect(press('>', 'Period', { mod: true, shift: true })).toBe('Mod+Shift+.')
    expect(press('&', 'Digit1', { mod: true })).toBe('Mod+1')
  })
  it('keeps apart what shift turns into another command', () => {
    expect(press('Enter', 'Enter', { mod: true, shift: true })).toBe('Mod+Shift+enter')
  })
  it('leaves combinations with Alt alone', () => expect(press('j', 'KeyJ', { alt: true })).toBe(''))
})
