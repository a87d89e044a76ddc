// Long because: the operator contract is one list, read as one.
import { eventIterator, oc } from '@orpc/contract'
import { z } from 'zod'
import {
  bindingSchema,
  checkVerdicts,
  eventKinds,
  modelChoiceSchema,
  progressSchema,
  riskTiers,
  taskLimitsSchema,
  tokenUsageSchema,
} from './events.ts'
import { agentName, count, done, proposalId, proposalRef, sha256, taskId } from './ids.ts'
import { budgetsContract } from './operator-budgets.ts'
import { costContract } from './operator-cost.ts'
import { credentialsContract } from './operator-credentials.ts'
import { decisionTimeContract } from './operator-decision-time.ts'
import { digestContract } from './operator-digest.ts'
import { effectsContract, keepContract } from './operator-effects.ts'
import { eventSchema, eventsExtras } from './operator-events.ts'
import { exportsContract } from './operator-exports.ts'
import { forkContract, historyContract } from './operator-history.ts'
import { noticesContract } from './operator-notices.ts'
import { pricesContract } from './operator-prices.ts'
import {
  approveExtras,
  profileContract,
  rejectExtras,
  reviewContract,
  reviewDetail,
  reviewerContract,
  rulesContract,
} from './operator-review.ts'
import { resumeAllContract, settingsContract } from './operator-settings.ts'
import { snapshotsContract } from './operator-snapshots.ts'
import { artifactsContract, toolsContract } from './operator-tools.ts'
import { trialsContract, trialTotalsSchema } from './operator-trials.ts'

/**
 * The operator contract: everything a person or a script can see and do. One router serves it over a MessagePort (desktop),
 * a WebSocket (headless) and DATA/host.sock (command line). Reads take nothing for granted; each action is an event.
 */

export type { EventRow } from './operator-events.ts'

export const proposalStates = [
  'checking',
  'ready',
  'approved',
  'activating',
  'probation',
  'active',
  'failed-checks',
  'rejected',
  'returned',
  'stale',
  'superseded',
  'withdrawn',
  'expired',
  'activation-failed',
  'rolled-back',
] as const

export const taskStates = [
  'starting',
  'running',
  'pausing',
  'paused',
  'waiting',
  'stopping',
  'finished',
  'interrupted',
] as const

const totalsSchema = tokenUsageSchema.extend({
  steps: count,
  modelCalls: count,
  failedCalls: count,
  /** null: at least one call has no known price. */
  costNanoUsd: count.nullable(),
  /** cacheRead / (uncached + cacheRead + cacheWrite); null before the first call. */
  cachedShare: z.number().nullable(),
})

export const taskSummarySchema = z.object({
  task: taskId,
  agent: agentName,
  title: z.string(),
  pack: z.string().nullable(),
  state: z.enum(taskStates),
  /** Why it is in this state, in plain words, where that is not plain from the word. */
  reason: z.string().nullable(),
  outcome: z.enum(['completed', 'failed', 'stopped', 'budget', 'claimed']).nullable(),
  activation: count,
  revision: sha256,
  model: modelChoiceSchema,
  sandbox: z.enum(['local', 'docker']),
  propose: z.boolean(),
  approve: z.enum(['none', 'rules', 'all']),
  seed: count,
  limits: taskLimitsSchema,
  progress: progressSchema.nullable(),
  totals: totalsSchema,
  createdAt: z.number(),
  lastEventAt: z.number(),
  finishedAt: z.number().nullable(),
  /** What it does now: `model sim-apprentice`, `tool shell`, `waiting for a verdict`; since when (epoch ms). */
  now: z.object({ what: z.string(), since: z.number() }).nullable(),
  /** How long its turns have run, without pauses and waits. Absent: no kernel works on it now. */
  workedMs: count.optional(),
})
export type TaskSummary = z.infer<typeof taskSummarySchema>

/** No event of a task that should be running for this long, ms: said, not guessed about. */
export const stallMs = 120_000

export const stepPointSchema = tokenUsageSchema.extend({
  turn: count,
  step: count,
  activation: count,
  at: z.number(),
  modelCalls: count,
  failedCalls: count,
  toolCalls: count,
  costNanoUsd: count.nullable(),
  progress: z.number().nullable(),
  cacheBreak: z.object({ seq: count, index: count, kind: z.string() }).nullable(),
})
export type StepPoint = z.infer<typeof stepPointSchema>

export const activationPointSchema = tokenUsageSchema.extend({
  activation: count,
  revision: sha256,
  steps: count,
  modelCalls: count,
  failedCalls: count,
  costNanoUsd: count.nullable(),
  cachedShare: z.number().nullable(),
  progressDelta: z.number().nullable(),
})
export type ActivationPoint = z.infer<typeof activationPointSchema>

export const checkSchema = z.object({
  seq: count,
  check: z.string(),
  verdict: z.enum(checkVerdicts),
  summary: z.string(),
  details: z.json(),
  durationMs: z.number(),
})

const fileChangeSchema = z.object({
  path: z.string(),
  change: z.enum(['added', 'changed', 'removed']),
  addedLines: count,
  removedLines: count,
  /** Of this file alone, once the checks are done; `tags` name the part of the policy that the kernel takes it for. */
  risk: z.enum(riskTiers).optional(),
  reasons: z.array(z.string()).optional(),
  tags: z.array(z.string()).optional(),
})

export const proposalSummarySchema = z.object({
  agent: agentName,
  proposal: proposalId,
  task: taskId.nullable(),
  state: z.enum(proposalStates),
  revision: sha256,
  base: sha256,
  /** null until the checks are done. */
  risk: z.enum(riskTiers).nullable(),
  riskReasons: z.array(z.string()),
  /** The agent's or operator's own sentence: claimed, shown as such. */
  claim: z.string(),
  by: z.enum(['executor', 'operator']),
  files: z.array(fileChangeSchema),
  addedLines: count,
  removedLines: count,
  madeAt: z.number(),
  madeSeq: count,
  decidedAt: z.number().nullable(),
  reason: z.string().nullable(),
  activation: count.nullable(),
  /** Epoch ms at which it asks for attention again; null or absent: it was not deferred. */
  deferredUntil: z.number().nullable().optional(),
  /** Epoch ms since which it asks again; null or absent: it was not put off, or still is. */
  recalledAt: z.number().nullable().optional(),
})
export type ProposalSummary = z.infer<typeof proposalSummarySchema>

export const proposalDetailSchema = proposalSummarySchema.extend({
  why: z.string(),
  expects: z.string().nullable(),
  evidence: z.array(count),
  sizeBytes: count,
  problems: z.array(z.object({ path: z.string(), problem: z.string() })),
  checks: z.array(checkSchema),
  /** Checks of the profile that have not reported yet, in order. */
  pendingChecks: z.array(z.string()),
  active: z.object({ revision: sha256, activation: count }),
  /** What approving does, in plain sentences, and what undoes it. */
  onApprove: z.array(z.string()),
  undo: z.string(),
  /** Why a verdict is not possible now; null when it is. */
  blocked: z.string().nullable(),
  ...reviewDetail,
})
export type ProposalDetail = z.infer<typeof proposalDetailSchema>

/** Issued to a visible view; a verdict must bring it back with the binding it was issued for. */
export const viewSchema = z.object({ nonce: z.string(), binding: bindingSchema, issuedAt: z.number() })

export const revisionRowSchema = z.object({
  activation: count,
  revision: sha256,
  previous: sha256.nullable(),
  cause: z.enum(['seed', 'proposal', 'rollback', 'last-good']),
  proposal: proposalId.nullable(),
  claim: z.string().nullable(),
  authorisedBy: z.enum(['seed', 'operator', 'rule', 'flag', 'last-good', 'trial']),
  at: z.number(),
  seq: count,
  state: z.enum(['active', 'probation', 'past', 'rolled-back']),
  /** Why it was rolled back. */
  reason: z.string().nullable(),
  steps: count,
  costNanoUsd: count.nullable(),
  progressDelta: z.number().nullable(),
  cachedShare: z.number().nullable(),
})
export type RevisionRow = z.infer<typeof revisionRowSchema>

const endpointSchema = z.strictObject({ name: z.string(), address: z.string() })

export const packSchema = z.object({
  /** As given to `run`. */
  pack: z.string(),
  name: z.string(),
  description: z.string(),
  goal: progressSchema.pick({ goal: true, unit: true, source: true }).nullable(),
  limits: taskLimitsSchema,
  /** Services of this machine that it needs: `run` names each as allowed. */
  endpoints: z.array(endpointSchema),
  /** Why it cannot run here; null when it can. */
  blocked: z.string().nullable(),
})

export type PackRow = z.infer<typeof packSchema>

export const runRequestSchema = z.strictObject({
  pack: z.string(),
  agent: agentName.optional(),
  model: z.string().optional(),
  baseUrl: z.string().optional(),
  keyEnv: z.string().optional(),
  /** The API that the model is spoken to by. Default `responses`; most local servers and OpenRouter speak `chat`. */
  api: z.enum(['responses', 'chat']).optional(),
  /** Name of the sealed credential that holds the key, in place of `keyEnv`. */
  credential: z.string().optional(),
  sandbox: z.enum(['docker', 'local']).optional(),
  approve: z.enum(['none', 'rules', 'all']).optional(),
  propose: z.boolean().optional(),
  budgetNanoUsd: count.optional(),
  budgetTokens: count.optional(),
  maxSteps: count.optional(),
  seed: count.optional(),
  /** Services of this machine that the task may reach; an address binds the consent to what was shown. */
  endpoints: z
    .array(endpointSchema.partial({ address: true }))
    .max(50)
    .optional(),
  /** `approve: all` with a model that is not simulated is refused without it. */
  unattended: z.boolean().optional(),
})
export type RunRequest = z.infer<typeof runRequestSchema>

/** What is wrong now and stays so until it is mended, in plain words; on every screen. */
export const noticeSchema = z.object({
  /** Stable while it lasts: `history.read-only`, `disk.low`, `budget.day` … */
  id: z.string(),
  severity: z.enum(['error', 'warning', 'info']),
  text: z.string(),
  /** What mends it: a command, or what to do. */
  fix: z.string().nullable(),
  task: taskId.nullable(),
  /** The operator has read it, and wants it off the screen. */
  isPutAway: z.boolean().optional(),
})
export type Notice = z.infer<typeof noticeSchema>

const sandboxStateSchema = z.object({
  available: z.boolean(),
  provider: z.enum(['local', 'docker']).nullable(),
  detail: z.string(),
  reason: z.string().nullable(),
  /** The one command that mends it. */
  fix: z.string().nullable(),
})

export const hostStatusSchema = z.object({
  version: z.string(),
  host: z.enum(['desktop', 'headless', 'cli', 'test']),
  dataDir: z.string(),
  startedAt: z.number(),
  /** The provider that tasks get unless they ask for another, and every one that this host knows. */
  sandbox: sandboxStateSchema.extend({
    providers: z.array(sandboxStateSchema.extend({ name: z.enum(['local', 'docker']) })),
  }),
  notices: z.array(noticeSchema),
  recovered: z.object({ at: z.number(), summary: z.string() }).nullable(),
  verified: z.object({ ok: z.boolean(), events: count, at: z.number(), problem: z.string().nullable() }).nullable(),
  /** Tasks; an arm of a trial is none. */
  running: count,
  trials: count,
  /** Without those that are put off. */
  decisions: count,
  todayNanoUsd: count.nullable(),
  todaySimulated: z.boolean(),
  cachedShare: z.number().nullable(),
  models: z.array(z.object({ name: z.string(), simulated: z.boolean(), description: z.string() })),
  unattended: z.boolean(),
  lastSeq: count,
  /** Names the contract that the host was built with; null where it runs from source. */
  contract: z.string().nullable(),
})
export type HostStatus = z.infer<typeof hostStatusSchema>

const usageRowSchema = tokenUsageSchema.extend({
  key: z.string(),
  calls: count,
  failed: count,
  costNanoUsd: count.nullable(),
})

export const operatorContract = {
  host: {
    status: oc.output(hostStatusSchema),
    pauseAll: oc.output(z.object({ paused: z.array(taskId) })),
    resumeAll: resumeAllContract,
  },
  settings: settingsContract,
  packs: { list: oc.output(z.array(packSchema)) },
  credentials: credentialsContract,
  budgets: budgetsContract,
  prices: pricesContract,
  cost: costContract,
  digest: digestContract,
  snapshots: snapshotsContract,
  notices: noticesContract,
  agents: {
    fork: forkContract,
    /** The active revision may try again, and tasks that safe mode had paused go on. `conflict` where there is none to leave. */
    leaveSafeMode: oc.input(z.strictObject({ agent: agentName, reason: z.string().max(4000) })).output(done),
    list: oc.output(
      z.array(
        z.object({
          agent: agentName,
          activation: count,
          revision: sha256,
          createdAt: z.number(),
          tasks: count,
          /** What runs has gone beyond a limit: it is the operator's turn to go back or to keep it. Epoch ms. */
          regressed: z.object({ at: z.number(), text: z.string() }).nullable(),
          runningTask: taskId.nullable(),
        }),
      ),
    ),
  },
  tasks: {
    list: oc.output(z.array(taskSummarySchema)),
    get: oc.input(z.strictObject({ task: taskId })).output(taskSummarySchema.extend({ instruction: z.string() })),
    /** Creates the task (and the agent at first use) and starts it. */
    run: oc.input(runRequestSchema).output(z.object({ task: taskId, agent: agentName, seq: count })),
    pause: oc.input(z.strictObject({ task: taskId })).output(done),
    resume: oc.input(z.strictObject({ task: taskId })).output(done),
    stop: oc.input(z.strictObject({ task: taskId })).output(done),
    /** Of a task that is not over; null: no limit any more. In force for its next call. */
    raiseBudget: oc
      .input(
        z.strictObject({
          task: taskId,
          budgetNanoUsd: count.nullable().optional(),
          budgetTokens: count.nullable().optional(),
        }),
      )
      .output(done),
    steer: oc.input(z.strictObject({ task: taskId, text: z.string().min(1).max(8000) })).output(done),
    answer: oc.input(z.strictObject({ task: taskId, text: z.string().min(1).max(8000) })).output(done),
    series: oc.input(z.strictObject({ task: taskId })).output(
      z.object({
        steps: z.array(stepPointSchema),
        activations: z.array(activationPointSchema),
        unit: z.string().nullable(),
        goal: z.number().nullable(),
      }),
    ),
    ...decisionTimeContract,
    /** What the world looks like; null where the task has no frame. */
    frame: oc.input(z.strictObject({ task: taskId })).output(z.object({ text: z.string().nullable(), at: z.number() })),
    report: oc.input(z.strictObject({ task: taskId.optional(), agent: agentName.optional() })).output(
      z.object({
        total: usageRowSchema,
        byModel: z.array(usageRowSchema),
        byActivation: z.array(activationPointSchema),
        byTool: z.array(
          z.object({
            name: z.string(),
            calls: count,
            errors: count,
            interrupted: count,
            outputBytes: count,
            durationMs: z.number(),
          }),
        ),
        cacheBreaks: z.array(
          z.object({
            seq: count,
            step: count.nullable(),
            index: count,
            kind: z.string(),
            costNanoUsd: count.nullable(),
          }),
        ),
        repeatedCalls: z.array(z.object({ name: z.string(), arguments: z.string(), count })),
        /** Of a task or an agent: beside the figures above. Of all: part of them. */
        trials: trialTotalsSchema,
        simulated: z.boolean(),
      }),
    ),
  },
  events: {
    read: oc
      .input(
        z.strictObject({
          agent: agentName.optional(),
          task: taskId.optional(),
          after: count.optional(),
          before: count.optional(),
          kinds: z.array(z.enum(eventKinds)).optional(),
          text: z.string().max(500).optional(),
          tool: z.string().optional(),
          revision: z.string().optional(),
          limit: z.number().int().min(1).max(1000).optional(),
          order: z.enum(['asc', 'desc']).optional(),
        }),
      )
      .output(z.object({ events: z.array(eventSchema), next: count.nullable() })),
    get: oc
      .input(z.strictObject({ seq: count }))
      .output(eventSchema.extend({ prevHash: z.string(), hash: z.string() })),
    /** Events after `after`, in order, in batches of at most 500, without gap: first from disk, then live. */
    follow: oc
      .input(z.strictObject({ after: count, agent: agentName.optional(), task: taskId.optional() }))
      .output(eventIterator(z.array(eventSchema))),
    blob: oc
      .input(z.strictObject({ hash: sha256, offset: count.optional(), length: count.max(1_048_576).optional() }))
      .output(z.object({ text: z.string(), totalBytes: count, binary: z.boolean() })),
    ...eventsExtras,
  },
  proposals: {
    list: oc
      .input(z.strictObject({ agent: agentName.optional(), waiting: z.boolean().optional() }))
      .output(z.array(proposalSummarySchema)),
    get: oc.input(proposalRef).output(proposalDetailSchema),
    /** Both sides of one changed file; null: the file is not there on that side. */
    file: oc
      .input(proposalRef.extend({ path: z.string() }))
      .output(z.object({ before: z.string().nullable(), after: z.string().nullable() })),
    /** Issues a nonce for what is shown now. */
    view: oc.input(proposalRef).output(viewSchema),
    approve: oc
      .input(
        proposalRef.extend({
          nonce: z.string(),
          binding: bindingSchema,
          reason: z.string().max(4000).optional(),
          ...approveExtras,
        }),
      )
      .output(z.object({ seq: count, state: z.enum(proposalStates), before: sha256, after: sha256 })),
    reject: oc
      .input(
        proposalRef.extend({
          nonce: z.string(),
          binding: bindingSchema,
          reason: z.string().trim().min(1).max(4000),
          ...rejectExtras,
        }),
      )
      .output(z.object({ seq: count, state: z.enum(proposalStates), before: sha256, after: sha256 })),
    /** A proposal by the operator: `tree` are files given from outside (a folder read by the command line). */
    submit: oc
      .input(
        z.strictObject({
          agent: agentName,
          tree: z.array(z.strictObject({ path: z.string(), text: z.string() })).max(500),
          why: z.string().min(1).max(4000),
          claim: z.string().max(500).optional(),
        }),
      )
      .output(
        z.object({
          proposal: proposalId,
          revision: sha256,
          state: z.enum(proposalStates),
          /** That the same content was turned down before, and why. */
          note: z.string().optional(),
        }),
      ),
    withdraw: oc.input(proposalRef).output(z.object({ state: z.enum(proposalStates) })),
    ...reviewContract,
  },
  trials: trialsContract,
  rules: rulesContract,
  profile: profileContract,
  reviewer: reviewerContract,
  tools: toolsContract,
  artifacts: artifactsContract,
  revisions: {
    effects: effectsContract,
    keep: keepContract,
    list: oc.input(z.strictObject({ agent: agentName })).output(z.array(revisionRowSchema)),
    files: oc
      .input(z.strictObject({ revision: sha256 }))
      .output(z.array(z.object({ path: z.string(), text: z.string() }))),
    compare: oc
      .input(z.strictObject({ from: sha256, to: sha256 }))
      .output(z.object({ files: z.array(fileChangeSchema), diff: z.string() })),
    rollbackPreview: oc.input(z.strictObject({ agent: agentName, activation: count })).output(
      z.object({
        from: z.object({ activation: count, revision: sha256 }),
        to: z.object({ activation: count, revision: sha256 }),
        files: z.array(fileChangeSchema),
        toolsRemoved: z.array(z.string()),
        toolsRestored: z.array(z.string()),
        effects: z.array(z.string()),
        resulting: z.string(),
      }),
    ),
    /** Forward-only: a new activation of the older content. Refused as `conflict` unless `expectActive` is active. */
    rollback: oc
      .input(
        z.strictObject({
          agent: agentName,
          activation: count,
          expectActive: sha256,
          reason: z.string().max(4000).optional(),
        }),
      )
      .output(z.object({ seq: count, activation: count, revision: sha256 })),
  },
  history: historyContract,
  exports: exportsContract,
}
