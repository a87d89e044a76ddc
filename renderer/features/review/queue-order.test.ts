import { describe, expect, it } from 'vitest'
import { type ChangedFile, treeRows } from './file-order.ts'
import { type Queued, queuesOf } from './queue-order.ts'

const proposal = (name: string, change: Partial<Queued>) =>
  ({ proposal: name, state: 'ready', madeAt: 1, decidedAt: null, ...change }) as Queued
const names = (list: readonly Queued[]) => list.map((each) => each.proposal)

describe('the review queue', () => {
  it('goes by risk, then by age, and what was deferred waits at the end until its time has come', () => {
    const list = [
      proposal('young-low', { risk: 'LOW', madeAt: 9 }),
      proposal('old-low', { risk: 'LOW', madeAt: 2 }),
      proposal('high-later', { risk: 'HIGH', deferredUntil: 5000 }),
      proposal('med-back', { risk: 'MED', deferredUntil: 999 }),
      proposal('high', { risk: 'HIGH', madeAt: 8 }),
      proposal('low-soon', { risk: 'LOW', deferredUntil: 2000 }),
    ]
    expect(names(queuesOf(list, 1000).waiting)).toEqual([
      'high',
      'med-back',
      'old-low',
      'young-low',
      'low-soon',
      'high-later',
    ])
  })

  it('keeps what is under way apart from what was decided, the latest decision first', () => {
    const list = [
      proposal('checking', { state: 'checking' }),
      proposal('rejected', { state: 'rejected', decidedAt: 10 }),
      proposal('expired', { state: 'expired', decidedAt: null, madeAt: 20 }),
      proposal('probation', { state: 'probation', madeAt: 0 }),
    ]
    const queues = queuesOf(list, 0)
    expect(names(queues.moving)).toEqual(['probation', 'checking'])
    expect(names(queues.decided)).toEqual(['expired', 'rejected'])
  })
})

describe('the tree of changed files', () => {
  const file = (path: string, risk?: ChangedFile['risk']): ChangedFile => ({
    path,
    change: 'changed',
    addedLines: 1,
    removedLines: 0,
    ...(risk ? { risk } : {}),
  })

  it('puts what is riskiest first, among folders and inside of each', () => {
    const rows = treeRows([
      file('b.md', 'LOW'),
      file('tools/a.ts', 'MED'),
      file('tools/z.ts', 'HIGH'),
      file('lib/x.ts', 'MED'),
    ])
    expect(rows.map((row) => row.path)).toEqual(['tools', 'tools/z.ts', 'tools/a.ts', 'lib', 'lib/x.ts', 'b.md'])
    expect(rows[0]).toMatchObject({ kind: 'folder', files: 2, risk: 'HIGH' })
  })

  it('goes by name where risks are not known', () =>
    expect(treeRows([file('z.ts'), file('a.ts')]).map((row) => row.path)).toEqual(['a.ts', 'z.ts']))
})
