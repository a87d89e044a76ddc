import { oc } from '@orpc/contract'
import { z } from 'zod'
import { agentName, count, sha256 } from './ids.ts'

/** What each activation was said to bring, and what it brought. */

/** With an interval of 95 %, and the number of steps that it is over; null: nothing to measure. */
const figure = z.object({ value: z.number(), low: z.number(), high: z.number(), n: count }).nullable()
const figures = z.object({
  /** Medians over steps, without the first one of a revision or task, whose prefix is new. */
  inputTokens: figure,
  costNanoUsd: figure,
  cachedShare: figure,
  /** Measured progress for a dollar: a ratio of sums. */
  progressPerUsd: figure,
})

export const effectSchema = z.object({
  activation: count,
  revision: sha256,
  /** Of the context replay before it was approved: an estimate. */
  predicted: z
    .object({
      inputTokensPerStep: z.object({ before: z.number(), after: z.number() }),
      cachedShare: z.object({ before: z.number().nullable(), after: z.number().nullable() }),
      costNanoUsdPerStep: z.object({ before: z.number().nullable(), after: z.number().nullable() }),
      n: count,
    })
    .nullable(),
  /** Up to 200 steps each: the last of the revision before it, the first of this one. */
  before: figures,
  after: figures,
  /** By intervals that do not overlap. */
  verdict: z.enum(['better', 'worse', 'inconclusive', 'not-measured']),
  /** What the verdict is about: the first of these that is measured on both sides. */
  judgedBy: z.enum(['progress-per-dollar', 'cost-per-step', 'input-tokens']).nullable(),
  /** Whether the edit has repaid the making of it. */
  breakEven: z
    .object({
      /** The turns in which it was written and proposed, its checks, and the prefix that had to be sent anew. */
      spentNanoUsd: count.nullable(),
      savedNanoUsd: z.number().nullable(),
      /** Steps after which it has repaid itself at the present rate; null: never at this rate, or not known. */
      atStep: count.nullable(),
      isRepaid: z.boolean(),
      basis: z.string(),
      /** What saving is counted by. */
      per: z.enum(['unit', 'step']).nullable(),
      /** Steps since, which the figures are over. */
      steps: count,
      /** Saved less spent after so many steps, thinned. */
      line: z.array(z.object({ step: count, netNanoUsd: z.number() })),
    })
    .nullable(),
  regressed: z
    .object({
      at: z.number(),
      seq: count,
      limit: z.string(),
      value: z.number(),
      bound: z.number(),
      text: z.string(),
      /** It is neither rolled back nor kept: the operator's turn. */
      isOpen: z.boolean(),
      leadsTo: z.enum(['propose', 'rollback']),
    })
    .nullable(),
})
export type Effect = z.infer<typeof effectSchema>

export const effectsContract = oc.input(z.strictObject({ agent: agentName })).output(z.array(effectSchema))

/** Leaves a revision that has gone beyond a limit as it is. `conflict` where none has, or another is active. */
export const keepContract = oc
  .input(z.strictObject({ agent: agentName, activation: count, reason: z.string().trim().min(1).max(4000) }))
  .output(z.strictObject({ seq: count }))
