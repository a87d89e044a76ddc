import { expect, it } from 'vitest'
import type { ProposalSummary } from '../../../kernel/wire/operator.ts'
import { needsOf } from './needs-you.tsx'

it('what is put off needs nobody until its time has come', () => {
  const ready = { agent: 'scout', state: 'ready', madeAt: 1 }
  const proposals = [
    { ...ready, proposal: 'P-1' },
    { ...ready, proposal: 'P-2', deferredUntil: 99, recalledAt: null },
    { ...ready, proposal: 'P-3', deferredUntil: null, recalledAt: 98 },
    { ...ready, proposal: 'P-4', state: 'rejected' },
  ] as unknown as ProposalSummary[]
  expect(needsOf([], proposals).map(({ href }) => href)).toEqual(['#/review/scout/P-1', '#/review/scout/P-3'])
})

it('what runs beyond its limits comes first, and leads to where it can be taken back or kept', () => {
  const regressed = { at: 1, text: 'a step costs too much' }
  const agents = [
    { agent: 'calm', activation: 2, regressed: null },
    { agent: 'dear', activation: 7, regressed },
  ]
  expect(needsOf([], [], agents)).toEqual([
    { kind: 'regressed', href: '#/revisions/dear', agent: 'dear', activation: 7, regressed },
  ])
})
