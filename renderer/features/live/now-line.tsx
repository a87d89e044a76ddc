import type { TaskSummary } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { Age, TimeAgo } from '../../components/time.tsx'
import { amount } from '../../lib/format.ts'
import { nextLimit } from '../../lib/task-health.ts'

/** What it is doing, for how long, and which limit comes next. */
export function NowLine({ task }: { task: TaskSummary }) {
  const next = nextLimit(task)
  return (
    <div className="now-line" data-testid="now-line">
      <strong>{task.state === 'finished' ? 'END' : 'NOW'}</strong>
      {task.now && task.state !== 'finished' ? (
        <>
          <InertText className="mono" text={task.now.what} />
          <span className="muted">
            <Age since={task.now.since} />
          </span>
        </>
      ) : (
        <span className="muted">
          <InertText text={task.reason ?? idleText(task)} /> · last event <TimeAgo at={task.lastEventAt} />
        </span>
      )}
      <span className="muted now-progress" data-testid="progress-value">
        {task.progress && (
          <>
            {amount(task.progress.value)}
            {task.progress.goal !== null && ` of ${amount(task.progress.goal)}`} {task.progress.unit} (
            {task.progress.source})
          </>
        )}
      </span>
      {next && task.state !== 'finished' && <span className="muted">next limit: {next}</span>}
    </div>
  )
}

function idleText(task: TaskSummary): string {
  if (task.state === 'starting') return 'sandbox and executor are starting'
  if (task.state === 'finished') return `finished: ${task.outcome ?? 'no outcome'}`
  return task.state
}
