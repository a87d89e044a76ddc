import { describe, expect, it } from 'vitest'
import { meant, pressedFor, refusal, type Shortcut, scopeOf, shortcuts } from './shortcuts.ts'

const find = (id: string): Shortcut => {
  const found = shortcuts.find((each) => each.id === id)
  if (!found) throw new Error(`no shortcut ${id}`)
  return found
}
const print = (chord: string) => chord

describe('shortcuts', () => {
  it('are delivered without a conflict, and have names of their own', () => {
    expect(new Set(shortcuts.map(({ id }) => id)).size).toBe(shortcuts.length)
    expect(shortcuts.flatMap((each) => refusal(each, each.chord, {}, print) ?? [])).toEqual([])
  })

  it('given another key answer to it alone, on their own screen alone', () => {
    const keys = { 'review.edit': 'u' }
    expect([meant('u', 'Review', keys), meant('e', 'Review', keys)]).toEqual(['e', ''])
    expect([meant('u', 'Live', keys), meant('e', 'Live', keys)]).toEqual(['u', 'e'])
    expect([pressedFor('e', 'Review', keys), pressedFor('e', 'Live', keys)]).toEqual(['u', 'e'])
  })

  it('can change places', () => {
    const keys = { 'lists.next': 'k', 'lists.previous': 'j' }
    expect([meant('k', 'Home', keys), meant('j', 'Home', keys)]).toEqual(['j', 'k'])
  })

  it('leave keys that nobody has listed to the screen', () => expect(meant('Mod+9', null, {})).toBe('Mod+9'))

  it.each([
    ['review.edit', 'a', /^a is “.*hunk/],
    ['review.edit', 'j', /Next item/],
    ['lists.next', 'v', /Mark the file as viewed/],
    ['everywhere.palette', 'Mod+enter', /Approve/],
    ['review.approve', 'y', /needs Mod/],
    ['review.edit', 'escape', /is kept for/],
    ['review.edit', ' ', /This key is kept/],
    ['live.pause', 'Mod+c', /is kept for/],
  ])('%s is not given %j, and why is said', (id, chord, why) =>
    expect(refusal(find(id), chord, {}, print)).toMatch(why),
  )

  it.each([
    ['review.edit', 'u'],
    ['live.next-error', 'a'],
    ['review.approve', 'Mod+Shift+y'],
  ])('%s is given %j', (id, chord) => expect(refusal(find(id), chord, {}, print)).toBeNull())

  it('know the screen by the address', () => {
    expect(scopeOf({ screen: 'review', agent: null, proposal: null })).toBe('Review')
    expect(scopeOf({ screen: 'settings', section: 'keys' })).toBeNull()
  })
})
