import { describe, expect, it } from 'vitest'
import type { TreeFile } from '../../sandbox/sandbox.ts'
import { candidateOf } from './candidate.fixture.ts'
import { hiddenCharacters } from './hidden.ts'
import { scope, treeProblems } from './scope.ts'

const code = (...points: number[]) => String.fromCodePoint(...points)
const main: TreeFile = { path: 'main.ts', text: 'export {}\n' }

async function verdict(...files: TreeFile[]) {
  return scope.run(candidateOf({ files }), {} as never, new AbortController().signal)
}

describe('a character that a reviewer cannot see', () => {
  it.each([
    ['a right-to-left override', 0x202e, 'reading direction'],
    ['a left-to-right isolate', 0x2066, 'reading direction'],
    ['a pop directional isolate', 0x2069, 'reading direction'],
    ['an Arabic letter mark', 0x061c, 'reading direction'],
    ['a left-to-right mark', 0x200e, 'reading direction'],
    ['a zero-width space', 0x200b, 'zero-width'],
    ['a zero-width joiner', 0x200d, 'zero-width'],
    ['a word joiner', 0x2060, 'zero-width'],
    ['an invisible times sign', 0x2062, 'zero-width'],
    ['a byte order mark', 0xfeff, 'zero-width'],
    ['a soft hyphen', 0x00ad, 'zero-width'],
    ['a combining grapheme joiner', 0x034f, 'zero-width'],
    ['a Hangul filler', 0x3164, 'zero-width'],
    ['a halfwidth Hangul filler', 0xffa0, 'zero-width'],
    ['a Mongolian vowel separator', 0x180e, 'zero-width'],
    ['a variation selector', 0xfe0f, 'variation selector'],
    ['a supplementary variation selector', 0xe0101, 'variation selector'],
    ['a tag letter', 0xe0041, 'tag character'],
    ['a carriage return', 0x000d, 'carriage return'],
    ['a line separator', 0x2028, 'separator'],
    ['a paragraph separator', 0x2029, 'separator'],
    ['a next-line control', 0x0085, 'separator'],
    ['an escape', 0x001b, 'control'],
    ['a backspace', 0x0008, 'control'],
    ['a delete', 0x007f, 'control'],
    ['an interlinear annotation', 0xfff9, 'format'],
    ['a private-use character', 0xe000, 'private'],
    ['a no-break space', 0x00a0, 'space'],
    ['an ideographic space', 0x3000, 'space'],
    ['a blank of Braille', 0x2800, 'space'],
  ])('[C24] [G6] is found: %s', async (_name, point, what) => {
    const text = `const a = 1\nconst b = "x${code(point)}y"\n`
    const hex = `U+${point.toString(16).toUpperCase().padStart(4, '0')}`
    expect(hiddenCharacters(text)).toEqual([{ line: 2, codePoint: hex, what: expect.stringContaining(what) }])
    const { verdict: outcome, summary } = await verdict(main, { path: 'b.ts', text })
    expect(outcome).toBe('fail')
    expect(summary).toContain(`b.ts: line 2`)
    // What names it shows it as a code point and never as itself.
    expect(summary).toContain(hex)
    expect(summary).not.toContain(code(point))
  })

  it('is none of what people write: letters of any script, signs, tabs, plain emoji', () => {
    expect(hiddenCharacters('\tnaïve Ωμέγα 漢字 हिन्दी → “quoted” – 🎉\n')).toEqual([])
  })
})

describe('a word that passes for another', () => {
  const cyrillic = { a: code(0x430), copy: code(0x441, 0x43e, 0x440, 0x443) }
  it.each([
    ['Latin with a Cyrillic letter', `const p${cyrillic.a}th = 1`, 'U+0430'],
    ['Latin with a Greek letter', `const n${code(0x3bf)}nce = 1`, 'U+03BF'],
    ['Latin with a phonetic letter', `const ${code(0x261)}rant = 1`, 'U+0261'],
    ['full-width letters', `const ${code(0xff41, 0xff42)} = 1`, 'U+FF41'],
    ['mathematical letters', `const ${code(0x1d41a)} = 1`, 'U+1D41A'],
    ['a key in a string', `rules['${cyrillic.a}llow'] = 1`, 'U+0430'],
    ['a whole word, where the tree has the Latin one', `${cyrillic.copy}()\nfunction copy() {}`, 'U+0441'],
  ])('[C24] [G6] is found in a program: %s', async (_name, text, hex) => {
    const { verdict: outcome, summary } = await verdict(main, { path: 'b.ts', text })
    expect(outcome).toBe('fail')
    expect(summary).toContain(`b.ts: line 1 has a word with a letter that looks like another (${hex})`)
  })

  it('is found in the name of a file', async () => {
    const { summary } = await verdict(main, { path: `m${cyrillic.a}in.ts`, text: '' })
    expect(summary).toContain('its name has a letter that looks like another')
  })

  it('is found where two forms of one letter differ', async () => {
    const { summary } = await verdict(main, { path: 'b.ts', text: 'const cafe\u0301 = 1' })
    expect(summary).toContain('normal form C')
  })

  it.each([
    [
      'other alphabets',
      `// ${code(0x43f, 0x440, 0x438, 0x432, 0x435, 0x442)}, \u03b1 and \u03b2; \u4f60\u597dTypeScript; na\u00efve; 5 \u00b5s`,
    ],
    ['a word that the tree does not have in Latin', `// ${cyrillic.copy}`],
  ])('is none of these: %s', async (_name, text) => {
    expect(await verdict(main, { path: 'b.ts', text })).toMatchObject({ verdict: 'pass' })
  })

  it('is the matter of programs, not of prose', async () => {
    expect(await verdict(main, { path: 'b.md', text: `p${cyrillic.a}th` })).toMatchObject({ verdict: 'pass' })
  })
})

describe('a tree', () => {
  it('[C22] of plain text with main.ts passes', async () => {
    expect(await verdict(main, { path: 'notes/plan.md', text: '# Plan\n' })).toMatchObject({ verdict: 'pass' })
  })

  it.each([
    ['no main.ts', [{ path: 'other.ts', text: '' }], 'is missing'],
    ['a path out of it', [main, { path: '../a.ts', text: '' }], 'begins with a dot'],
    ['an absolute path', [main, { path: '/a.ts', text: '' }], 'not a relative path'],
    ['a hidden file', [main, { path: '.hidden.ts', text: '' }], 'begins with a dot'],
    ['a file of the kernel', [main, { path: 'package.json', text: '{}' }], 'written by the kernel'],
    ['another kind of file', [main, { path: 'a.js', text: '' }], 'files are taken'],
    ['names that differ only in case', [main, { path: 'Main.ts', text: '' }], 'only in case'],
    ['a name twice', [main, main], 'comes twice'],
    ['a name in another normal form', [main, { path: 'cafe\u0301.ts', text: '' }], 'normal form C'],
    ['a file that is too large', [main, { path: 'a.ts', text: 'a\n'.repeat(140_000) }], 'larger than'],
    ['a line that nobody reads', [main, { path: 'a.ts', text: `const a = '${'a'.repeat(2100)}'` }], 'longer than'],
    ['too many files', [main, ...Array.from({ length: 500 }, (_, n) => ({ path: `a${n}.ts`, text: '' }))], 'more than'],
    ['half a surrogate pair', [main, { path: 'a.ts', text: '\ud800' }], 'not UTF-8'],
  ])('[C22] with %s fails, and the problem names it', async (_name, files, problem) => {
    const outcome = await verdict(...files)
    expect(outcome.verdict).toBe('fail')
    expect(outcome.summary).toContain(problem)
  })

  it('shows a name that hides something with its code points', () => {
    const [problem] = treeProblems([main, { path: `a${code(0x202e)}.ts`, text: '' }])
    expect(problem?.path).toBe('a\\u{202e}.ts')
  })
})
