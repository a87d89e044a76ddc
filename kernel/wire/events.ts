import { z } from 'zod'
import { count, proposalId as proposal, sha256 } from './ids.ts'

// Long because: the one list of kinds.
/**
 * Every kind of event in history and the schema of its `data`. The one list: the writer refuses what does not fit it.
 * Kinds are `noun.past-participle`. Money is integer nano-dollars; times are epoch ms; token buckets are disjoint.
 */

const nanoUsd = z.number().int().nonnegative()
const text = z.string()
const empty = z.strictObject({})
const nanoUsdPerToken = z.number().nonnegative().nullable()

/** What an item of a request is. `memory`: what the agent told itself to keep (a summary of its work, a `memory/` artifact). */
export const requestItemKinds = [
  'instructions',
  'tools',
  'memory',
  'message',
  'tool-call',
  'tool-result',
  'reasoning',
] as const

export const tokenUsageSchema = z.strictObject({
  uncached: count,
  cacheRead: count,
  cacheWrite: count,
  output: count,
  /** Part of `output`. */
  reasoning: count,
})
export type TokenUsage = z.infer<typeof tokenUsageSchema>

export const taskLimitsSchema = z.strictObject({
  budgetNanoUsd: nanoUsd.nullable(),
  budgetTokens: count.nullable(),
  maxSteps: count.nullable(),
  maxMs: count.nullable(),
})

const usdPerMillion = z.number().min(0).max(100_000)
/** Of one model at one endpoint, USD per million tokens; left out: not known. */
export const modelPriceSchema = z.strictObject({
  name: z.string().min(1).max(200),
  baseUrl: z.string().min(1).max(2000),
  input: usdPerMillion,
  cachedInput: usdPerMillion.optional(),
  cacheWrite: usdPerMillion.optional(),
  output: usdPerMillion,
  /** ISO date from which it holds. */
  since: z.iso.date(),
})

export const modelChoiceSchema = z.strictObject({
  name: z.string().min(1),
  api: z.enum(['responses', 'chat']),
  baseUrl: z.string(),
  /** Name of the environment variable that holds the key; null: the endpoint needs none. */
  keyEnv: z.string().nullable(),
  /** Name of the sealed credential that holds the key, in place of `keyEnv`. */
  credential: z.string().optional(),
  /** True for the offline simulator: every figure derived from it says so. */
  simulated: z.boolean(),
})
export type ModelChoice = z.infer<typeof modelChoiceSchema>

export const progressSchema = z.strictObject({
  value: z.number(),
  goal: z.number().nullable(),
  unit: z.string(),
  /** `measured`: asked of the world or grader. `reported`: from inside the sandbox; never used in statistics. */
  source: z.enum(['measured', 'reported']),
})
export type Progress = z.infer<typeof progressSchema>

export const checkVerdicts = ['pass', 'fail', 'unresolved'] as const
export const riskTiers = ['LOW', 'MED', 'HIGH', 'KERNEL'] as const

/** What a verdict binds to: the exact bytes and judgements that the operator's view showed. */
export const bindingSchema = z.strictObject({
  revision: sha256,
  /** The revision that was active when the view was rendered. */
  base: sha256,
  /** SHA-256 over the check events' hashes, in order. */
  checks: sha256,
  /** Hash of the guardian profile that the checks ran under. */
  profile: sha256,
})
export type Binding = z.infer<typeof bindingSchema>

/** Why a proposal is turned down, in the operator's words for it. */
export const rejectCategories = ['wrong-idea', 'unsafe', 'not-worth-the-cost', 'style', 'duplicate', 'other'] as const
export const onBreachSchema = z.enum(['propose', 'rollback'])
/** What the operator says of one line of one side. */
export const commentSchema = z.strictObject({
  path: text.max(400),
  side: z.enum(['before', 'after']),
  /** 1-based. */
  line: count,
  text: text.min(1).max(4000),
})
export type Comment = z.infer<typeof commentSchema>

const fileChange = z.strictObject({
  path: text,
  change: z.enum(['added', 'changed', 'removed']),
  addedLines: count,
  removedLines: count,
})

const activation = z.number().int().positive()

export const eventSchemas = {
  // host
  'kernel.started': z.strictObject({
    version: text,
    host: z.enum(['desktop', 'headless', 'cli', 'test']),
    node: text,
    pid: count,
  }),
  'kernel.recovered': z.strictObject({
    /** One plain sentence for the operator. */
    summary: text,
    openCallsClosed: count,
    turnsInterrupted: count,
    reservationsCharged: count,
    activationsResolved: count,
    boxesReaped: count,
    tasks: z.array(text),
  }),
  'host.suspended': empty,
  'host.resumed': z.strictObject({ suspendedMs: count }),
  'setting.changed': z.strictObject({ key: text, value: z.json(), previous: z.json() }),
  /** `price`: one that the operator has set. */
  'price.changed': z.strictObject({ version: text, source: text, models: count, price: modelPriceSchema.optional() }),
  /** `body`: what it demands, where a person has set it; `reason`: in their words. */
  'profile.changed': z.strictObject({
    profile: text,
    hash: sha256,
    checks: z.array(text),
    version: count.optional(),
    body: z.json().optional(),
    reason: text.optional(),
  }),
  'rule.changed': z.strictObject({ rule: text, change: z.enum(['added', 'changed', 'revoked']), body: z.json() }),
  /** What was wrong, as every screen showed it. */
  'notice.raised': z.strictObject({ id: text, severity: z.enum(['error', 'warning', 'info']), text }),
  'notice.cleared': z.strictObject({ id: text }),
  /** By the operator, as it read then. */
  'notice.put-away': z.strictObject({ id: text, text }),
  'backup.written': z.strictObject({ file: text, sizeBytes: count, seq: count }),
  /** Blobs moved out of the database into a file beside it; their hashes stay, and the file is read where it is there. */
  'blobs.archived': z.strictObject({ file: text, hash: sha256, blobs: count, sizeBytes: count }),
  /** A budget of the day (`agent` null), or of one agent and its forks for ever; null: no limit. */
  'budget.set': z.strictObject({
    scope: z.enum(['day', 'agent']),
    agent: text.nullable(),
    nanoUsd: nanoUsd.nullable(),
    tokens: count.nullable(),
  }),
  'credential.sealed': z.strictObject({ credential: text, version: count, origin: text, sealer: text }),
  'credential.removed': z.strictObject({ credential: text }),
  'export.written': z.strictObject({
    format: text,
    sizeBytes: count,
    hash: sha256,
    file: text.optional(),
    /** What it is of; both null: all of history. */
    task: text.nullable().optional(),
    agent: text.nullable().optional(),
    events: count.optional(),
    /** What was taken out, by rule. */
    redacted: z.array(z.strictObject({ rule: text, count })).optional(),
  }),
  /** The operator's own words about an event, and a label put on it or taken off. Of no agent. */
  'event.noted': z.strictObject({ about: count, text }),
  'event.labelled': z.strictObject({ about: count, label: text, isSet: z.boolean() }),
  'payload.tombstoned': z.strictObject({ seq: count, reason: text }),

  // agent, task
  'agent.created': z.strictObject({ name: text, revision: sha256 }),
  /** The operator ended safe mode: executors of this agent may start again. */
  'agent.released': z.strictObject({ reason: text }),
  'agent.forked': z.strictObject({
    name: text,
    /** `hash`: the link of that event, so that the fork names the very history that it stands on. */
    parent: z.strictObject({ agent: text, seq: count, hash: sha256.optional() }),
    revision: sha256,
    /** It runs one arm of a trial, and nothing else ever. */
    trial: text.optional(),
  }),
  'task.created': z.strictObject({
    title: text,
    /** Pack path or name; null for a free instruction. */
    pack: text.nullable(),
    instruction: text,
    model: modelChoiceSchema,
    sandbox: z.enum(['local', 'docker']),
    limits: taskLimitsSchema,
    goal: progressSchema.pick({ goal: true, unit: true, source: true }).nullable(),
    seed: count,
    propose: z.boolean(),
    approve: z.enum(['none', 'rules', 'all']),
    workdir: text,
    /** Local services that the operator let this task reach. */
    endpoints: z.array(z.strictObject({ name: text, address: text })).optional(),
  }),
  'task.started': empty,
  'task.paused': z.strictObject({
    reason: text,
    by: z.enum(['operator', 'kernel']),
    /** What the kernel waits for. After `endpoint` and `budget` it resumes by itself; the others need the operator. */
    cause: z.enum(['endpoint', 'budget', 'model', 'world', 'safe-mode']).optional(),
  }),
  'task.resumed': z.strictObject({ by: z.enum(['operator', 'kernel']) }),
  'task.steered': z.strictObject({ text }),
  'task.asked': z.strictObject({ question: text }),
  'task.answered': z.strictObject({ text }),
  'task.progressed': progressSchema,
  /** A completion that the executor claimed was accepted: `reason` is the measure, or without a world its own words. */
  'task.claimed': z.strictObject({ reason: text }),
  'task.graded': z.strictObject({ reward: z.number().nullable(), details: z.json(), error: text.nullable() }),
  'task.finished': z.strictObject({
    outcome: z.enum(['completed', 'failed', 'stopped', 'budget', 'claimed']),
    reason: text,
    progress: progressSchema.nullable(),
  }),

  // work
  'turn.started': z.strictObject({ maxSteps: count, maxMs: count }),
  'turn.ended': z.strictObject({
    outcome: z.enum(['yielded', 'completed', 'failed', 'cancelled', 'interrupted', 'budget']),
    reason: text.nullable(),
    steps: count,
    /** By the monotonic clock, without what the host slept. Absent in older events. */
    durationMs: count.optional(),
  }),
  'message.appended': z.strictObject({ role: z.enum(['assistant', 'summary']), text, keepFrom: count.optional() }),
  'note.added': z.strictObject({ text, topic: text.optional() }),
  /** Set aside before a try is sent. Without a `model.attempted` that names its seq after a kill, it is charged as a whole. */
  'model.reserved': z.strictObject({
    /** The stored request, as in `model.called`. */
    request: count,
    requestHash: sha256.optional(),
    parent: count.nullable(),
    keptItems: count,
    items: count,
    attempt: count,
    model: text,
    tokens: count,
    nanoUsd: nanoUsd.nullable(),
    promptTokens: count,
  }),
  /** One try of a model call, failed and aborted ones too. */
  'model.attempted': z.strictObject({
    /** 1-based. */
    attempt: count,
    model: text,
    status: z.enum(['completed', 'incomplete', 'failed', 'aborted']),
    httpStatus: count.nullable(),
    error: text.nullable(),
    durationMs: z.number().nonnegative(),
    usage: tokenUsageSchema.nullable(),
    usageSource: z.enum(['reported', 'estimated', 'none']),
    costNanoUsd: nanoUsd.nullable(),
    /** Seq of its `model.reserved`. */
    reservation: count.optional(),
  }),
  'model.called': z.strictObject({
    /** Id of the stored request (kernel/history/requests), and the hash of its list of items. */
    request: count,
    requestHash: sha256.optional(),
    parent: count.nullable(),
    /** Items kept from the parent request, items in all. */
    keptItems: count,
    items: count,
    api: z.enum(['responses', 'chat']),
    model: text,
    simulated: z.boolean(),
    status: z.enum(['completed', 'incomplete', 'failed', 'aborted']),
    attempts: count,
    usage: tokenUsageSchema.nullable(),
    usageSource: z.enum(['reported', 'estimated', 'none']),
    /** null: unknown, and `costReason` says why. */
    costNanoUsd: nanoUsd.nullable(),
    costReason: text.nullable(),
    priceVersion: text.nullable(),
    /** That it was charged by, nano-dollars a token; null: not known. Absent: the table had none, or an older event. */
    prices: z
      .strictObject({
        uncached: nanoUsdPerToken,
        cacheRead: nanoUsdPerToken,
        cacheWrite: nanoUsdPerToken,
        output: nanoUsdPerToken,
      })
      .optional(),
    /** Whether the provider said how much it read from its cache. Absent: no report was used, or an older event. */
    cacheReported: z.boolean().optional(),
    durationMs: z.number().nonnegative(),
    firstByteMs: z.number().nonnegative().nullable(),
    /** Output items in order: blob hash of `JSON.stringify(item)`, and the item's type. */
    output: z.array(z.strictObject({ hash: sha256, type: text })),
    /** The first item at which this request parts from its parent, when that breaks the kept prefix. */
    firstDifference: z
      .strictObject({
        index: count,
        kind: z.enum(['instructions', 'tools', 'item', 'model']),
        before: sha256.nullable(),
        after: sha256.nullable(),
        /** What stands there now; where nothing does, what stood there. Absent: the model, or an older event. */
        what: z.enum(requestItemKinds).optional(),
      })
      .nullable(),
    /** Tokens by part of the request (estimate by o200k). */
    composition: z.strictObject({
      instructions: count,
      tools: count,
      messages: count,
      toolResults: count,
      /** Beside `messages`. Absent in older events, whose messages have it in them. */
      memory: count.optional(),
    }),
    error: text.nullable(),
  }),
  /** Derived by the kernel from the model's output. */
  'tool.called': z.strictObject({
    call: text,
    name: text,
    arguments: text,
    /** Present where `arguments` is cut at 8 KiB: all of it. */
    argumentsBlob: sha256.optional(),
    /** `request` of the model.called that asked for it (its seq is not known yet: both are added in one commit). */
    request: count,
  }),
  /** Derived by the kernel from the matching output item of the next request. */
  'tool.finished': z.strictObject({
    call: text,
    name: text,
    outcome: z.enum(['ok', 'error', 'interrupted']),
    output: text,
    /** Present where `output` is cut at 8 KiB: all of it. */
    outputBlob: sha256.optional(),
    outputBytes: count,
    durationMs: z.number().nonnegative().nullable(),
    /** Wire methods, beyond reads, that were asked of the kernel on its behalf. Absent: none, or an older event. */
    operations: z.array(text).optional(),
  }),
  'artifact.written': z.strictObject({ name: text, version: count, hash: sha256, sizeBytes: count }),
  'budget.reached': z.strictObject({
    budget: z.enum(['usd', 'tokens', 'steps', 'time']),
    limit: count,
    used: count,
    /** Absent: of the task. */
    scope: z.enum(['task', 'agent', 'day']).optional(),
  }),
  /** Of the task. null: no limit. */
  'budget.raised': z.strictObject({
    budget: z.enum(['usd', 'tokens', 'steps', 'time']),
    from: count,
    to: count.nullable(),
  }),
  'credential.used': z.strictObject({ credential: text, model: text }),

  // sandbox
  'sandbox.created': z.strictObject({ provider: text, detail: text }),
  'sandbox.executed': z.strictObject({
    op: z.enum(['exec', 'read', 'write', 'list', 'start', 'kill']),
    /** Command or path, at most 2 KiB. */
    what: text,
    /** The open tool call that this belongs to. */
    call: text.nullable(),
    exitCode: z.number().int().nullable(),
    timedOut: z.boolean(),
    bytes: count,
    durationMs: z.number().nonnegative(),
  }),
  'job.started': z.strictObject({ job: text, command: text, call: text.nullable() }),
  'job.ended': z.strictObject({
    job: text,
    ending: z.enum(['exited', 'timed-out', 'killed', 'lost']),
    exitCode: z.number().int().nullable(),
    signal: text.nullable(),
    stdoutBytes: count,
    stderrBytes: count,
    durationMs: z.number().nonnegative(),
    /** The memory limit ended it. */
    outOfMemory: z.boolean().optional(),
    /** The last 16 MiB of each. */
    stdoutBlob: sha256.optional(),
    stderrBlob: sha256.optional(),
  }),
  /** What went over the socket of an endpoint since the last such event. */
  'endpoint.used': z.strictObject({
    endpoint: text,
    address: text,
    connections: count,
    refused: count,
    bytesIn: count,
    bytesOut: count,
    durationMs: z.number().nonnegative(),
  }),
  /** `world`: blob of its saved state; null: the pack has none. */
  'sandbox.snapshotted': z.strictObject({
    name: text,
    sizeBytes: count,
    /** The world's state, saved with it. */
    world: sha256.nullable().optional(),
    /** What the provider calls it. */
    state: text.optional(),
  }),
  'sandbox.restored': z.strictObject({ name: text }),
  'sandbox.destroyed': z.strictObject({ reason: text }),

  // policy
  'proposal.made': z.strictObject({
    proposal,
    revision: sha256,
    base: sha256,
    claim: text,
    why: text,
    evidence: z.array(count),
    expects: text.nullable(),
    by: z.enum(['executor', 'operator']),
    files: z.array(fileChange),
    sizeBytes: count,
    /** Refused at intake: nothing was stored and the problems say why; `revision` then equals `base`. */
    problems: z.array(z.strictObject({ path: text, problem: text })),
    /** Made by the operator out of another: fewer of its hunks, or with edits of their own. */
    derived: z
      .strictObject({
        from: proposal,
        how: z.enum(['part', 'edit']),
        /** Changed lines by who wrote them. */
        agentLines: count,
        operatorLines: count,
        fallen: z.array(z.strictObject({ path: text, lines: text, reason: text })),
      })
      .optional(),
  }),
  'proposal.checked': z.strictObject({
    proposal,
    check: text,
    verdict: z.enum(checkVerdicts),
    summary: text,
    details: z.json(),
    durationMs: z.number().nonnegative(),
    /** As the profile had it then. Absent in older events: there, whatever did not pass ended the proposal. */
    gates: z.boolean().optional(),
  }),
  'proposal.readied': z.strictObject({
    proposal,
    risk: z.enum(riskTiers),
    reasons: z.array(text),
    /** Each changed file by its own risk, and what part of a policy the kernel takes it for. Absent in older events. */
    files: z
      .array(z.strictObject({ path: text, risk: z.enum(riskTiers), reasons: z.array(text), tags: z.array(text) }))
      .optional(),
    /** Epoch ms; null: it waits for ever. */
    expiresAt: z.number().int().nullable().optional(),
  }),
  'proposal.reviewed': z.strictObject({
    proposal,
    verdict: z.enum(['approved', 'rejected', 'returned', 'deferred']),
    reason: text,
    by: z.enum(['operator', 'rule', 'flag']),
    binding: bindingSchema,
    /** How long the view had been open, ms; null for the command line. */
    viewedMs: count.nullable(),
    category: z.enum(rejectCategories).optional(),
    comments: z.array(commentSchema).optional(),
    /** Unresolved checks that were approved all the same, each with why. */
    overrides: z.array(z.strictObject({ check: text, reason: text })).optional(),
    onBreach: onBreachSchema.optional(),
    looked: z.strictObject({ openMs: count, files: count, of: count }).optional(),
    /** The rule that decided. */
    rule: text.optional(),
    /** Of a deferral: when it asks again. */
    until: z.number().int().nullable().optional(),
  }),
  /** The operator has looked through a file as it stands in `revision`, or takes that back. `hash`: of its new bytes; null: removed. */
  'proposal.looked': z.strictObject({
    proposal,
    revision: sha256,
    path: text,
    hash: sha256.nullable(),
    viewed: z.boolean(),
  }),
  /** What another model says of it. Claimed; never a verdict. */
  'proposal.opined': z.strictObject({
    proposal,
    revision: sha256,
    model: text,
    simulated: z.boolean(),
    text,
    usage: tokenUsageSchema.nullable(),
    costNanoUsd: nanoUsd.nullable(),
    error: text.nullable(),
  }),
  'proposal.withdrawn': z.strictObject({ proposal, reason: text }),
  'proposal.superseded': z.strictObject({ proposal, by: proposal }),
  'proposal.staled': z.strictObject({ proposal, base: sha256, active: sha256 }),
  /** Nobody decided in time, or what it was checked under has changed. Never counted as a rejection. */
  'proposal.expired': z.strictObject({ proposal, reason: text.optional() }),
  /** The time until which it was put off has come: it asks for a verdict again. */
  'proposal.recalled': z.strictObject({ proposal }),
  'revision.authorised': z.strictObject({
    revision: sha256,
    /** `trial`: for the fork of a trial alone, while the trial runs. */
    by: z.enum(['seed', 'operator', 'rule', 'flag', 'last-good', 'trial']),
    proposal: proposal.nullable(),
  }),
  'revision.activated': z.strictObject({
    activation,
    revision: sha256,
    previous: sha256.nullable(),
    cause: z.enum(['seed', 'proposal', 'rollback', 'last-good']),
    proposal: proposal.nullable(),
    /** Steps of probation to come; 0: none. */
    probationSteps: count,
  }),
  'revision.activation-failed': z.strictObject({
    revision: sha256,
    proposal: proposal.nullable(),
    stage: z.enum(['start', 'handshake', 'drain', 'commit']),
    error: text,
  }),
  'revision.confirmed': z.strictObject({
    activation,
    revision: sha256,
    proposal: proposal.nullable(),
    steps: count,
    /** By the operator, in spite of a breach of its limits. */
    reason: text.optional(),
  }),
  'revision.rolled-back': z.strictObject({
    from: z.strictObject({ activation, revision: sha256 }),
    to: z.strictObject({ activation, revision: sha256 }),
    cause: z.enum(['operator', 'probation', 'regression', 'crash', 'hang', 'failed-turns']),
    proposal: proposal.nullable(),
    reason: text,
  }),
  /** A revision has gone beyond a limit, in probation or after it; `measured` and `bound` in the limit's own unit. */
  'revision.regressed': z.strictObject({
    activation,
    revision: sha256,
    proposal: proposal.nullable(),
    limit: z.enum(['error-rate', 'cost-per-step', 'cached-share', 'progress-per-dollar']),
    measured: z.number(),
    bound: z.number(),
    /** Steps that it was measured over, and those of the revision before. */
    steps: count,
    against: count,
    leadsTo: onBreachSchema,
  }),
  /** Not offered to the model any more, whatever the executor asks. */
  'tool.quarantined': z.strictObject({ tool: text, reason: text }),
  'tool.released': z.strictObject({ tool: text, reason: text }),
  /** The operator has read it: its file's hash. */
  'tool.audited': z.strictObject({ tool: text, hash: sha256, note: text }),
  'tool.retirement-asked': z.strictObject({ tool: text, reason: text }),

  // executor
  'executor.started': z.strictObject({
    activation,
    box: text,
    startMs: z.number().nonnegative(),
    tools: z.array(z.strictObject({ name: text, description: text, file: text.optional() })),
  }),
  'executor.stopped': z.strictObject({ reason: text }),
  'executor.crashed': z.strictObject({
    exitCode: z.number().int().nullable(),
    signal: text.nullable(),
    outOfMemory: z.boolean(),
    stderr: text,
  }),
  'executor.hung': z.strictObject({ watchdog: z.enum(['ping', 'progress', 'initialize']), afterMs: count }),
  /** After too many crashes or hangs: what the kernel fell back to. */
  'executor.escalated': z.strictObject({
    to: z.enum(['last-good', 'seed', 'safe-mode']),
    crashes: count,
    reason: text,
  }),
  'executor.drained': z.strictObject({ waitedMs: z.number().nonnegative(), interrupted: z.boolean() }),

  // trials
  'trial.planned': z.strictObject({ trial: text, plan: z.json() }),
  'trial.observed': z.strictObject({ trial: text, arm: text, observation: z.json() }),
  'trial.closed': z.strictObject({ trial: text, result: z.json() }),
} as const

export type EventKind = keyof typeof eventSchemas
export type EventData<K extends EventKind> = z.infer<(typeof eventSchemas)[K]>
export const eventKinds = Object.keys(eventSchemas) as EventKind[]

export type Actor = 'operator' | 'executor' | 'kernel'
export type RunKind = 'task' | 'check' | 'trial' | 'reflection'

/** What a caller hands to `append`; the writer adds seq, at (unless given), prevHash and hash. */
export interface EventDraft<K extends EventKind = EventKind> {
  kind: K
  data: EventData<K>
  actor: Actor
  agent?: string | null
  task?: string | null
  run?: RunKind | null
  generation?: number | null
  turn?: number | null
  step?: number | null
  revision?: string | null
}

export interface EventHeader {
  /** Global, gap-free, from 1. */
  seq: number
  /** Epoch ms; an annotation, never an order. */
  at: number
  agent: string | null
  task: string | null
  run: RunKind | null
  generation: number | null
  turn: number | null
  step: number | null
  actor: Actor
  revision: string | null
}

/** A durable event. `Event<'turn.started'>` knows its data; plain `Event` is the union over all kinds. */
export type Event<K extends EventKind = EventKind> = {
  [P in K]: EventHeader & { kind: P; data: EventData<P>; prevHash: string; hash: string }
}[K]

/** A draft of one kind, with its data checked by the compiler. */
export function draft<K extends EventKind>(
  kind: K,
  data: EventData<K>,
  header: Omit<EventDraft<K>, 'kind' | 'data'>,
): EventDraft<K> {
  return { kind, data, ...header }
}
