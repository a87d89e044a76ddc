import { useRef, useState } from 'react'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { errorText } from '../../components/states.tsx'
import { type Arming, bar, many } from '../../lib/arming.ts'
import { isTyping, showChord, useKeys } from '../../lib/keys.ts'
import { Closed } from './closed.tsx'
import { Receipt, useReceipt } from './receipt.tsx'
import { TrialForm } from './trial-form.tsx'
import { useArming } from './use-arming.ts'
import { isMeant, useAttention, useOpenTime } from './use-attention.ts'
import { useHold } from './use-hold.ts'
import type { Review } from './use-review.ts'
import { useVerdicts } from './use-verdicts.ts'
import type { View } from './use-view.ts'
import { type DeferChoice, defaultDefer, deferUntil, VerdictFields } from './verdict-fields.tsx'

interface Props {
  detail: ProposalDetail
  view: View
  review: Review
}

/** Never takes the focus, never moves, never a dialog. The Approve button always says what is missing. */
export function VerdictBar({ detail, view, review }: Props) {
  const { agent, proposal } = detail
  const { draft } = review
  const [deferFor, setDeferFor] = useState<DeferChoice>(defaultDefer)
  const [isTrying, setTrying] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const receipt = useReceipt(agent, proposal)
  const attention = useAttention()
  const { send, said } = useVerdicts({ detail, view, review, openMs: useOpenTime(attention) })
  const shown = view.data
  const isStale =
    shown !== undefined && (shown.binding.base !== detail.active.revision || shown.binding.revision !== detail.revision)
  const state = { hasView: shown !== undefined, isStale, isSending: send.isPending }
  const arming = useArming({ detail, review, attention, ...state })
  const isOpen = detail.state === 'ready'
  // What bars an approval (a probation that runs, say, or what touches the kernel) bars no other verdict.
  const barred = bar({ ...detail, ...state, blocked: null, risk: detail.risk === 'KERNEL' ? 'HIGH' : detail.risk })
  const hasReason = draft.reason.trim() !== ''
  const hold = useHold(() => {
    if (arming.kind === 'armed') send.mutate({ verb: 'approve' })
  })
  const approve = () => {
    if (arming.kind === 'armed') hold.start(arming.holdMs)
  }
  const withReason = (verb: 'reject' | 'return') => {
    if (barred !== null) return
    if (hasReason) send.mutate({ verb })
    else field.current?.focus()
  }
  const hunks = review.places.length
  const edits = Object.keys(draft.edits).length
  const canPart = barred === null && review.rejected > 0 && (review.rejected < hunks || edits > 0)
  const canEdit = barred === null && edits > 0
  const derive = () => {
    if (canEdit) send.mutate({ verb: 'edit' })
    else if (canPart) send.mutate({ verb: 'part' })
  }
  const defer = () => {
    if (barred === null) send.mutate({ verb: 'defer', until: deferUntil(deferFor, Date.now()) })
  }
  const meant = (action: () => void) => (event: KeyboardEvent) => {
    if (isMeant(attention, event)) action()
  }
  useKeys(
    {
      // In a field these do nothing: who types a refusal must not approve by habit.
      'Mod+enter': (event) => {
        if (!isTyping(event.target)) meant(approve)(event)
      },
      'Mod+Shift+enter': (event) => {
        if (!isTyping(event.target)) meant(derive)(event)
      },
      'Mod+s': meant(() => {
        if (canEdit) send.mutate({ verb: 'edit' })
      }),
      'Mod+Shift+x': meant(() => withReason('reject')),
      'Mod+Shift+r': meant(() => withReason('return')),
      'Mod+Shift+d': meant(defer),
      'Mod+t': meant(() => setTrying(true)),
    },
    isOpen && !receipt,
  )
  const problem = send.error ?? view.error
  return (
    <section
      className="verdict"
      aria-label="Verdict"
      onClickCapture={(event) => {
        // The click that brought the window to the front was not meant for what it hit.
        const isChoice = event.target instanceof Element && event.target.closest('button') !== null
        if (isChoice && !isMeant(attention, event.nativeEvent)) {
          event.preventDefault()
          event.stopPropagation()
        }
      }}
    >
      <div className="verdict-effect">
        {(isOpen || detail.state === 'checking') && !receipt && (
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
        <div role="status">
          {said && <p>{said}</p>}
          {review.problem && <p className="tone-wait">▲ {review.problem}</p>}
        </div>
        {problem !== null && (
          <p className="tone-bad" role="alert" data-testid="refused">
            ✗ {errorText(problem)} Nothing was decided; your marks and words are kept.
          </p>
        )}
      </div>
      {isTrying && isOpen && shown && (
        <TrialForm detail={detail} view={shown} barred={barred} onClose={() => setTrying(false)} />
      )}
      {receipt ? (
        <Receipt received={receipt} detail={detail} />
      ) : isOpen ? (
        <>
          <VerdictFields
            draft={draft}
            change={review.change}
            field={field}
            risk={detail.risk}
            deferFor={deferFor}
            onDeferFor={setDeferFor}
          />
          <div className="verdict-row">
            <button
              type="button"
              className="button danger"
              data-testid="reject"
              disabled={barred !== null || !hasReason}
              title={hasReason ? 'It is turned down, and the agent is told why' : 'Write a reason first'}
              onClick={() => withReason('reject')}
            >
              Reject <kbd>{showChord('Mod+Shift+x')}</kbd>
            </button>
            <button
              type="button"
              className="button"
              data-testid="return"
              disabled={barred !== null || !hasReason}
              title={hasReason ? 'The agent revises it' : 'Write a reason first'}
              onClick={() => withReason('return')}
            >
              Return{draft.comments.length > 0 && ` with ${many(draft.comments.length, 'comment')}`}{' '}
              <kbd>{showChord('Mod+Shift+r')}</kbd>
            </button>
            <button type="button" className="button" data-testid="defer" disabled={barred !== null} onClick={defer}>
              Defer <kbd>{showChord('Mod+Shift+d')}</kbd>
            </button>
            <button
              type="button"
              className="button"
              data-testid="trial-open"
              aria-expanded={isTrying}
              disabled={barred !== null}
              onClick={() => setTrying(!isTrying)}
            >
              Trial… <kbd>{showChord('Mod+t')}</kbd>
            </button>
            <button
              type="button"
              className="button verdict-derive"
              data-testid="derive"
              disabled={!canPart && !canEdit}
              title="Becomes a proposal of its own in place of this one: its checks run again, and it waits for its own verdict"
              onClick={derive}
            >
              {deriveText(edits, review.rejected, hunks)}{' '}
              <kbd>{showChord(edits > 0 ? 'Mod+s' : 'Mod+Shift+enter')}</kbd>
            </button>
            <button
              type="button"
              className="button primary verdict-approve"
              data-testid="approve"
              data-holding={hold.isHolding || undefined}
              disabled={arming.kind !== 'armed'}
              title={approveText(arming, hold.isHolding)}
              onClick={() => {
                if (arming.kind === 'armed' && arming.holdMs === 0) approve()
              }}
              onPointerDown={(event) => {
                const isHeld = arming.kind === 'armed' && arming.holdMs > 0
                if (isHeld && event.button === 0 && isMeant(attention, event.nativeEvent)) approve()
              }}
              onPointerLeave={hold.cancel}
              onKeyDown={(event) => {
                const isHeld = arming.kind === 'armed' && arming.holdMs > 0
                if (!isHeld || event.ctrlKey || event.metaKey || (event.key !== 'Enter' && event.key !== ' ')) return
                event.preventDefault()
                if (!event.repeat && isMeant(attention, event.nativeEvent)) approve()
              }}
            >
              {approveText(arming, hold.isHolding)} {arming.kind !== 'missing' && <kbd>{showChord('Mod+enter')}</kbd>}
            </button>
          </div>
        </>
      ) : (
        <Closed detail={detail} />
      )}
    </section>
  )
}

function approveText(arming: Arming, isHolding: boolean): string {
  if (isHolding) return 'Keep holding…'
  if (arming.kind === 'missing') return `Approve: ${arming.what}`
  if (arming.kind === 'waiting') return 'Approve in a moment'
  return arming.holdMs > 0 ? 'Hold to approve' : 'Approve'
}

function deriveText(edits: number, rejected: number, hunks: number): string {
  if (edits > 0) return `Save edit: ${many(edits, 'file')}`
  return rejected > 0 ? `Approve ${hunks - rejected} of ${hunks} hunks` : 'Approve part'
}
