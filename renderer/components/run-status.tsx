import type { TaskSummary } from '../../kernel/wire/operator.ts'
import { useNow } from '../lib/clock.ts'
import { absoluteTime, ago } from '../lib/format.ts'
import { inertPieces } from '../lib/inert.ts'
import { stallOf } from '../lib/task-health.ts'
import { TaskStatus } from './status.tsx'

/** The state of a task; of one that runs and from which nothing comes, that and for how long. */
export function RunStatus({ task }: { task: TaskSummary }) {
  const now = useNow()
  const stall = stallOf(task, now)
  if (stall === null) return <TaskStatus task={task} />
  const pieces = inertPieces(stall.what ?? '')
  const place = pieces.length === 0 ? '' : `, in ${pieces.map(({ text }) => text).join('')}`
  return (
    <span
      className="status-word tone-wait"
      data-testid="stalled"
      title={`No event since ${absoluteTime(stall.since)}${place}. A long command or answer looks the same.`}
    >
      <span aria-hidden="true">◐</span> stalled {ago(stall.since, now).replace(' ago', '')}
    </span>
  )
}
