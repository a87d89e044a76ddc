import { useMutation } from '@tanstack/react-query'
import { errorText } from '../../components/states.tsx'
import { queryClient, useDesk } from '../../lib/desk.tsx'
import { shortHash } from '../../lib/format.ts'
import type { Receipt } from './rollback-dialog.tsx'

/** What a rollback did, and its way back: refused where another revision has become active since. */
export function ReceiptBanner(props: {
  agent: string
  receipt: Receipt
  onUndone: (receipt: Receipt) => void
  onClose: () => void
}) {
  const { agent, receipt, onUndone, onClose } = props
  const { seq, before, after } = receipt
  const desk = useDesk()
  const undo = useMutation({
    mutationFn: () =>
      desk.revisions.rollback({
        ...{ agent, activation: before.activation, expectActive: after.revision },
        reason: `undoes the rollback to r${after.contentOf}`,
      }),
    onSuccess: (done) => {
      void queryClient.invalidateQueries({ queryKey: ['revisions'] })
      const undone = { ...before, activation: after.activation, revision: after.revision }
      onUndone({ seq: done.seq, before: undone, after: { ...done, contentOf: before.activation } })
    },
  })
  return (
    <section className="banner banner-ok receipt" data-testid="rollback-receipt" role="status">
      <p>
        <strong className="tone-ok">✓ r{after.activation} is active</strong> with the content of r{after.contentOf}{' '}
        (event {seq}). Executor before <code>{shortHash(before.revision)}</code> after{' '}
        <code>{shortHash(after.revision)}</code>
      </p>
      <div className="regressed-actions">
        <button
          type="button"
          className="button"
          data-testid="rollback-undo"
          disabled={undo.isPending}
          onClick={() => undo.mutate()}
        >
          {undo.isPending ? 'Undoing…' : `Undo: back to r${before.activation}`}
        </button>
        <button type="button" className="button quiet" onClick={onClose}>
          Close
        </button>
      </div>
      {undo.error && (
        <p className="tone-bad" role="alert">
          ✗ {errorText(undo.error)} r{after.activation} stays as it is.
        </p>
      )}
    </section>
  )
}
