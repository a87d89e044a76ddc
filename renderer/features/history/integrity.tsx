import { useMutation } from '@tanstack/react-query'
import { errorText } from '../../components/states.tsx'
import { Verified } from '../../components/verified.tsx'
import { queryClient, useDesk, useStatus } from '../../lib/desk.tsx'

/** The chain of hashes: what was verified, when, and the button that does it again; what was found wrong, and what follows. */
export function Integrity() {
  const desk = useDesk()
  const status = useStatus().data
  const verify = useMutation({
    mutationFn: () => desk.history.verify(),
    onSettled: () => void queryClient.invalidateQueries({ queryKey: ['status'] }),
  })
  const known = status?.verified ?? null
  const result = verify.data ? { ...verify.data, at: known?.at ?? Date.now() } : known
  const quarantine = status?.notices.find(({ id }) => id === 'history.read-only')
  const imported = status?.notices.find(({ id }) => id === 'history.imported')
  return (
    <span className="history-integrity" data-testid="integrity">
      <Verified subject="chain" verified={result} lastSeq={status?.lastSeq} />
      {quarantine && (
        <span className="tone-bad" title={quarantine.text}>
          ✗ read-only
        </span>
      )}
      {imported && (
        <span className="muted" title={imported.text}>
          imported, read-only
        </span>
      )}
      {verify.data?.firstBadSeq != null && <span className="tone-bad">first bad event {verify.data.firstBadSeq}</span>}
      {verify.error && <span className="tone-bad">✗ {errorText(verify.error)}</span>}
      <button
        type="button"
        className="button"
        data-testid="verify"
        disabled={verify.isPending}
        onClick={() => verify.mutate()}
      >
        {verify.isPending ? 'Verifying…' : 'Verify all of it'}
      </button>
    </span>
  )
}
