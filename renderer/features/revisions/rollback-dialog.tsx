import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { RevisionRow } from '../../../kernel/wire/operator.ts'
import { Dialog } from '../../components/dialog.tsx'
import { errorText, Loaded } from '../../components/states.tsx'
import { queryClient, useDesk } from '../../lib/desk.tsx'
import { shortHash } from '../../lib/format.ts'
import { showChord, useKeys } from '../../lib/keys.ts'
import { ChangedFiles } from './compare.tsx'

interface Props {
  agent: string
  target: RevisionRow
  active: RevisionRow
  onClose: () => void
  /** Told once it is done, for the receipt. */
  onDone: (receipt: Receipt) => void
}

export interface Receipt {
  seq: number
  before: RevisionRow
  after: { activation: number; revision: string; contentOf: number }
}

/** What going back would do, before it is done; the same chord that opened it confirms it. */
export function RollbackDialog({ agent, target, active: activeNow, onClose, onDone }: Props) {
  const desk = useDesk()
  // What was active when the dialog opened: the rollback itself must not change what its receipt says.
  const [active] = useState(activeNow)
  const [reason, setReason] = useState('')
  const preview = useQuery({
    queryKey: ['rollback-preview', agent, target.activation, active.activation],
    queryFn: () => desk.revisions.rollbackPreview({ agent, activation: target.activation }),
    gcTime: 0,
  })
  const roll = useMutation({
    mutationFn: (expectActive: string) =>
      desk.revisions.rollback({
        agent,
        activation: target.activation,
        expectActive,
        ...(reason.trim() ? { reason: reason.trim() } : {}),
      }),
    onSuccess: ({ seq, activation, revision }) => {
      void queryClient.invalidateQueries({ queryKey: ['revisions'] })
      onDone({ seq, before: active, after: { activation, revision, contentOf: target.activation } })
    },
  })
  const expected = preview.data?.from.revision
  const confirm = () => {
    if (expected && !roll.isPending) roll.mutate(expected)
  }
  useKeys({ 'Mod+Shift+b': confirm })
  return (
    <Dialog
      title={`Roll back ${agent} to the content of r${target.activation}`}
      onClose={onClose}
      footer={
        <>
          <button type="button" className="button" onClick={onClose}>
            Keep r{active.activation}
          </button>
          <button
            type="button"
            className="button primary"
            data-testid="rollback-confirm"
            disabled={!expected || roll.isPending}
            onClick={confirm}
          >
            {roll.isPending
              ? 'Rolling back…'
              : `Activate ${preview.data?.resulting ?? `the content of r${target.activation}`}`}{' '}
            <kbd>{showChord('Mod+Shift+b')}</kbd>
          </button>
        </>
      }
    >
      <Loaded query={preview} what="the preview" rows={6}>
        {(shown) => (
          <div className="rollback">
            <p>
              r{shown.from.activation} <code>{shortHash(shown.from.revision)}</code> → r{shown.to.activation}{' '}
              <code>{shortHash(shown.to.revision)}</code>
            </p>
            <h3>Files</h3>
            <ChangedFiles files={shown.files} />
            {shown.toolsRemoved.length > 0 && <p>Tools that go: {shown.toolsRemoved.join(', ')}</p>}
            {shown.toolsRestored.length > 0 && <p>Tools that come back: {shown.toolsRestored.join(', ')}</p>}
            <h3>Effects</h3>
            <ul className="plain-list">
              {shown.effects.map((effect) => (
                <li key={effect}>{effect}</li>
              ))}
            </ul>
            <p className="muted">A rollback is a new activation: nothing is lost.</p>
            <input
              className="field"
              value={reason}
              maxLength={4000}
              onChange={(event) => setReason(event.target.value)}
              aria-label="Reason"
              placeholder="Reason (optional): the agent reads it"
            />
          </div>
        )}
      </Loaded>
      {roll.error && (
        <p className="tone-bad" role="alert">
          ✗ {errorText(roll.error)} r{active.activation} stays active.
        </p>
      )}
    </Dialog>
  )
}
