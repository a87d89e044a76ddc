import { describe, expect, it } from 'vitest'
import type { ToolRow } from '../../../kernel/wire/operator-tools.ts'
import { diffTexts } from './diff-texts.ts'
import { failureShare, shownRows, toolViews } from './views.ts'

const day = 86_400_000
const row = (tool: string, over: Partial<ToolRow> = {}): ToolRow => ({
  ...{ tool, description: '', isOffered: true, origin: 'seed', file: null, fileHash: null },
  ...{ declared: [], declaredBy: 'syntax', observed: [], undeclared: [], introduced: null, changedBy: [] },
  ...{ calls: 0, errors: 0, interrupted: 0, callsLast7Days: 0, medianMs: null, outputBytes: 0, resultTokens: 0 },
  ...{ costShare: null, lastUsedAt: null, tests: 0, audit: 'none', auditedAt: null, quarantined: null },
  ...{ retirementAskedAt: null, saved: null },
  ...over,
})
const rows = [
  row('shell', { calls: 100, errors: 5, callsLast7Days: 9, lastUsedAt: 90 * day, audit: 'audited', medianMs: 10 }),
  row('fetch', { calls: 10, errors: 1, undeclared: ['sandbox.exec'], lastUsedAt: 89 * day, description: 'the wiki' }),
  row('sweep', { calls: 2, lastUsedAt: 59 * day, audit: 'stale', medianMs: 3, file: 'tools/sweep.ts' }),
  row('gone', { isOffered: false }),
]
const names = (view: string, words = '', by: 'tool' | 'median' = 'tool', isDown = false) =>
  shownRows(rows, { view, words, order: { by, isDown }, now: 90 * day }).map(({ tool }) => tool)

describe('the table of tools', () => {
  it('has a view for each question of an audit', () => {
    expect(toolViews.map(({ key }) => [key, names(key)])).toEqual([
      ['all', ['fetch', 'gone', 'shell', 'sweep']],
      ['unaudited', ['fetch', 'sweep']],
      ['over', ['fetch']],
      ['failing', ['fetch']],
      ['unused', ['sweep']],
    ])
    expect(failureShare(row('never'))).toBeNull()
  })

  it('is filtered by all of the words, in name, file or description', () => {
    expect(names('all', 'SWEEP tools/')).toEqual(['sweep'])
    expect(names('all', 'wiki')).toEqual(['fetch'])
    expect(names('all', 'wiki shell')).toEqual([])
  })

  it('has what has no figure last, whichever way it is sorted', () => {
    expect(names('all', '', 'median')).toEqual(['sweep', 'shell', 'fetch', 'gone'])
    expect(names('all', '', 'median', true)).toEqual(['shell', 'sweep', 'fetch', 'gone'])
  })

  it('shows what changed in one file, without the names of files', () => {
    expect(diffTexts('a\nb\n', 'a\nc\n')).toBe('@@ -1,2 +1,2 @@\n a\n-b\n+c')
    expect(diffTexts('a', 'a')).toBeNull()
  })
})
