import type { History } from '../history/history.ts'
import type { Tasks } from '../tasks/tasks.ts'
import type { ActivationPoint } from '../wire/operator.ts'
import { cachedShareOf } from '../wire/statistics.ts'

/** What each activation did in one task, in order. */
export async function activationPoints(history: History, task: string): Promise<ActivationPoint[]> {
  return (await history.activations(task)).map(({ agent: _agent, task: _task, progressFrom, progressTo, ...row }) => ({
    ...row,
    cachedShare: cachedShareOf(row),
    progressDelta: progressTo === null ? null : progressTo - (progressFrom ?? 0),
  }))
}

/** What the charts of one task are drawn from. @throws KernelError `not-found`. */
export async function taskSeries({ history, tasks }: { history: History; tasks: Tasks }, task: string) {
  const [steps, activations, { progress }] = await Promise.all([
    history.steps(task),
    activationPoints(history, task),
    tasks.get(task),
  ])
  return {
    steps: steps.map(
      ({ task: _task, revision: _revision, toolErrors: _errors, isPolicyWork: _isPolicyWork, ...point }) => point,
    ),
    activations,
    unit: progress?.unit ?? null,
    goal: progress?.goal ?? null,
  }
}
