import { describe, expect, it } from 'vitest'
import { matchOf } from './match.ts'

const best = (query: string, texts: string[]) =>
  texts
    .flatMap((text) => {
      const points = matchOf(query, text)
      return points === null ? [] : [{ text, points }]
    })
    .sort((a, b) => b.points - a.points)
    .map(({ text }) => text)

describe('matching', () => {
  it('takes everything for an empty query', () => expect(matchOf('', 'Home')).toBe(0))
  it('prefers the beginning, then a word, then the inside', () =>
    expect(best('rev', ['Unreviewed', 'Open Review', 'Revisions'])).toEqual(['Revisions', 'Open Review', 'Unreviewed']))
  it('finds letters in order, and not in another', () => {
    expect(best('hmr', ['Hollowmere', 'Home'])).toEqual(['Hollowmere'])
    expect(matchOf('emoh', 'Home')).toBeNull()
  })
  it('needs every word of the query, in any order', () =>
    expect(best('scout p-3', ['P-3 scout', 'P-3 other', 'P-30 scout'])).toEqual(['P-3 scout', 'P-30 scout']))
  it('does not take a sign for a pattern', () => expect(matchOf('(.*', 'Home')).toBeNull())
  it('is not fooled by letters far apart', () => expect(matchOf('yg', 'history of everything else')).toBeNull())
})
