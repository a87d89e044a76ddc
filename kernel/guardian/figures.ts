import type { History, StepRow } from '../history/history.ts'
import type { StepFigures } from './breach.ts'
import type { ActivationRecord, AgentState } from './state.ts'

/** Steps of one revision in one task, in order, with the step that each figure is of. */
export type Figures = StepFigures & Pick<StepRow, 'at' | 'isPolicyWork'> & { isBroken: boolean }

/** Steps of a revision on a task beside steps of the revision that it took the place of. */
export interface Comparison {
  task: string
  /** The task that `before` is of: the same one, or the latest of the same pack. */
  against: string | null
  before: Figures[]
  after: Figures[]
}

type TaskRecord = AgentState['tasks'][number]

/**
 * The first steps of an activation on a task, beside the last ones of the revision before it on the same task: what is
 * nearest in the task's own course. On a later task they stand beside the first steps of that revision on the latest
 * earlier task of the same pack. Read from roll-ups, at most a few hundred rows.
 */
export async function compare(
  history: History,
  state: AgentState,
  { activation, previous }: ActivationRecord,
  task: string,
  most: { before: number; after: number },
): Promise<Comparison> {
  const { agent } = state
  const earlier = state.activations.filter((one) => one.activation < activation && one.revision === previous).reverse()
  const after = await figuresOf(history, agent, activation, task, { limit: most.after })
  const before = async (of: string, isLast: boolean): Promise<Figures[]> => {
    let rows: Figures[] = []
    for (const one of earlier) {
      const limit = most.before - rows.length
      if (limit <= 0 || (!isLast && rows.length > 0)) break
      rows = [...(await figuresOf(history, agent, one.activation, of, { limit, isLast })), ...rows]
    }
    return rows
  }
  for (const one of likeTasks(state.tasks, task)) {
    const rows = await before(one, one === task)
    if (rows.length > 0) return { task, against: one, before: rows, after }
  }
  return { task, against: null, before: [], after }
}

/** The task itself, then earlier ones of the same pack, latest first; no more than are looked through in no time. */
function likeTasks(tasks: readonly TaskRecord[], task: string): string[] {
  const index = tasks.findIndex((one) => one.task === task)
  const pack = tasks[index]?.pack ?? null
  const like = pack === null ? [] : tasks.slice(0, index).filter((one) => one.pack === pack)
  return [task, ...like.map((one) => one.task).reverse()].slice(0, 10)
}

export async function figuresOf(
  history: History,
  agent: string,
  activation: number,
  task: string,
  { limit, isLast = false }: { limit: number; isLast?: boolean },
): Promise<Figures[]> {
  // One more than is asked for: what was reached before the first one.
  const rows = await history.activationSteps(agent, activation, { task, limit: isLast ? limit + 1 : limit, isLast })
  if (rows.length === 0) return []
  const [{ progress }, activations] = await Promise.all([history.totals({ task }), history.activations(task)])
  const isCut = isLast && rows.length > limit
  const start = isCut ? rows[0]?.progress : activations.find((one) => one.activation === activation)?.progressFrom
  let reached = start ?? null
  return (isCut ? rows.slice(1) : rows).map((row, index) => {
    const gained = row.progress === null ? null : row.progress - (reached ?? row.progress)
    reached = row.progress ?? reached
    const { modelCalls, failedCalls, toolCalls, toolErrors, cacheRead, costNanoUsd, at, isPolicyWork } = row
    return {
      ...{ modelCalls, failedCalls, toolCalls, toolErrors, cacheRead, costNanoUsd, at, isPolicyWork },
      inputTokens: row.uncached + cacheRead + row.cacheWrite,
      gained: progress?.source === 'measured' ? gained : null,
      isBroken: row.cacheBreak !== null,
      isFirst: !isCut && index === 0,
    }
  })
}
