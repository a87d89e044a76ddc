import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { ToolRow } from '../../../kernel/wire/operator-tools.ts'
import { Dialog } from '../../components/dialog.tsx'
import { errorText } from '../../components/states.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { queryClient, useDesk } from '../../lib/desk.tsx'
import { shortHash } from '../../lib/format.ts'
import { showChord, useKeys } from '../../lib/keys.ts'

type Asking = 'quarantine' | 'release' | 'retire'

const asked: Record<Asking, { title: (tool: string) => string; words: string; button: string; needsReason: boolean }> =
  {
    quarantine: {
      title: (tool) => `Quarantine ${tool}`,
      words:
        'From the next model call on it is not offered, and nothing that a call of it asks for is carried out. The agent is told the reason. A tool of another name that does the same is another tool. You can release it at any time.',
      button: 'Quarantine it now',
      needsReason: true,
    },
    release: {
      title: (tool) => `Release ${tool} from quarantine`,
      words: 'From the next model call on it is offered again, and the agent is told.',
      button: 'Release it',
      needsReason: false,
    },
    retire: {
      title: (tool) => `Ask for the retirement of ${tool}`,
      words:
        'The agent reads this as a request of yours: in its next turn, and at the start of later tasks while it still has the tool. It removes it by a proposal, which you review as any other.',
      button: 'Ask the agent',
      needsReason: true,
    },
  }

/** What the operator can do about one tool. Each is an event; none of them changes the agent’s source. */
export function ToolActions({ agent, row }: { agent: string; row: ToolRow }) {
  const desk = useDesk()
  const { tool, fileHash } = row
  const [asking, setAsking] = useState<Asking | null>(null)
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['tools'] })
  const audit = useMutation({
    mutationFn: (hash: string) => desk.tools.audit({ agent, tool, hash, note: '' }),
    onSettled: refresh,
  })
  const markAudited = () => {
    if (fileHash !== null && row.audit !== 'audited' && !audit.isPending) audit.mutate(fileHash)
  }
  const toQuarantine = row.quarantined === null ? 'quarantine' : 'release'
  useKeys({ 'Mod+u': markAudited, 'Mod+Shift+k': () => setAsking(toQuarantine) }, asking === null)
  return (
    <section className="tools-actions" aria-label="Actions">
      <button
        type="button"
        className="button"
        disabled={fileHash === null || row.audit === 'audited' || audit.isPending}
        onClick={markAudited}
      >
        Mark {shortHash(fileHash)} audited <kbd>{showChord('Mod+u')}</kbd>
      </button>
      <button
        type="button"
        className={row.quarantined === null ? 'button danger' : 'button'}
        onClick={() => setAsking(toQuarantine)}
      >
        {row.quarantined === null ? 'Quarantine…' : 'Release…'} <kbd>{showChord('Mod+Shift+k')}</kbd>
      </button>
      <button type="button" className="button" disabled={!row.isOffered} onClick={() => setAsking('retire')}>
        Ask to retire…
      </button>
      {row.retirementAskedAt !== null && (
        <span className="tone-wait">
          ▲ asked to retire <TimeAgo at={row.retirementAskedAt} />
        </span>
      )}
      {audit.error && (
        <p className="tone-bad" role="alert">
          ✗ {errorText(audit.error)}
        </p>
      )}
      {asking && <AskDialog agent={agent} tool={tool} asking={asking} onClose={() => setAsking(null)} />}
    </section>
  )
}

function AskDialog(props: { agent: string; tool: string; asking: Asking; onClose: () => void }) {
  const { agent, tool, asking, onClose } = props
  const desk = useDesk()
  const [reason, setReason] = useState('')
  const { title, words, button, needsReason } = asked[asking]
  const does = useMutation({
    mutationFn: () => {
      const input = { agent, tool, reason: reason.trim() }
      if (asking === 'quarantine') return desk.tools.quarantine(input)
      return asking === 'release' ? desk.tools.release(input) : desk.tools.askRetirement(input)
    },
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ['tools'] })
      onClose()
    },
  })
  const canDo = !does.isPending && (!needsReason || reason.trim() !== '')
  const confirm = () => {
    if (canDo) does.mutate()
  }
  useKeys({ 'Mod+enter': confirm, ...(asking === 'retire' ? {} : { 'Mod+Shift+k': confirm }) })
  return (
    <Dialog
      title={title(tool)}
      onClose={onClose}
      footer={
        <>
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            className={asking === 'quarantine' ? 'button danger' : 'button primary'}
            disabled={!canDo}
            onClick={confirm}
          >
            {button} <kbd>{showChord('Mod+enter')}</kbd>
          </button>
        </>
      }
    >
      <div className="tools-ask">
        <p>{words}</p>
        <input
          className="field"
          value={reason}
          maxLength={4000}
          onChange={(event) => setReason(event.target.value)}
          aria-label="Reason"
          placeholder={needsReason ? 'Reason: the agent reads it' : 'Reason (optional): the agent reads it'}
        />
        {needsReason && reason.trim() === '' && <p className="muted">A reason is needed.</p>}
        {does.error && (
          <p className="tone-bad" role="alert">
            ✗ {errorText(does.error)} Nothing was changed.
          </p>
        )}
      </div>
    </Dialog>
  )
}
