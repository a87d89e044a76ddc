import { z } from 'zod'
import { count } from './ids.ts'

/** Details of the checks that run a candidate: `context-replay`, `tape-replay` and `tests`. */

const partTokens = z.strictObject({ instructions: count, tools: count, messages: count, toolResults: count })
/** Where two requests part: the first item that differs. */
const parting = z.strictObject({ kind: z.enum(['instructions', 'tools', 'item']), index: count })

/** One request that a revision would have sent. Tokens are by o200k, times what the provider metered for recorded ones. */
const replayedRequestSchema = z.strictObject({
  /** null: it sent none, and `error` says why. */
  tokens: partTokens.extend({ total: count }).nullable(),
  /** Share that the prompt cache is predicted to hold; null where the step before it was not replayed. */
  cachedShare: z.number().nullable(),
  /** Where it parts from the replayed request of the step before, although that goes on there. */
  breaks: parting.nullable(),
  costNanoUsd: count.nullable(),
  error: z.string().nullable(),
  /** `error` may come of what a replay cannot answer, a command say: it decides nothing. */
  undecided: z.boolean(),
})
export type ReplayedRequest = z.infer<typeof replayedRequestSchema>

/** Means over the replayed steps; null: not known. */
const replayMeansSchema = z.strictObject({
  inputTokensPerStep: z.number().nullable(),
  cachedShare: z.number().nullable(),
  costNanoUsdPerStep: z.number().nullable(),
  /** Over the `ahead` steps that come next, if its context goes on growing as it last did. */
  inputTokensPerStepAhead: z.number().nullable(),
})

/** What base and candidate would have sent at recorded steps of the agent's latest task. Nothing was sent. */
export const contextReplaySchema = z.strictObject({
  estimated: z.literal(true),
  task: z.string(),
  model: z.string(),
  simulated: z.boolean(),
  steps: z.array(
    z.strictObject({
      turn: count,
      step: count,
      /** Of its `model.called`. */
      seq: count,
      /** As it was metered then, where the base was active. */
      recordedInputTokens: count.nullable(),
      before: replayedRequestSchema,
      after: replayedRequestSchema,
    }),
  ),
  before: replayMeansSchema,
  after: replayMeansSchema,
  /** Tools that any of its requests offers, by name; absent of what was replayed before this was kept. */
  offered: z.strictObject({ before: z.array(z.string()), after: z.array(z.string()) }).optional(),
  ahead: count,
  /** Why no cost is given. */
  costReason: z.string().nullable(),
  /** Where the provider's cache is lost: once, when the candidate takes over, or at every step. */
  prefixBreak: parting
    .extend({ at: z.enum(['activation', 'every step']), rewarmTokens: count, rewarmNanoUsd: count.nullable() })
    .nullable(),
  /** How far the replay can be believed: the base's requests against those recorded of it, item for item. */
  fidelity: z.strictObject({
    compared: count,
    equal: count,
    firstDifference: parting.extend({ step: count }).nullable(),
    /** Input tokens metered for each that o200k counts. */
    meteredPerCounted: z.number(),
  }),
  exceptions: z.array(
    z.strictObject({ step: count, side: z.enum(['before', 'after']), error: z.string(), undecided: z.boolean() }),
  ),
})
export type ContextReplay = z.infer<typeof contextReplaySchema>

/** How far the candidate goes through a recorded turn on what was recorded of it. */
export const tapeReplaySchema = z.strictObject({
  task: z.string(),
  turn: count,
  /** Model calls of that turn, and those that the candidate made in the same way. */
  recorded: count,
  matched: count,
  /** The first request that was not recorded so. */
  divergedAt: z.strictObject({ call: count, why: z.string() }).nullable(),
  error: z.string().nullable(),
})
export type TapeReplay = z.infer<typeof tapeReplaySchema>

const testCounts = z.strictObject({ passed: count, failed: count, firstFailure: z.string().nullable() })

/** The tests that a candidate brings, run on it in a box. */
export const testsSchema = z.strictObject({
  files: z.array(z.string()),
  /** Test files of the base that the candidate leaves out, or changes. */
  removed: z.array(z.string()),
  changed: z.array(z.string()),
  /** null: it brings none. */
  own: testCounts.nullable(),
  /** Those of the base that it leaves out or changes, run on it as they were. */
  base: testCounts.nullable(),
  /** The last of what they printed. */
  output: z.string(),
})
export type TestsReport = z.infer<typeof testsSchema>
