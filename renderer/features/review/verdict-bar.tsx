import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { errorText } from '../../components/states.tsx'
import { Age } from '../../components/time.tsx'
import { type Arming, arm } from '../../lib/arming.ts'
import { queryClient, useDesk } from '../../lib/desk.tsx'
import { isTyping, showChord, useKeys } from '../../lib/keys.ts'
import { hrefOf } from '../../lib/route.ts'
import { Receipt, type Received, rememberReceipt, useReceipt } from './receipt.tsx'
import { useAttention } from './use-attention.ts'
import type { View } from './use-view.ts'

interface Props {
  detail: ProposalDetail
  view: View
  filesViewed: number
}

/** Never takes the focus, never moves, never a dialog. The Approve button always says what is missing. */
export function VerdictBar({ detail, view, filesViewed }: Props) {
  const desk = useDesk()
  const { agent, proposal } = detail
  const [reason, setReason] = useState('')
  const field = useRef<HTMLInputElement>(null)
  const receipt = useReceipt(agent, proposal)
  const shown = view.data
  const verdict = useMutation({
    mutationFn: async (kind: 'approved' | 'rejected'): Promise<Received> => {
      if (!shown) throw new Error('The kernel has not issued this view yet.')
      const bound = { agent, proposal, nonce: shown.nonce, binding: shown.binding }
      const text = reason.trim()
      const result =
        kind === 'approved'
          ? await desk.proposals.approve({ ...bound, ...(text ? { reason: text } : {}) })
          : await desk.proposals.reject({ ...bound, reason: text })
      return { ...result, verdict: kind, at: Date.now() }
    },
    onSuccess: (received) => {
      rememberReceipt(agent, proposal, received)
      setReason('')
    },
    onSettled: () => {
      void queryClient.invalidateQueries({ queryKey: ['proposals'] })
      void queryClient.invalidateQueries({ queryKey: ['view'] })
    },
  })
  const isStale =
    shown !== undefined && (shown.binding.base !== detail.active.revision || shown.binding.revision !== detail.revision)
  const arming = useArming({
    detail,
    reason,
    filesViewed,
    hasView: shown !== undefined,
    isStale,
    isSending: verdict.isPending,
  })
  const isOpen = detail.state === 'ready'
  const canReject = isOpen && shown !== undefined && !verdict.isPending && reason.trim() !== ''
  const approve = () => {
    if (arming.kind === 'armed') verdict.mutate('approved')
  }
  const reject = () => {
    if (canReject) verdict.mutate('rejected')
    else field.current?.focus()
  }
  useKeys(
    {
      // In the reason this chord does nothing: who types a refusal must not approve by habit.
      'Mod+enter': (event) => {
        if (!isTyping(event.target)) approve()
      },
      'Mod+Shift+x': reject,
    },
    isOpen,
  )
  return (
    <section className="verdict" aria-label="Verdict">
      <div className="verdict-effect">
        {(isOpen || detail.state === 'checking') && (
          <>
            <p>
              <span className="muted">On approve: </span>
              {detail.onApprove.join(' ')}
            </p>
            <p>
              <span className="muted">Undo: </span>
              {detail.undo}
            </p>
          </>
        )}
        {(verdict.error ?? view.error) && (
          <p className="tone-bad" role="alert">
            ✗ {errorText(verdict.error ?? view.error)} Nothing was decided.
          </p>
        )}
      </div>
      {receipt ? (
        <Receipt received={receipt} detail={detail} />
      ) : isOpen ? (
        <div className="verdict-row">
          <input
            ref={field}
            className="field verdict-reason"
            data-testid="reject-reason"
            value={reason}
            maxLength={4000}
            onChange={(event) => setReason(event.target.value)}
            aria-label="Reason"
            placeholder={detail.risk === 'HIGH' ? 'Reason: required for either verdict' : 'Reason: required to reject'}
          />
          <button type="button" className="button danger" data-testid="reject" disabled={!canReject} onClick={reject}>
            {reason.trim() === '' ? 'Reject: write a reason first' : 'Reject'} <kbd>{showChord('Mod+Shift+x')}</kbd>
          </button>
          <button
            type="button"
            className="button primary verdict-approve"
            data-testid="approve"
            disabled={arming.kind !== 'armed'}
            onClick={approve}
          >
            {approveText(arming)} {arming.kind !== 'missing' && <kbd>{showChord('Mod+enter')}</kbd>}
          </button>
        </div>
      ) : (
        <Closed detail={detail} />
      )}
    </section>
  )
}

function approveText(arming: Arming): string {
  if (arming.kind === 'missing') return `Approve: ${arming.what}`
  return arming.kind === 'waiting' ? 'Approve in a moment' : 'Approve'
}

/** A proposal that takes no verdict says why, and where things stand. */
function Closed({ detail }: { detail: ProposalDetail }) {
  const waits = detail.state === 'checking'
  return (
    <p className="verdict-row" data-testid="no-verdict">
      {waits ? (
        <span className="tone-run">
          ◐ checking for <Age since={detail.madeAt} />: a verdict is possible when the checks are done
        </span>
      ) : (
        <Standing detail={detail} />
      )}
      {detail.reason && (
        <span className="muted">
          reason: “<InertText text={detail.reason} />”
        </span>
      )}
      {detail.activation !== null && (
        <a href={hrefOf({ screen: 'revisions', agent: detail.agent })}>r{detail.activation} in Revisions</a>
      )}
    </p>
  )
}

/** What was decided, or why nothing can be. */
function Standing({ detail }: { detail: ProposalDetail }) {
  if (detail.state === 'approved' || detail.state === 'activating')
    return <span className="tone-run">◐ Approved: activating at the next step boundary…</span>
  if (detail.state === 'rejected') return <span className="tone-bad">✗ Rejected</span>
  if (detail.state === 'probation' || detail.state === 'active')
    return <span className="tone-ok">✓ Approved: {detail.state === 'active' ? 'active' : 'active, on probation'}</span>
  return (
    <>
      <span className="muted">No verdict: </span>
      <InertText text={detail.blocked ?? `the proposal is ${detail.state}`} />
    </>
  )
}

interface ArmingProps {
  detail: ProposalDetail
  reason: string
  filesViewed: number
  hasView: boolean
  isStale: boolean
  isSending: boolean
}

/** Asks again at the moment when only time is missing. */
function useArming({ detail, ...rest }: ArmingProps): Arming {
  const attendedSince = useAttention()
  const [, wake] = useState(0)
  const arming = arm({
    ...rest,
    now: Date.now(),
    attendedSince,
    state: detail.state,
    blocked: detail.blocked,
    risk: detail.risk,
    files: detail.files.length,
  })
  const untilMs = arming.kind === 'waiting' ? arming.untilMs : null
  useEffect(() => {
    if (untilMs === null) return
    const timer = setTimeout(() => wake((n) => n + 1), untilMs)
    return () => clearTimeout(timer)
  }, [untilMs])
  return arming
}
