import { useMutation } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { Dialog } from '../../components/dialog.tsx'
import { errorText } from '../../components/states.tsx'
import { queryClient, useAgents, useDesk } from '../../lib/desk.tsx'
import { hrefOf } from '../../lib/route.ts'

interface Props {
  agent: string
  seq: number
  activation: number
  artifacts: number
  onClose: () => void
}

/** A new agent that stands on this one's history up to the event: what it copies, what it does not, and what costs money. */
export function ForkDialog({ agent, seq, activation, artifacts, onClose }: Props) {
  const desk = useDesk()
  const id = useId()
  const taken = new Set((useAgents().data ?? []).map((each) => each.agent))
  const [name, setName] = useState(`${agent.slice(0, 40)}-at-${seq}`)
  const isName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)
  const fork = useMutation({
    mutationFn: () => desk.agents.fork({ agent, seq, name }),
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: ['agents'] }),
  })
  const done = fork.data
  const problem = !isName
    ? 'A name has letters, digits, points, dashes and underscores, at most 64.'
    : taken.has(name) && !done
      ? 'There is an agent of that name.'
      : null
  return (
    <Dialog
      title={`Fork ${agent} from event ${seq}`}
      onClose={onClose}
      footer={
        done ? (
          <button type="button" className="button" onClick={onClose}>
            Close
          </button>
        ) : (
          <>
            <button type="button" className="button" onClick={onClose}>
              Cancel
            </button>
            <button
              type="button"
              className="button primary"
              disabled={problem !== null || fork.isPending}
              onClick={() => fork.mutate()}
            >
              {fork.isPending ? 'Forking…' : `Create ${isName ? name : 'the agent'}`}
            </button>
          </>
        )
      }
    >
      {done ? (
        <p role="status">
          ✓ <a href={hrefOf({ screen: 'revisions', agent: done.agent })}>{done.agent}</a> stands on {agent} up to event{' '}
          {seq}, with r{done.activation}. Give it a task from <a href={hrefOf({ screen: 'home' })}>Home</a>.
        </p>
      ) : (
        <div className="history-fork">
          <label htmlFor={`${id}-name`}>Name of the new agent</label>
          <input
            id={`${id}-name`}
            className="field"
            value={name}
            maxLength={64}
            onChange={(event) => setName(event.target.value)}
          />
          {problem && <p className="tone-bad">✗ {problem}</p>}
          <h3>It takes along</h3>
          <ul>
            <li>
              what {agent} remembers up to event {seq}, which both then share
            </li>
            <li>{artifacts === 1 ? '1 artifact' : `${artifacts} artifacts`}, in the versions of then</li>
            <li>the policy that was active then (r{activation}), which you let run again under its new name</li>
          </ul>
          <h3>It does not</h3>
          <ul>
            <li>copy a sandbox or a world: its next task begins with fresh ones</li>
            <li>
              change {agent}, or anything that {agent} does from here on
            </li>
          </ul>
          <p>
            <strong>Forking costs nothing. Running does:</strong> nothing is replayed from the record, so a task of the
            new agent calls the model again and is paid for again, under the same budget as {agent}’s.
          </p>
        </div>
      )}
      {fork.error && (
        <p className="tone-bad" role="alert">
          ✗ {errorText(fork.error)}
        </p>
      )}
    </Dialog>
  )
}
