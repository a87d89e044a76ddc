import { createTwoFilesPatch } from 'diff'
import { describe, expect, it } from 'vitest'
import { previewOf } from './diff-preview.ts'

const patch = (name: string, before: string, after: string) =>
  createTwoFilesPatch(`a/${name}`, `b/${name}`, before, after)

describe('the preview of a diff', () => {
  it('holds each file with its lines and their signs', () => {
    const { files, hasHidden } = previewOf(patch('a.ts', 'x\ny\n', 'x\nz\n') + patch('b.ts', '', 'new\n'))
    expect(files.map(({ name, added, removed }) => [name, added, removed])).toEqual([
      ['a.ts', 1, 1],
      ['b.ts', 1, 0],
    ])
    expect(files[0]?.blocks[0]?.lines).toEqual([
      { kind: 'context', text: 'x' },
      { kind: 'delete', text: 'y' },
      { kind: 'insert', text: 'z' },
    ])
    expect(hasHidden).toBe(false)
  })

  it('[U2] keeps markup in names and text as the text that it is', () => {
    const name = 'notes/<img src=x onerror=alert(1)>.md'
    const { files } = previewOf(patch(name, '', '<script>alert(1)</script>\n'))
    expect(files[0]?.name).toBe(name)
    expect(files[0]?.blocks[0]?.lines[0]).toEqual({ kind: 'insert', text: '<script>alert(1)</script>' })
  })

  it('[G6] says that characters hide or reorder text, even where they are not shown', () => {
    const far = `${Array.from({ length: 500 }, (_, n) => `line ${n}`).join('\n')}\n`
    expect(previewOf(patch('a.ts', '', `${far}a\u202eb\n`)).hasHidden).toBe(true)
    expect(previewOf(patch('a.ts', '', `${far}zero\u200bwidth\n`)).hasHidden).toBe(true)
    expect(previewOf(patch('a.ts', '', far)).hasHidden).toBe(false)
  })

  it('[G9] cuts nothing without saying so', () => {
    const many = `${Array.from({ length: 500 }, (_, n) => `line ${n}`).join('\n')}\n`
    expect(previewOf(patch('a.ts', '', many)).files[0]).toMatchObject({ added: 500, left: 440, isTooBig: false })
    const lots = `${Array.from({ length: 3000 }, (_, n) => `line ${n}`).join('\n')}\n`
    expect(previewOf(patch('a.ts', '', lots)).files[0]).toMatchObject({ isTooBig: true, blocks: [] })
    const files = Array.from({ length: 25 }, (_, n) => patch(`f${n}.ts`, '', 'x\n')).join('')
    expect(previewOf(files)).toMatchObject({ filesLeft: 5 })
    expect(previewOf(patch('a.ts', '', 'x'.repeat(200_001))).isTooLong).toBe(true)
    const long = previewOf(patch('a.ts', '', `${'y'.repeat(900)}\n`)).files[0]?.blocks[0]?.lines[0]?.text
    expect(long).toBe(`${'y'.repeat(400)}…`)
  })

  it('never takes a word of the diff into its message for what is too large', () => {
    const lots = `${Array.from({ length: 3000 }, () => '<b>bold</b>').join('\n')}\n`
    expect(JSON.stringify(previewOf(patch('<b>.ts', '', lots)).files[0]?.blocks)).toBe('[]')
  })

  it('takes one block of 800 and 800 lines apart at once: no line is matched with another', () => {
    const block = (word: string) => Array.from({ length: 800 }, (_, n) => `${word} ${n} some more words`).join('\n')
    expect(previewOf(patch('a.ts', block('old'), block('new'))).files[0]).toMatchObject({ added: 800, removed: 800 })
  })
})
