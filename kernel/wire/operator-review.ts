import { oc } from '@orpc/contract'
import { z } from 'zod'
import { bindingSchema, commentSchema, onBreachSchema, rejectCategories, riskTiers } from './events.ts'
import { agentName, count, done, proposalId, proposalRef, sha256 } from './ids.ts'

/** Verdicts beyond a plain yes or no, what a reviewer has looked at, and what decides without one. */

/** A letter or a digit that shows: blanks are no words, nor are the letters of Unicode that are drawn as nothing. */
const shownWord = /(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{N}]/u
export const hasWords = (text: string): boolean => shownWord.test(text)
const words = z.string().trim().min(1).max(4000).regex(shownWord, 'say it in words')

/** A verdict brings back the nonce and the binding of the view that it was made in. */
const verdictInput = proposalRef.extend({ nonce: z.string(), binding: bindingSchema })
/** Active revision before and after. */
const receipt = z.object({ seq: count, state: z.string(), before: sha256, after: sha256 })

/** One run of changed lines of one file, as the kernel cuts them. */
const hunkSchema = z.object({
  /** Stable for these bytes on both sides; a verdict names it. */
  id: z.string(),
  /** 1-based; of an empty side, the line after which it stands. */
  beforeLine: count,
  beforeLines: count,
  afterLine: count,
  afterLines: count,
  risk: z.enum(riskTiers),
  reasons: z.array(z.string()),
})
export const fileHunksSchema = z.object({
  path: z.string(),
  change: z.enum(['added', 'changed', 'removed']),
  hunks: z.array(hunkSchema),
  /** False: too much changed to compare in time, and the file is one hunk. */
  isCompared: z.boolean(),
})
export type FileHunks = z.infer<typeof fileHunksSchema>

const deriveInput = verdictInput.extend({
  keep: z.array(z.strictObject({ path: z.string(), hunks: z.array(z.string()) })).optional(),
  /** Whole texts by path; null removes the file. Laid over what is kept. */
  edits: z
    .array(z.strictObject({ path: z.string(), text: z.string().nullable() }))
    .max(500)
    .optional(),
  /** Why each hunk fell, for the agent. */
  fallen: z.array(z.strictObject({ path: z.string(), hunk: z.string(), reason: z.string().max(1000) })).optional(),
  reason: z.string().max(4000),
})
export type DeriveInput = z.infer<typeof deriveInput>

export const reviewContract = {
  hunks: oc.input(proposalRef).output(z.array(fileHunksSchema)),
  /** That the operator has, or has no more, looked through a file as it stands in this revision. */
  look: oc.input(proposalRef.extend({ revision: sha256, path: z.string(), viewed: z.boolean() })).output(done),
  /**
   * A revision of fewer hunks, or with the operator's own edits, as a proposal of its own that takes this one's place:
   * its checks run, and it waits for its own verdict. `keep` left out: all hunks.
   */
  derive: oc.input(deriveInput).output(z.object({ proposal: proposalId, revision: sha256, state: z.string() })),
  /** Back to the agent to be revised. */
  return: oc.input(verdictInput.extend({ reason: words, comments: z.array(commentSchema).max(200) })).output(receipt),
  /** It stays ready; `until` (epoch ms) says when it asks for attention again. */
  defer: oc
    .input(verdictInput.extend({ reason: z.string().max(4000), until: z.number().int().nullable() }))
    .output(receipt),
}

/** What `approve` and `reject` take beside the view. */
export const approveExtras = {
  /** Each check that is unresolved, and why it is approved all the same. */
  overrides: z
    .array(z.strictObject({ check: z.string(), reason: words }))
    .max(50)
    .optional(),
  /** What a breach of its limits in probation leads to. Default `propose`. */
  onBreach: onBreachSchema.optional(),
  /** How long the operator had the diff before them, ms, and how many of its files. */
  looked: z.strictObject({ openMs: count, files: count, of: count }).optional(),
}
export const rejectExtras = { category: z.enum(rejectCategories).optional() }

/** Added to a proposal's detail. */
export const reviewDetail = {
  /** Checks of the profile that gate and are unresolved: approval overrides each with a reason, and leads to probation. */
  unresolved: z.array(z.string()),
  /** Files by what the operator has looked through; `isCurrent`: they have not changed since. */
  looked: z.array(z.object({ path: z.string(), isCurrent: z.boolean() })),
  /** What this one was made from by the operator, and the one made from this. */
  derivedFrom: z
    .object({ proposal: proposalId, how: z.enum(['part', 'edit']), agentLines: count, operatorLines: count })
    .nullable(),
  derivedTo: proposalId.nullable(),
  /** The latest proposal of this agent before this one that was turned down or returned, and what was said of it. */
  predecessor: z
    .object({
      proposal: proposalId,
      state: z.string(),
      revision: sha256,
      reason: z.string().nullable(),
      category: z.enum(rejectCategories).nullable(),
      comments: z.array(commentSchema),
      isSameContent: z.boolean(),
    })
    .nullable(),
  /** Of a decided one: what the operator said line by line. */
  comments: z.array(commentSchema),
  category: z.enum(rejectCategories).nullable(),
  /** Epoch ms at which it expires without a verdict; null: never. */
  expiresAt: z.number().nullable(),
  deferredUntil: z.number().nullable(),
  /** Events that the proposal names as evidence, as they stand in history. */
  triggers: z.array(z.object({ seq: count, kind: z.string(), text: z.string() })),
  /** A second opinion of another model: claimed, never a verdict. */
  opinions: z.array(
    z.object({
      seq: count,
      model: z.string(),
      simulated: z.boolean(),
      text: z.string(),
      costNanoUsd: count.nullable(),
      at: z.number(),
    }),
  ),
}

/** Lets LOW proposals take effect without a person, until it expires, is revoked, or two that it let through regress. */
export const ruleSchema = z.object({
  rule: z.string().regex(/^R-\d+$/),
  agent: agentName.nullable(),
  /** Components whose change it covers, as the kernel tags them; empty: any. */
  tags: z.array(z.string()),
  /** Paths that it never covers: a person decides. Patterns as of a charter. */
  except: z.array(z.string()),
  maxChangedLines: count,
  createdAt: z.number(),
  createdFrom: proposalId.nullable(),
  expiresAt: z.number(),
  hits: count,
  lastHitAt: z.number().nullable(),
  regressions: count,
  state: z.enum(['active', 'expired', 'revoked', 'stopped']),
})
export type Rule = z.infer<typeof ruleSchema>
const ruleDraft = z.strictObject({
  agent: agentName.nullable(),
  tags: z.array(z.string().max(64)).max(20),
  except: z.array(z.string().max(200)).max(50),
  maxChangedLines: count.min(1).max(400),
  /** From now. Default 14. */
  days: z.number().int().min(1).max(90).optional(),
  createdFrom: proposalId.nullable().optional(),
})

export type RuleDraft = z.infer<typeof ruleDraft>
const rulePreview = z.object({
  of: count,
  would: z.array(z.object({ agent: agentName, proposal: proposalId, state: z.string(), claim: z.string() })),
})
export type RulePreview = z.infer<typeof rulePreview>

export const rulesContract = {
  list: oc.output(z.array(ruleSchema)),
  /** What it would have let through of the latest proposals, and which of those a person turned down. */
  preview: oc.input(ruleDraft).output(rulePreview),
  add: oc.input(ruleDraft).output(z.object({ rule: z.string(), seq: count })),
  revoke: oc.input(z.strictObject({ rule: z.string(), reason: z.string().max(4000) })).output(done),
}

/** One check of the guardian's profile. Only a person edits it. */
const profileCheck = z.object({
  check: z.string(),
  description: z.string(),
  /** True: `fail` ends the proposal and `unresolved` needs an override. False: it is shown, and decides nothing. */
  gates: z.boolean(),
  /** Off: it is not run, and the evidence says so. */
  runs: z.boolean(),
  thresholds: z.record(z.string(), z.number()),
  defaults: z.record(z.string(), z.number()),
})
/** Bounds of a revision in probation, and of the watch after it, against the revision before; null: not watched. */
export const limitsSchema = z.strictObject({
  steps: count.min(1).max(1000),
  /** Failed calls of model and tools, of all. */
  errorRate: z.number().min(0).max(1).nullable(),
  /** Times the median of the revision before. */
  costPerStep: z.number().min(1).max(100).nullable(),
  /** At most this much less, as a difference of shares. */
  cachedShareDrop: z.number().min(0).max(1).nullable(),
  /** At least this part of the revision before. */
  progressPerDollar: z.number().min(0).max(1).nullable(),
})
export type BreachLimits = z.infer<typeof limitsSchema>
const profileSchema = z.object({
  version: count,
  hash: sha256,
  checks: z.array(profileCheck),
  probation: limitsSchema,
  /** Of a proposal that waits; null: never. */
  expiresAfterMs: count.nullable(),
})
export type ProfileView = z.infer<typeof profileSchema>
const profileChange = z.strictObject({
  version: count,
  checks: z
    .array(
      z.strictObject({
        check: z.string(),
        gates: z.boolean().optional(),
        runs: z.boolean().optional(),
        thresholds: z.record(z.string(), z.number().min(0).max(1e9)).optional(),
      }),
    )
    .optional(),
  /** Every check once, as they are to run. */
  order: z.array(z.string().max(64)).max(50).optional(),
  probation: limitsSchema.optional(),
  expiresAfterMs: count.nullable().optional(),
  reason: words,
})
export type ProfileChange = z.infer<typeof profileChange>
export const profileContract = {
  get: oc.output(profileSchema),
  /** What is left out stays. Proposals that wait were checked under the old one and expire. `conflict` unless `version` is the one shown. */
  set: oc.input(profileChange).output(done),
}

/** How reviews go: whether they are still read. Over the last `days`. */
export const reviewerHealthSchema = z.object({
  days: count,
  decisions: count,
  byVerdict: z.record(z.string(), count),
  byTier: z.array(z.object({ risk: z.enum(riskTiers), decided: count, approved: count })),
  medianOpenMs: z.number().nullable(),
  medianMsPerChangedLine: z.number().nullable(),
  /** Approved without any file of it having been looked through. */
  approvedUnread: z.array(z.object({ agent: agentName, proposal: proposalId })),
  laterRolledBack: z.array(z.object({ agent: agentName, proposal: proposalId, reason: z.string().nullable() })),
  perHour: z.array(z.object({ at: z.number(), decisions: count })),
  ruleHits: count,
  expired: count,
})
export type ReviewerHealth = z.infer<typeof reviewerHealthSchema>
export const reviewerContract = {
  health: oc.input(z.strictObject({ days: count.min(1).max(365).optional() })).output(reviewerHealthSchema),
  /** Asks another model for its opinion of a proposal; metered to the guardian. */
  opinion: oc
    .input(
      proposalRef.extend({
        model: z.string().optional(),
        baseUrl: z.string().optional(),
        keyEnv: z.string().optional(),
        credential: z.string().optional(),
        api: z.enum(['responses', 'chat']).optional(),
      }),
    )
    .output(done),
}
