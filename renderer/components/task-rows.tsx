import type { TaskSummary } from '../../kernel/wire/operator.ts'
import { useNow } from '../lib/clock.ts'
import { duration, money, share } from '../lib/format.ts'
import { hrefOf } from '../lib/route.ts'
import { stallOf } from '../lib/task-health.ts'
import { BudgetBar, ProgressBar } from './bars.tsx'
import { InertText } from './inert-text.tsx'
import { RunStatus } from './run-status.tsx'
import { Simulated, TaskStatus } from './status.tsx'
import { TimeAgo } from './time.tsx'
import './task-rows.css'

export function RunningRow({ task, isSelected }: { task: TaskSummary; isSelected: boolean }) {
  const stalledIn = stallOf(task, useNow())?.what ?? null
  return (
    <a className="task-row" href={hrefOf({ screen: 'live', task: task.task })} data-selected={isSelected || undefined}>
      <span>
        <RunStatus task={task} />
      </span>
      <strong>{task.title}</strong>
      <span className="muted">
        {stalledIn !== null && (
          <>
            in <InertText text={stalledIn} /> ·{' '}
          </>
        )}
        {task.task} · r{task.activation} · step {task.totals.steps} · {task.agent}
      </span>
      <ProgressBar progress={task.progress} />
      <BudgetBar usedNanoUsd={task.totals.costNanoUsd} limitNanoUsd={task.limits.budgetNanoUsd} />
      <span className="figure">
        cached {share(task.totals.cachedShare)} <Simulated isSimulated={task.model.simulated} />
      </span>
      <span className="figure muted">
        <TimeAgo at={task.lastEventAt} />
      </span>
    </a>
  )
}

export function FinishedRow({ task, isSelected }: { task: TaskSummary; isSelected: boolean }) {
  const { finishedAt } = task
  return (
    <a className="task-row" href={hrefOf({ screen: 'live', task: task.task })} data-selected={isSelected || undefined}>
      <span>
        <TaskStatus task={task} />
      </span>
      <strong>{task.title}</strong>
      <span className="muted">
        {task.task} · r{task.activation} · {task.totals.steps} steps
        {finishedAt !== null && ` in ${duration(finishedAt - task.createdAt)}`} · {task.agent}
      </span>
      <ProgressBar progress={task.progress} />
      <span className="figure">{money(task.totals.costNanoUsd)}</span>
      <span className="figure">
        cached {share(task.totals.cachedShare)} <Simulated isSimulated={task.model.simulated} />
      </span>
      <span className="figure muted">{finishedAt !== null && <TimeAgo at={finishedAt} />}</span>
    </a>
  )
}
