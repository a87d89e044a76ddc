import type { TaskSummary } from '../../kernel/wire/operator.ts'
import { median } from '../../kernel/wire/statistics.ts'

export interface Estimate {
  /** Earlier runs of the same pack and model that a limit or a person did not end. */
  runs: number
  /** Medians of them; a cost is null where some run's is not known. */
  steps: number
  costNanoUsd: number | null
  /** From the beginning to the end, pauses too. */
  durationMs: number
}

/** What a task is likely to take, from what it took before; null: it never ran to its end with this model. */
export function estimateOf(
  tasks: readonly Pick<TaskSummary, 'title' | 'pack' | 'model' | 'outcome' | 'totals' | 'createdAt' | 'finishedAt'>[],
  pack: { pack: string; name: string },
  model: { name: string; simulated: boolean },
): Estimate | null {
  const runs = tasks.filter(
    (task) =>
      task.title === pack.name &&
      isPack(task.pack, pack.pack) &&
      task.model.name === model.name &&
      task.model.simulated === model.simulated &&
      (task.outcome === 'completed' || task.outcome === 'claimed'),
  )
  const steps = median(runs.map(({ totals }) => totals.steps))
  const durationMs = median(runs.map(({ createdAt, finishedAt }) => (finishedAt ?? createdAt) - createdAt))
  if (steps === null || durationMs === null) return null
  const costs = runs.flatMap(({ totals }) => totals.costNanoUsd ?? [])
  return { runs: runs.length, steps, durationMs, costNanoUsd: costs.length === runs.length ? median(costs) : null }
}

/** A task knows its pack by its folder, the list by where it lies among the packs. */
function isPack(folder: string | null, listed: string): boolean {
  const plain = (path: string) => path.replaceAll('\\', '/')
  return folder !== null && `/${plain(folder)}`.endsWith(`/${plain(listed)}`)
}
