import { oc } from '@orpc/contract'
import { z } from 'zod'
import { agentName, count } from './ids.ts'

/** Budgets that several tasks share. Money is integer nano-dollars; null: no limit. */

const limits = { limitNanoUsd: count.nullable(), limitTokens: count.nullable() }

export const budgetSchema = z.object({
  /** `day`: from local midnight to local midnight. `agent`: of it and all forks of its lineage, for ever. */
  scope: z.enum(['day', 'agent']),
  /** The one that the lineage goes back to; null for the day. */
  agent: agentName.nullable(),
  ...limits,
  /** Calls whose price is not known count in tokens alone; those of simulated models count as if they were paid. */
  spentNanoUsd: count,
  spentTokens: count,
})
export type BudgetRow = z.infer<typeof budgetSchema>

export const budgetsContract = {
  /** The day's, and those of agents that have one. */
  get: oc.output(z.array(budgetSchema)),
  /** In force at once, for calls to come. `agent` null: the day's. A limit that is left out stays as it is. */
  set: oc
    .input(
      z.strictObject({
        agent: agentName.nullable(),
        nanoUsd: count.nullable().optional(),
        tokens: count.nullable().optional(),
      }),
    )
    .output(z.object({ seq: count })),
}
