import { useSyncExternalStore } from 'react'
import type { ProposalDetail, ProposalSummary } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { absoluteTime, shortHash } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'

export interface Received {
  verdict: 'approved' | 'rejected' | 'returned'
  seq: number
  state: ProposalSummary['state']
  /** The active revision before and after, as the kernel answered. */
  before: string
  after: string
  at: number
}

const receipts = new Map<string, Received>()
const listeners = new Set<() => void>()

export function rememberReceipt(agent: string, proposal: string, received: Received): void {
  receipts.set(`${agent}/${proposal}`, received)
  for (const listener of listeners) listener()
}

export function useReceipt(agent: string, proposal: string): Received | undefined {
  return useSyncExternalStore(subscribe, () => receipts.get(`${agent}/${proposal}`))
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const words = {
  approved: { text: '✓ Approved', tone: 'tone-ok' },
  rejected: { text: '✗ Rejected', tone: 'tone-bad' },
  returned: { text: '↩ Returned', tone: '' },
} as const

/** What the verdict did, as the kernel answered it: which event, and the executor's hash before and after. */
export function Receipt({ received, detail }: { received: Received; detail: ProposalDetail }) {
  // The list may lag behind the verdict's own answer.
  const state = detail.state === 'ready' ? received.state : detail.state
  const waits = state === 'approved' || state === 'activating'
  const isSame = received.before === received.after
  return (
    <div className="verdict-row receipt" data-testid="receipt" role="status">
      <strong className={words[received.verdict].tone}>{words[received.verdict].text}</strong>
      <span>
        <a href={hrefOf({ screen: 'history', seq: received.seq })}>event {received.seq}</a>
      </span>
      <span>
        executor before <code title={received.before}>{shortHash(received.before)}</code> after{' '}
        <code title={received.after}>{shortHash(received.after)}</code>
        {isSame && ' (unchanged)'}
      </span>
      <span className="muted">
        {waits ? 'activating at the next step boundary…' : `now ${state}`} · {absoluteTime(received.at)}
      </span>
      {detail.reason && (
        <span className="muted">
          reason: “<InertText text={detail.reason} />”
        </span>
      )}
    </div>
  )
}
