import { describe, expect, it } from 'vitest'
import { partsOf, tierOf } from './tiers.ts'

describe('tiers of a diff', () => {
  it.each([
    [1999, 0, 'normal'],
    [1000, 1000, 'large'],
    [19_999, 0, 'large'],
    [10_000, 10_000, 'huge'],
  ] as const)('%d added and %d removed lines are %s', (addedLines, removedLines, tier) =>
    expect(tierOf({ addedLines, removedLines })).toBe(tier),
  )

  it('takes a line that no editor shows whole for huge, however few changed', () => {
    const oneLine = { addedLines: 1, removedLines: 1 }
    expect(tierOf(oneLine, ['x'.repeat(10_000), null])).toBe('normal')
    expect(tierOf(oneLine, ['a\n', `b\n${'x'.repeat(10_001)}`])).toBe('huge')
    expect(tierOf(oneLine, [`${'y\n'.repeat(9000)}`])).toBe('normal')
  })
})

describe('parts of a huge file', () => {
  it.each([
    ['twenty thousand lines', `${Array.from({ length: 20_000 }, (_, n) => `row ${n}`).join('\n')}\n`],
    ['one long line', '0123456789'.repeat(9000)],
    ['long lines of pairs', `${'😀'.repeat(15_001)}\nshort\n${'😀'.repeat(11_000)}`],
    ['nothing but line ends', '\n'.repeat(1203)],
  ])('[G9] hold %s without a gap', (_, text) => {
    const parts = partsOf(text)
    expect(parts.map((part) => part.text).join('')).toBe(text)
    expect(Math.max(...parts.map((part) => part.text.length))).toBeLessThanOrEqual(20_000)
    expect(parts.every(({ text: piece }) => !/[\ud800-\udbff]$/.test(piece))).toBe(true)
  })

  it('are numbered by lines', () => {
    const parts = partsOf('x\n'.repeat(1100))
    expect(parts.map(({ fromLine, toLine }) => [fromLine, toLine])).toEqual([
      [1, 500],
      [501, 1000],
      [1001, 1100],
    ])
    expect(partsOf('z'.repeat(45_000)).map(({ fromLine, toLine }) => [fromLine, toLine])).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
    ])
  })
})
