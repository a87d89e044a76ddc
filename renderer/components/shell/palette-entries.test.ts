import { describe, expect, it } from 'vitest'
import { type Entry, eventOf, find } from './palette-entries.ts'

const entry = (id: string, more: Partial<Entry> = {}): Entry => ({ id, kind: 'Task', name: id, run: () => {}, ...more })
const names = (entries: Entry[], query: string) => find(entries, query).shown.map(({ id }) => id)

describe('the palette', () => {
  it('takes a number for that of an event', () =>
    expect(['4711', ' #12 ', '0', 'P-1', '1.5', ''].map(eventOf)).toEqual([4711, 12, null, null, null, null]))
  it('shows what needs the operator first, then all as they come', () =>
    expect(names([entry('a'), entry('b', { weight: 30 }), entry('c')], '')).toEqual(['b', 'a', 'c']))
  it('finds by name, by hint and by kind', () => {
    const entries = [entry('T-1', { hint: 'Hollowmere' }), entry('P-1', { kind: 'Proposal', hint: 'retry' })]
    expect(names(entries, 'hollow')).toEqual(['T-1'])
    expect(names(entries, 'proposal')).toEqual(['P-1'])
    expect(names(entries, 'p-1')).toEqual(['P-1'])
    expect(names(entries, 'nothing')).toEqual([])
  })
  it('does not let a weight outdo a far better match', () =>
    expect(names([entry('xrevx', { weight: 8 }), entry('review')], 'rev')).toEqual(['review', 'xrevx']))
  it('shows fifty and says how many there are', () => {
    const many = Array.from({ length: 60 }, (_, n) => entry(`T-${n}`))
    expect(find(many, 't')).toMatchObject({ count: 60 })
    expect(find(many, 't').shown).toHaveLength(50)
  })
})
