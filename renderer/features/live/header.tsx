import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { TaskSummary } from '../../../kernel/wire/operator.ts'
import { BudgetBar } from '../../components/bars.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { RunStatus } from '../../components/run-status.tsx'
import { errorText } from '../../components/states.tsx'
import { Simulated } from '../../components/status.tsx'
import { Age } from '../../components/time.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { duration, share, shortHash } from '../../lib/format.ts'
import { showChord, useKeys } from '../../lib/keys.ts'
import { hrefOf } from '../../lib/route.ts'

/** State, revision, budget, cached share, and the three things an operator can do to a running task. */
export function Header({ task }: { task: TaskSummary }) {
  const desk = useDesk()
  const [isSteering, setSteering] = useState(false)
  const [isStopping, setStopping] = useState(false)
  const act = useMutation({ mutationFn: (verb: 'pause' | 'resume' | 'stop') => desk.tasks[verb]({ task: task.task }) })
  const isOver = task.state === 'finished'
  const canResume = task.state === 'paused' || task.state === 'interrupted'
  const canPause = task.state === 'running' || task.state === 'waiting' || task.state === 'starting'
  const pauseOrResume = () => {
    if (canResume) act.mutate('resume')
    else if (canPause) act.mutate('pause')
  }
  useKeys({ 'Mod+.': pauseOrResume })
  return (
    <>
      <header className="live-header" data-testid="live-header">
        <h1>{task.title}</h1>
        <RunStatus task={task} />
        <span className="muted">
          {task.finishedAt === null ? <Age since={task.createdAt} /> : duration(task.finishedAt - task.createdAt)}
        </span>
        <a href={hrefOf({ screen: 'revisions', agent: task.agent })} title={`revision ${task.revision}`}>
          r{task.activation}
        </a>
        <code className="muted" title={task.revision}>
          {shortHash(task.revision)}
        </code>
        <BudgetBar usedNanoUsd={task.totals.costNanoUsd} limitNanoUsd={task.limits.budgetNanoUsd} />
        <span title="cache read / all input tokens">cached {share(task.totals.cachedShare)}</span>
        <Simulated isSimulated={task.model.simulated} />
        <span className="live-actions">
          {!isOver && (
            <>
              <button
                type="button"
                className="button"
                disabled={!canPause && !canResume}
                onClick={pauseOrResume}
                data-testid="pause"
              >
                {canResume ? 'Resume' : 'Pause'} <kbd>{showChord('Mod+.')}</kbd>
              </button>
              <button
                type="button"
                className="button"
                onClick={() => setSteering(!isSteering)}
                aria-expanded={isSteering}
                data-testid="steer"
              >
                Steer
              </button>
              <button type="button" className="button danger" onClick={() => setStopping(true)} data-testid="stop">
                Stop…
              </button>
            </>
          )}
        </span>
      </header>
      {isSteering && !isOver && <Steer task={task.task} onDone={() => setSteering(false)} />}
      {act.error && (
        <p className="live-error tone-bad" role="alert">
          ✗ {errorText(act.error)}
        </p>
      )}
      {isStopping && (
        <Dialog
          title={`Stop ${task.task}`}
          onClose={() => setStopping(false)}
          footer={
            <>
              <button type="button" className="button" onClick={() => setStopping(false)}>
                Keep it running
              </button>
              <button
                type="button"
                className="button danger"
                data-testid="stop-confirm"
                onClick={() => {
                  act.mutate('stop')
                  setStopping(false)
                }}
              >
                Stop {task.task} for good
              </button>
            </>
          }
        >
          <p>The task ends at its next safe point and cannot be resumed. Kept, all of it:</p>
          <ul className="plain-list">
            <li>history: every event so far</li>
            <li>
              the agent {task.agent} with its active revision r{task.activation} and its artifacts
            </li>
            <li>proposals, decided or not</li>
          </ul>
          <p className="muted">To stop for a while instead, pause it.</p>
        </Dialog>
      )}
    </>
  )
}

function Steer({ task, onDone }: { task: string; onDone: () => void }) {
  const desk = useDesk()
  const [text, setText] = useState('')
  const send = useMutation({ mutationFn: () => desk.tasks.steer({ task, text }), onSuccess: onDone })
  return (
    <form
      className="live-steer"
      onSubmit={(event) => {
        event.preventDefault()
        send.mutate()
      }}
    >
      <input
        className="field"
        // The operator has just asked for this field.
        ref={(element) => element?.focus()}
        value={text}
        maxLength={8000}
        onChange={(event) => setText(event.target.value)}
        aria-label="Message to the agent"
        placeholder="Message to the agent: it reads it at its next step"
      />
      <button type="submit" className="button primary" disabled={text.trim() === '' || send.isPending}>
        Queue message
      </button>
      {send.error && <span className="tone-bad">✗ {errorText(send.error)}</span>}
    </form>
  )
}
