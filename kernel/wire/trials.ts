import { z } from 'zod'
import { progressSchema, tokenUsageSchema } from './events.ts'
import { count, sha256 } from './ids.ts'

/** What the events of a trial say. They are of no agent and no task: nothing of a trial shows in what it was forked from. */

/** In the order in which they run. */
export const trialArms = ['before', 'after'] as const
export type TrialArm = (typeof trialArms)[number]

/** Of `trial.planned`. */
export const trialPlanSchema = z.strictObject({
  agent: z.string(),
  proposal: z.string(),
  /** What each arm runs: the active revision, and the candidate. */
  revisions: z.strictObject({ before: sha256, after: sha256 }),
  task: z.string(),
  /** Of both arms together; each arm has half of it. */
  capNanoUsd: count.nullable(),
  capTokens: count.nullable(),
  maxSteps: count,
  simulated: z.boolean(),
})
export type TrialPlan = z.infer<typeof trialPlanSchema>

/** What is measured of an arm. */
export const armFigures = {
  steps: count,
  toolCalls: count,
  /** Of model and tools. */
  failedCalls: count,
  tokens: tokenUsageSchema,
  costNanoUsd: count.nullable(),
  cachedShare: z.number().nullable(),
  progress: progressSchema.nullable(),
  /** By how much it moved within the trial. */
  progressDelta: z.number().nullable(),
}

/** Of `trial.observed`: an arm's fork is there, or it has ended. */
export const trialObservationSchema = z.discriminatedUnion('of', [
  z.strictObject({ of: z.literal('fork'), agent: z.string(), task: z.string(), forkedAt: count }),
  z.strictObject({
    of: z.literal('end'),
    outcome: z.string(),
    reason: z.string(),
    ...armFigures,
  }),
])
export type TrialObservation = z.infer<typeof trialObservationSchema>
export type ArmEnd = Extract<TrialObservation, { of: 'end' }>

/** Of `trial.closed`. */
export const trialResultSchema = z.strictObject({
  state: z.enum(['finished', 'failed', 'stopped']),
  reason: z.string().nullable(),
})
export type TrialResult = z.infer<typeof trialResultSchema>
