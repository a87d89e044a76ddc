import type { ProposalSummary } from '../../../kernel/wire/operator.ts'
import { rankOf } from './file-order.ts'

export type Queued = ProposalSummary

const open = new Set<ProposalSummary['state']>(['checking', 'ready', 'approved', 'activating', 'probation'])

export interface Queues {
  /** For a verdict: the riskiest first, then the oldest. What was deferred waits at the end, the next to return first. */
  waiting: Queued[]
  /** Nothing to decide about them now, but they are under way. */
  moving: Queued[]
  /** The latest first. */
  decided: Queued[]
}

export function queuesOf(proposals: readonly Queued[], now: number): Queues {
  const waiting = proposals.filter((each) => each.state === 'ready')
  return {
    waiting: [
      ...waiting
        .filter((each) => !isDeferred(each, now))
        .toSorted((a, b) => rankOf(b.risk) - rankOf(a.risk) || a.madeAt - b.madeAt),
      ...waiting
        .filter((each) => isDeferred(each, now))
        .toSorted((a, b) => (a.deferredUntil ?? 0) - (b.deferredUntil ?? 0)),
    ],
    moving: proposals
      .filter((each) => open.has(each.state) && each.state !== 'ready')
      .toSorted((a, b) => a.madeAt - b.madeAt),
    decided: proposals.filter((each) => !open.has(each.state)).toSorted((a, b) => decidedAt(b) - decidedAt(a)),
  }
}

export function isDeferred(each: Queued, now: number): boolean {
  return each.deferredUntil !== undefined && each.deferredUntil !== null && each.deferredUntil > now
}

function decidedAt(each: Queued): number {
  return each.decidedAt ?? each.madeAt
}
