import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { emptyQuery, parseQuery, quotedValue, toggledTerm, withoutTerm } from './operator-query.ts'

describe('a query', () => {
  it.each<[string, Partial<ReturnType<typeof emptyQuery>>]>([
    ['', {}],
    ['   timeout  ', { text: 'timeout' }],
    ['two words', { text: 'two words' }],
    ['"two  words" tool:shell', { text: 'two  words', tool: 'shell' }],
    ['tool:"count lines"', { tool: 'count lines' }],
    ['"say \\"no\\""', { text: 'say "no"' }],
    ['kind:tool.called kind:tool.finished', { kinds: ['tool.called', 'tool.finished'] }],
    ['kind:turn', { kinds: ['turn.started', 'turn.ended'] }],
    ['kind:turn.*', { kinds: ['turn.started', 'turn.ended'] }],
    ['rev:r41', { revision: { activation: 41 } }],
    ['rev:3f9c', { revision: { prefix: '3f9c' } }],
    ['cost>0.05', { minCost: 50_000_001 }],
    ['cost>=$.5 cost<2', { minCost: 500_000_000, maxCost: 1_999_999_999 }],
    [
      'task:T-1 turn:2 step:7 status:error actor:operator',
      { task: 'T-1', turn: 2, step: 7, failed: true, actor: 'operator' },
    ],
    ['seq:12', { after: 11, before: 13 }],
    ['seq>=10 seq<20', { after: 9, before: 20 }],
    ['label:odd is:noted agent:scout', { label: 'odd', noted: true, agent: 'scout' }],
    ['3:4 Upper:x', { text: '3:4 Upper:x' }],
  ])('%j is understood', (text, wanted) => {
    const { query, problems } = parseQuery(text)
    expect(problems).toEqual([])
    expect(query).toEqual({ ...emptyQuery(), ...wanted })
  })

  it.each<[string, number, number, RegExp]>([
    ['x frob:1', 2, 6, /no field frob.*quotation marks/],
    ['tool:', 0, 5, /no value: tool:shell/],
    ['kind:tool.cald', 0, 14, /no kind tool\.cald/],
    ['kind:turnn', 0, 10, /near it are turn\.started/],
    ['task:1', 0, 6, /written T-1/],
    ['rev:xyz', 0, 7, /r4, or by the first/],
    ['a cost>1,5', 2, 8, /with a point/],
    ['cost:1', 0, 6, /compared with >/],
    ['tool>x', 0, 6, /with a colon/],
    ['status:bad', 0, 10, /status:error/],
    ['tool:a tool:b', 7, 6, /twice/],
    ['"open', 0, 5, /no end/],
    ['task:T-1 step:2', 0, 15, /needs turn:/],
    ['turn:2', 0, 6, /needs task:/],
    ['seq>x', 0, 5, /whole number/],
  ])('%j says what is wrong and where', (text, at, length, message) => {
    const { problems } = parseQuery(text)
    expect(problems).toEqual([{ at, length, message: expect.stringMatching(message) }])
  })

  it('takes any text without throwing, and places what it says within it', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (text) => {
        const { problems, terms } = parseQuery(text)
        for (const { at, length } of [...problems, ...terms])
          expect(at >= 0 && at + length <= Math.max(text.length, 0)).toBe(true)
      }),
    )
  })

  it('loses and gains single terms', () => {
    const text = 'tool:shell "two words" status:error'
    expect(parseQuery(text).terms.map((term) => withoutTerm(text, term))).toEqual([
      '"two words" status:error',
      'tool:shell status:error',
      'tool:shell "two words"',
    ])
    expect(toggledTerm('tool:shell', 'kind:turn.ended')).toBe('tool:shell kind:turn.ended')
    expect(toggledTerm('tool:shell kind:turn.ended', 'kind:turn.ended')).toBe('tool:shell')
    expect(parseQuery(`tool:${quotedValue('a "b" \\c')}`).query.tool).toBe('a "b" \\c')
  })
})
