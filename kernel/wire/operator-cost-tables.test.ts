import { describe, expect, it } from 'vitest'
import { csvOf } from './operator-cost-tables.ts'

describe('a table as CSV', () => {
  it('leaves what is not known empty, and is no formula of a model', () => {
    const rows = [
      ['shell', 3, null],
      ['a "b", c', -1, '1.500000000'],
      ['=HYPERLINK("x")', 0, '@x'],
      ['two\nlines', 0, ''],
    ]
    expect(csvOf({ head: ['tool', 'calls', 'cost_usd'], rows })).toBe(
      [
        'tool,calls,cost_usd',
        'shell,3,',
        '"a ""b"", c",-1,1.500000000',
        `"'=HYPERLINK(""x"")",0,'@x`,
        '"two\nlines",0,',
        '',
      ].join('\r\n'),
    )
  })
})
