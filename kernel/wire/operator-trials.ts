import { oc } from '@orpc/contract'
import { z } from 'zod'
import { bindingSchema } from './events.ts'
import { agentName, count, proposalId, sha256, taskId } from './ids.ts'
import { armFigures } from './trials.ts'

/** A candidate tried on a fork of its task before anyone decides: history, artifacts and snapshot of the fork alone are touched. */

const armSchema = z.object({
  arm: z.enum(['before', 'after']),
  /** The fork that ran it; null before it is there. */
  agent: agentName.nullable(),
  task: taskId.nullable(),
  revision: sha256,
  state: z.enum(['waiting', 'running', 'finished']),
  outcome: z.string().nullable(),
  /** How it ended, in a few words; null: it has not. */
  ended: z.string().nullable(),
  /** Why it ended so, in plain words. */
  reason: z.string().nullable(),
  ...armFigures,
})
export const trialSchema = z.object({
  trial: z.string(),
  agent: agentName,
  proposal: proposalId,
  /** Of which both arms run a copy. */
  task: taskId,
  state: z.enum(['starting', 'running', 'finished', 'failed', 'stopped']),
  reason: z.string().nullable(),
  startedAt: z.number(),
  endedAt: z.number().nullable(),
  /** From which event of the task both arms went on. */
  forkedAt: count,
  capNanoUsd: count.nullable(),
  capTokens: count.nullable(),
  maxSteps: count,
  spentNanoUsd: count.nullable(),
  arms: z.array(armSchema),
  /** One run of each arm shows that it works, and no more: said beside every figure. */
  simulated: z.boolean(),
})
export type TrialRow = z.infer<typeof trialSchema>

/** Of several trials together. They count in the budgets of agent and day, and in no task's. */
export const trialTotalsSchema = z.object({
  trials: count,
  steps: count,
  tokens: count,
  /** null: the price of at least one call is unknown. */
  costNanoUsd: count.nullable(),
})
export type TrialTotals = z.infer<typeof trialTotalsSchema>

export const trialsContract = {
  list: oc
    .input(z.strictObject({ agent: agentName.optional(), proposal: proposalId.optional() }))
    .output(z.array(trialSchema)),
  /** `over-budget` where the caps do not fit what is left; `conflict` where one of this proposal runs. */
  start: oc
    .input(
      z.strictObject({
        agent: agentName,
        proposal: proposalId,
        nonce: z.string(),
        binding: bindingSchema,
        /** Of both arms together; at least one of the caps. */
        capNanoUsd: count.nullable(),
        capTokens: count.nullable(),
        maxSteps: count.min(1).max(500),
      }),
    )
    .output(z.object({ trial: z.string(), seq: count })),
  stop: oc.input(z.strictObject({ trial: z.string() })).output(z.strictObject({ seq: count })),
}
