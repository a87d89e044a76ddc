import { describe, expect, it } from 'vitest'
import type { FileHunks } from '../../../kernel/wire/operator-review.ts'
import {
  anchorOf,
  type Hunk,
  hunkSeen,
  keptOf,
  keyOf,
  lineAfter,
  nothingSeen,
  placesOf,
  whitespaceChanges,
} from './hunks.ts'
import { addRange, covers, type Ranges, seenOf } from './lines-seen.ts'

const hunk = (id: string, before: [number, number], after: [number, number]): Hunk => ({
  id,
  beforeLine: before[0],
  beforeLines: before[1],
  afterLine: after[0],
  afterLines: after[1],
  risk: 'MED',
  reasons: [],
})
const files: FileHunks[] = [
  { path: 'a.ts', change: 'changed', isCompared: true, hunks: [hunk('1', [3, 1], [3, 2]), hunk('2', [9, 2], [10, 0])] },
  { path: 'b.ts', change: 'added', isCompared: true, hunks: [hunk('1', [0, 0], [1, 4])] },
]

describe('a line of the side before', () => {
  const change = (before: [number, number], after: [number, number]) => ({
    originalStartLineNumber: before[0],
    originalEndLineNumber: before[1],
    modifiedStartLineNumber: after[0],
    modifiedEndLineNumber: after[1],
  })
  // 2 lines come in below line 2; 5 and 6 become one; 9 goes.
  const changes = [change([2, 0], [3, 4]), change([5, 6], [7, 7]), change([9, 9], [9, 0])]

  it('is found again on the side after', () =>
    expect([1, 2, 3, 4, 7, 8, 10].map((line) => lineAfter(changes, line))).toEqual([1, 2, 5, 6, 8, 9, 10]))

  it('that is gone stands at what took its place, or above', () =>
    expect([5, 6, 9].map((line) => lineAfter(changes, line))).toEqual([7, 7, 9]))
})

describe('hunks', () => {
  it('follow the order in which files are shown', () =>
    expect(placesOf(files, ['b.ts', 'a.ts']).map(({ path, hunk: { id } }) => `${path} ${id}`)).toEqual([
      'b.ts 1',
      'a.ts 1',
      'a.ts 2',
    ]))

  it('stand at their new text, or at what is gone', () => {
    expect(anchorOf(hunk('1', [3, 1], [3, 2]))).toEqual({ side: 'after', line: 3 })
    expect(anchorOf(hunk('2', [9, 2], [10, 0]))).toEqual({ side: 'before', line: 9 })
  })

  it('of the same id in two files are two', () => {
    const kept = keptOf(files, { [keyOf('a.ts', '1')]: 'rejected', [keyOf('a.ts', '2')]: 'accepted' })
    expect(kept).toEqual([
      { path: 'a.ts', hunks: ['2'] },
      { path: 'b.ts', hunks: ['1'] },
    ])
  })

  it('[G9] count as seen only with every line of both sides', () => {
    const both = hunk('1', [10, 2], [20, 100])
    expect(hunkSeen(both, nothingSeen)).toEqual({ lines: 0, of: 102, isWhole: false })
    const after = addRange([], 20, 118)
    expect(hunkSeen(both, { before: [[1, 40]], after })).toEqual({ lines: 101, of: 102, isWhole: false })
    expect(hunkSeen(both, { before: [[1, 40]], after: addRange(after, 119, 119) }).isWhole).toBe(true)
    expect(hunkSeen(hunk('2', [9, 2], [10, 0]), { before: [[9, 10]], after: [] }).isWhole).toBe(true)
  })

  it('tell how many lines differ in white space alone', () => {
    const before = 'a\n  b\nc\n'
    expect(whitespaceChanges([hunk('1', [1, 3], [1, 3])], before, 'a\n    b\nd\n')).toBe(1)
    expect(whitespaceChanges([hunk('1', [1, 3], [1, 2])], before, 'a\n    b\n')).toBe(0)
  })
})

describe('ranges of lines', () => {
  const all = (...pairs: [number, number][]) =>
    pairs.reduce<Ranges>((ranges, [from, to]) => addRange(ranges, from, to), [])

  it('grow together where they touch, in whatever order they come', () => {
    expect(all([1, 4], [5, 9])).toEqual([[1, 9]])
    expect(all([20, 30], [1, 4], [3, 19])).toEqual([[1, 30]])
    expect(all([1, 4], [6, 9])).toEqual([
      [1, 4],
      [6, 9],
    ])
    expect(all([6, 9], [1, 4], [5, 5])).toEqual([[1, 9]])
  })

  it('are not added to by what is empty or already there', () => {
    const ranges = all([1, 9])
    expect(addRange(ranges, 2, 3)).toBe(ranges)
    expect(addRange(ranges, 5, 4)).toBe(ranges)
  })

  it('cover only without a gap', () => {
    expect(covers(all([1, 4], [6, 9]), 1, 9)).toBe(false)
    expect(seenOf(all([1, 4], [6, 9]), 3, 7)).toBe(4)
  })
})
