import { oc } from '@orpc/contract'
import { z } from 'zod'

/** What each activation was said to bring, and what it brought. */

const agentName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const count = z.number().int().nonnegative()

/** Median over the steps of one revision, with their number; null: nothing to measure. */
const figure = z.object({ median: z.number(), low: z.number(), high: z.number(), n: count }).nullable()

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
  /** Of the revision before it, and of this one, step by step in history. */
  before: z.object({ inputTokens: figure, costNanoUsd: figure, cachedShare: figure, progress: figure }),
  after: z.object({ inputTokens: figure, costNanoUsd: figure, cachedShare: figure, progress: figure }),
  verdict: z.enum(['better', 'worse', 'inconclusive', 'not-measured']),
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
    })
    .nullable(),
  regressed: z.object({ at: z.number(), limit: z.string(), value: z.number(), bound: z.number() }).nullable(),
})
export type Effect = z.infer<typeof effectSchema>

export const effectsContract = oc.input(z.strictObject({ agent: agentName })).output(z.array(effectSchema))
