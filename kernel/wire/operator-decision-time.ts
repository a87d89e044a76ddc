import { oc } from '@orpc/contract'
import { z } from 'zod'
import { count, taskId } from './ids.ts'

/** Of active time, which is the time that turns run: pauses, waits and the time between hosts do not count. */
export const decisionWindowMs = 900_000

export const decisionTimeSchema = z.object({
  windowMs: z.literal(decisionWindowMs),
  activeMs: z.number(),
  /**
   * One for each window, also where nothing was decided. A decision lasts from its input (the start of a turn, or the end of
   * the last tool) to the model's answer, so that provider and network, retries and what the executor does count; it is in
   * the window in which it ended.
   */
  windows: z.array(
    z.object({ fromMs: count, decisions: count, medianMs: z.number().nullable(), longestMs: z.number().nullable() }),
  ),
})
export type DecisionTime = z.infer<typeof decisionTimeSchema>

export const decisionTimeContract = {
  decisionTime: oc.input(z.strictObject({ task: taskId })).output(decisionTimeSchema),
}
