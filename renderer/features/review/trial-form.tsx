import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { errorText } from '../../components/states.tsx'
import { queryClient, useDesk } from '../../lib/desk.tsx'
import type { View } from './use-view.ts'

interface Props {
  detail: ProposalDetail
  view: NonNullable<View['data']>
  /** Why nothing can be asked for now. */
  barred: string | null
  onClose: () => void
}

/** Caps of a trial: it spends money, so it never starts without one. The operator asked for it, so it takes the focus. */
export function TrialForm({ detail, view, barred, onClose }: Props) {
  const desk = useDesk()
  const { agent, proposal } = detail
  const [steps, setSteps] = useState('12')
  const [dollars, setDollars] = useState('0.10')
  const first = useRef<HTMLInputElement>(null)
  useEffect(() => first.current?.focus(), [])
  const maxSteps = Number(steps)
  const capNanoUsd = Math.round(Number(dollars) * 1e9)
  const wrong =
    !Number.isInteger(maxSteps) || maxSteps < 1 || maxSteps > 500
      ? 'Steps: a whole number from 1 to 500.'
      : dollars.trim() === '' || !(capNanoUsd > 0)
        ? 'Cap: an amount in dollars above 0.'
        : barred
  const start = useMutation({
    mutationFn: () =>
      desk.trials.start({
        agent,
        proposal,
        nonce: view.nonce,
        binding: view.binding,
        capNanoUsd,
        capTokens: null,
        maxSteps,
      }),
    onSuccess: onClose,
    onSettled: () => {
      void queryClient.invalidateQueries({ queryKey: ['proposals'] })
      void queryClient.invalidateQueries({ queryKey: ['view'] })
    },
  })
  return (
    <form
      className="verdict-row trial-form"
      data-testid="trial-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (wrong === null && !start.isPending) start.mutate()
      }}
    >
      <span>Try it on a fork: old and new, nothing of the task is touched.</span>
      <label>
        <span className="muted">steps of each </span>
        <input ref={first} className="field small" value={steps} onChange={(event) => setSteps(event.target.value)} />
      </label>
      <label>
        <span className="muted">cap of both, $ </span>
        <input className="field small" value={dollars} onChange={(event) => setDollars(event.target.value)} />
      </label>
      <button
        type="submit"
        className="button small"
        data-testid="trial-start"
        disabled={wrong !== null || start.isPending}
      >
        {start.isPending ? 'Starting…' : 'Start the trial'}
      </button>
      <button type="button" className="button small quiet" onClick={onClose}>
        Cancel
      </button>
      {(wrong ?? start.error) && (
        <span className="tone-bad" role="alert">
          {wrong ?? errorText(start.error)}
        </span>
      )}
    </form>
  )
}
