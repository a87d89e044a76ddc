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
