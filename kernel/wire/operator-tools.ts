import { oc } from '@orpc/contract'
import { z } from 'zod'
import { agentName, count, done, proposalId, sha256, taskId } from './ids.ts'

/** What the agent can do now, who made it and who approved it; and what it keeps. */

const toolRef = z.strictObject({ agent: agentName, tool: z.string().min(1).max(200) })

export const toolRowSchema = z.object({
  tool: z.string(),
  description: z.string(),
  /** False: the agent has none of this name any more, and it is in quarantine all the same. */
  isOffered: z.boolean(),
  /** `seed`: of the starting policy. `learned`: came by a proposal. */
  origin: z.enum(['seed', 'learned']),
  /** The file of the active revision that it is in, where the executor said so; claimed. */
  file: z.string().nullable(),
  fileHash: sha256.nullable(),
  /** What its source reaches for, by the kernel's reading of the tree; what its calls did, by history. */
  declared: z.array(z.string()),
  /** Of the syntax tree; `words`: it could not be had, and names that are put together while it runs are not seen. */
  declaredBy: z.enum(['syntax', 'words']),
  observed: z.array(z.string()),
  /** Observed, and not declared. */
  undeclared: z.array(z.string()),
  /**
   * Activation that brought it and the proposal; `author` made it, `by` is whose word made it active. Of a part or an edit of
   * an agent's proposal the author is both.
   */
  introduced: z
    .object({
      activation: count,
      at: z.number(),
      proposal: proposalId.nullable(),
      author: z.enum(['seed', 'agent', 'operator', 'agent-and-operator']),
      by: z.string(),
    })
    .nullable(),
  /** Proposals that have changed its file since. */
  changedBy: z.array(proposalId),
  calls: count,
  errors: count,
  interrupted: count,
  callsLast7Days: count,
  /** Of the latest 100. */
  medianMs: z.number().nullable(),
  outputBytes: count,
  /** Tokens of its results: all their bytes, at the rate of the latest 20 (estimate by o200k). */
  resultTokens: count,
  /** Of the steps that called it: share of the cost of all steps, over the agent's latest 1,000 calls; null where a price is unknown. */
  costShare: z.number().nullable(),
  lastUsedAt: z.number().nullable(),
  /** Tests of the active tree that import its file. */
  tests: count,
  /** `stale`: audited, and its bytes have changed since. */
  audit: z.enum(['none', 'audited', 'stale']),
  auditedAt: z.number().nullable(),
  quarantined: z.object({ at: z.number(), reason: z.string() }).nullable(),
  retirementAskedAt: z.number().nullable(),
  /** Tokens a step before it was there and since, of tasks that used it, with the number of steps; an observation, no proof. */
  saved: z.object({ before: z.number(), after: z.number(), stepsBefore: count, stepsAfter: count }).nullable(),
})
export type ToolRow = z.infer<typeof toolRowSchema>

const versionSchema = z.object({
  activation: count,
  revision: sha256,
  at: z.number(),
  proposal: proposalId.nullable(),
  hash: sha256.nullable(),
})

const artifactRow = z.object({
  name: z.string(),
  kind: z.enum(['memory', 'skill', 'summary', 'note', 'other']),
  versions: count,
  sizeBytes: count,
  at: z.number(),
  by: z.enum(['operator', 'executor', 'kernel']),
  task: taskId.nullable(),
  revision: sha256.nullable(),
})

const toolDetailSchema = toolRowSchema.extend({
  source: z.string().nullable(),
  /** As offered in the last request that named it; null: in none of the latest. */
  schema: z.json(),
  /** Newest first: where the bytes of its file changed. */
  versions: z.array(versionSchema),
  /** Files of the active tree that import its file. */
  callers: z.array(z.string()),
  /** Of the latest 100 calls: at most 5 good ones and 5 that were not. */
  samples: z.array(
    z.object({
      seq: count,
      task: taskId.nullable(),
      outcome: z.string(),
      arguments: z.string(),
      output: z.string(),
      at: z.number(),
    }),
  ),
})
export type ToolDetail = z.infer<typeof toolDetailSchema>

export type ArtifactRow = z.infer<typeof artifactRow>
const artifactVersion = artifactRow
  .omit({ versions: true, kind: true })
  .extend({ version: count, hash: sha256, seq: count })
export type ArtifactVersionRow = z.infer<typeof artifactVersion>

export const toolsContract = {
  list: oc.input(z.strictObject({ agent: agentName })).output(z.array(toolRowSchema)),
  get: oc.input(toolRef).output(toolDetailSchema),
  /** The source of its file in one revision; null: not there. */
  source: oc.input(toolRef.extend({ revision: sha256 })).output(z.object({ text: z.string().nullable() })),
  /** In force with the next model call: the tool is not offered, and a call of it is answered with an error. */
  quarantine: oc.input(toolRef.extend({ reason: z.string().trim().min(1).max(4000) })).output(done),
  release: oc.input(toolRef.extend({ reason: z.string().max(4000) })).output(done),
  /** `conflict` unless `hash` is that of the file now. */
  audit: oc.input(toolRef.extend({ hash: sha256, note: z.string().max(4000) })).output(done),
  /** Asks the agent to propose its removal. */
  askRetirement: oc.input(toolRef.extend({ reason: z.string().trim().min(1).max(4000) })).output(done),
}

export const artifactsContract = {
  list: oc.input(z.strictObject({ agent: agentName })).output(z.array(artifactRow)),
  versions: oc.input(z.strictObject({ agent: agentName, name: z.string() })).output(z.array(artifactVersion)),
  read: oc
    .input(z.strictObject({ agent: agentName, name: z.string(), version: count.optional() }))
    .output(z.object({ text: z.string(), version: count, totalBytes: count, isCut: z.boolean() })),
}
