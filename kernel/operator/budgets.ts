import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { SharedBudgets, SharedLimits } from '../models/models.ts'
import type { BudgetRow } from '../wire/operator-budgets.ts'

type Changes = { [K in keyof SharedLimits]?: SharedLimits[K] | undefined }

/** What the operator does with budgets that tasks share: each change is on disk and in force when it resolves. */
export function createBudgetDesk({ shared, history }: { shared: SharedBudgets; history: History }) {
  return {
    get: (): Promise<BudgetRow[]> => shared.list(),
    async set({ agent, ...limits }: { agent: string | null } & Changes): Promise<{ seq: number }> {
      if (history.problem !== null)
        throw new KernelError(
          'unavailable',
          `no budget is set while history is open for reading only: ${history.problem}`,
        )
      return { seq: await shared.set(agent, limits) }
    },
  }
}
