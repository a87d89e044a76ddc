import { KernelError } from '../errors.ts'
import { draft, type EventDraft } from '../wire/events.ts'
import type { TaskRecord } from './projection.ts'

/** null: no limit; left out: as it is. */
export interface BudgetLimits {
  budgetNanoUsd?: number | null | undefined
  budgetTokens?: number | null | undefined
}

/**
 * The events that raise the budgets of a task.
 * @throws KernelError `conflict` (it has finished), `invalid`: a budget is raised, never lowered, so that a task keeps what it was promised.
 */
export function raisedBudgets({ agent, task, finished, created }: TaskRecord, to: BudgetLimits): EventDraft[] {
  if (finished !== null)
    throw new KernelError('conflict', `${task} has finished (${finished.outcome}): start another with a larger budget`)
  const raises = [
    ...raise('usd', created.limits.budgetNanoUsd, to.budgetNanoUsd),
    ...raise('tokens', created.limits.budgetTokens, to.budgetTokens),
  ]
  if (raises.length === 0) throw new KernelError('invalid', 'say which budget is raised, and to what')
  return raises.map((data) => draft('budget.raised', data, { actor: 'operator', agent, task, run: 'task' }))
}

function raise(budget: 'usd' | 'tokens', from: number | null, to: number | null | undefined) {
  if (to === undefined) return []
  const unit = budget === 'usd' ? 'USD' : 'tokens'
  if (from === null) throw new KernelError('invalid', `this task has no budget in ${unit}, so there is none to raise`)
  if (to !== null && to <= from) {
    const [old, asked] = budget === 'usd' ? [from / 1e9, to / 1e9] : [from, to]
    throw new KernelError('invalid', `its budget is ${old} ${unit}, and ${asked} is not more; stop the task to end it`)
  }
  return [{ budget, from, to }]
}
