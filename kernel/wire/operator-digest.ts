import { oc } from '@orpc/contract'
import { z } from 'zod'
import { count } from './ids.ts'

/** What happened after a moment, counted by event and not by how things stand: what was undone since has still happened. */
export const digestSchema = z.object({
  since: z.number(),
  /** Proposals that became active, and ways back from a revision. */
  activated: count,
  rolledBack: count,
  rejected: count,
  expired: count,
  finished: z.object({ completed: count, failed: count, stopped: count, budget: count, claimed: count }),
  /** Of every model call from the minute of `since` on; null: some have no price. */
  costNanoUsd: count.nullable(),
  modelCalls: count,
  /** Some of the tasks that did something since then are of a simulated model. */
  isSimulated: z.boolean(),
})
export type Digest = z.infer<typeof digestSchema>

export const digestContract = {
  /** @param since epoch ms. */
  since: oc.input(z.strictObject({ since: z.number().nonnegative() })).output(digestSchema),
}
