import type { ModelBrief } from '#wire'
import type { Context } from './context.ts'

/** Steps that stay word for word. */
const KEPT_STEPS = 4
const WINDOW_SHARE = 0.75
/** Below this a summary loses more than it saves. */
const WORTH_FROM_TOKENS = 40_000
/** A usual summary's tokens, at the usual price of output against input. */
const SUMMARY_PRICE = 1_500 * 8

/** True when the context nears the model's window, or when a summary pays for itself at least twice over. */
export function isDue(context: Context, model: ModelBrief): boolean {
  const { tokens, steps } = context
  if (steps <= KEPT_STEPS + 1 || tokens < context.noSummaryBelow) return false
  if (tokens > model.contextWindow * WINDOW_SHARE) return true
  if (model.cacheReadFactor === null || tokens < WORTH_FROM_TOKENS) return false
  const kept = (tokens * KEPT_STEPS) / steps
  // As many steps are to come as there were: without knowledge of the task, the best guess.
  const saved = steps * (tokens - kept) * model.cacheReadFactor
  const price = tokens * model.cacheReadFactor + SUMMARY_PRICE + kept
  return saved > 2 * price
}

/** Which steps a summary is made of and which stay. After an overflow only the older half can be sent. */
export function plan(context: Context, overflowed: boolean): { summarise: number; keepFrom: number } | null {
  const { steps } = context
  if (steps <= KEPT_STEPS + 1) return null
  if (!overflowed) return { summarise: steps, keepFrom: context.seqFromLast(KEPT_STEPS) }
  const summarise = Math.ceil((steps - KEPT_STEPS) / 2)
  return { summarise, keepFrom: context.seqFromLast(steps - summarise) }
}
