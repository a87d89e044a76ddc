import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Effect } from '../../../kernel/wire/operator-effects.ts'
import { errorText } from '../../components/states.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { queryClient, useDesk } from '../../lib/desk.tsx'

interface Props {
  agent: string
  activation: number
  regressed: NonNullable<Effect['regressed']>
  /** null: there is nothing to go back to. */
  onReview: (() => void) | null
}

/** A revision beyond its limits: go back, or keep it and say why. */
export function RegressedCard({ agent, activation, regressed, onReview }: Props) {
  const desk = useDesk()
  const [reason, setReason] = useState('')
  const keep = useMutation({
    mutationFn: () => desk.revisions.keep({ agent, activation, reason: reason.trim() }),
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: ['revisions'] }),
  })
  return (
    <section className="banner banner-wait regressed" aria-label="Regressed" data-testid="regressed">
      <p>
        <strong className="tone-wait">▲ r{activation} has regressed</strong>{' '}
        <TimeAgo at={regressed.at} className="muted" />: {regressed.text}.
      </p>
      <div className="regressed-actions">
        {onReview && (
          <button type="button" className="button" data-testid="review-rollback" onClick={onReview}>
            Review rollback…
          </button>
        )}
        <input
          className="field"
          value={reason}
          maxLength={4000}
          onChange={(event) => setReason(event.target.value)}
          aria-label="Why it stays"
          placeholder="Why it stays, to keep it"
        />
        <button
          type="button"
          className="button"
          disabled={reason.trim() === '' || keep.isPending}
          onClick={() => keep.mutate()}
        >
          Keep r{activation}
        </button>
      </div>
      {keep.error && (
        <p className="tone-bad" role="alert">
          ✗ {errorText(keep.error)}
        </p>
      )}
    </section>
  )
}
