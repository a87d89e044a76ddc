import type { TaskContext } from '../executor/executor.ts'
import { failpoint } from '../failpoints.ts'
import { draft, type EventData, type ModelChoice } from '../wire/events.ts'
import { createFolders, taskFolders } from './folders.ts'
import { requireBox } from './generations.ts'
import type { Meter, MeterState } from './meter.ts'
import type { Pack } from './pack.ts'
import { knownSpend, leftOpen, meterState } from './recovery.ts'
import type { ForkSpec, RunParts, RunSpec } from './run-parts.ts'
import type { RunSandbox } from './task-sandbox.ts'

/**
 * Lays what a new task needs, or takes up one that was started; then its model, its budget and its world.
 * @throws KernelError `unavailable`: no box, no model, no world. What was laid stays, and the next try goes on from it.
 */
export async function openRun(
  parts: RunParts,
  { task, agent, created, pack, started, fork }: RunSpec,
  meter: Meter,
  sandbox: RunSandbox,
  on: { box: () => TaskContext['box']; started: () => void },
): Promise<{
  pack: Pack
  model: ModelChoice
  paused: EventData<'task.paused'> | null
  question: string | null
}> {
  const { history, gateway, guardian } = parts
  const report = requireBox(await parts.reports(), created.sandbox)
  let kept = pack
  if (!started) {
    kept = await createFolders(taskFolders(parts.boxesDir, task), pack)
    failpoint('task:folders-made')
    await sandbox.open()
    await guardian.layPolicy(agent, on.box(), task)
    failpoint('task:before-started')
    const header = { actor: 'kernel', agent, task, run: 'task' } as const
    await history.append([
      draft('sandbox.created', { provider: report.name, detail: report.detail }, header),
      draft('task.started', {}, header),
    ])
    on.started()
    failpoint('task:started')
  } else {
    await sandbox.open()
  }
  const model = await parts.resolveModel(created.model, created.seed)
  const totals = await history.totals({ task })
  const budget = {
    limitNanoUsd: created.limits.budgetNanoUsd,
    limitTokens: created.limits.budgetTokens,
    spentNanoUsd: totals.costNanoUsd ?? (await knownSpend(history, task)),
    spentTokens: totals.uncached + totals.cacheRead + totals.cacheWrite + totals.output,
  }
  gateway.openBudget(task, budget, fork?.hold)
  await meter.open(kept, fork === undefined ? await meterState(history, agent, task) : forkedState(fork))
  await sandbox.complete()
  const open = started ? await leftOpen(history, agent, task) : { paused: null, question: null }
  return { pack: kept, model, ...open }
}

/** Turns and steps are numbered on; what is measured is measured anew. */
function forkedState({ lastStep, lastTurn }: ForkSpec): MeterState {
  return { lastStep, lastTurn, workedMs: 0, progress: null, accepted: null }
}
