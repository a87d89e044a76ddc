import { expect, it } from 'vitest'
import { operatorLines } from './operator-lines.ts'

it('lines of an edit are told apart by who wrote them', () => {
  expect(operatorLines('a\nb\nc\n', 'a\nB\nc\nd\n')).toEqual([2, 4])
  expect(operatorLines('a\nb\n', 'a\nb\n')).toEqual([])
  expect(operatorLines('a\nb\n', 'b\n')).toEqual([])
})
