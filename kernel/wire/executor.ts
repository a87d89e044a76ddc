/**
 * The executor's wire: JSON-RPC 2.0, one message a line, over the executor's stdio.
 *
 * This file holds plain types only: the kernel holds its schemas to them, and writes it as `wire.d.ts` beside every
 * revision so that a policy can be type-checked with nothing else at hand. Both sides refuse what does not fit.
 */
// Long because: a policy is type-checked against this one file.

/** Raised on every incompatible change; `initialize` offers a range. */
export type WireVersion = 1

/** Frame, credit and rate limits (both directions unless said). */
export interface WireLimits {
  /** Longest line, bytes, newline included. */
  frameBytes: number
  /** Deepest nesting of a frame's JSON. */
  depth: number
  /** Requests that an executor may have open at once. */
  inFlight: number
  /** Largest payload of one `stream.chunk`, bytes. */
  chunkBytes: number
  /** Chunks that may be sent ahead of `stream.credit`. */
  streamCredits: number
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** SHA-256 of the bytes, lower-case hex. */
export type Sha256 = string

export interface RpcRequest {
  jsonrpc: '2.0'
  id: number
  method: string
  params?: unknown
}
export interface RpcNotification {
  jsonrpc: '2.0'
  method: string
  params?: unknown
}
export interface RpcResult {
  jsonrpc: '2.0'
  id: number
  result: unknown
}
export interface RpcFailure {
  jsonrpc: '2.0'
  id: number | null
  /** `code` follows JSON-RPC: -32700 parse, -32600 request, -32601 method, -32602 params, -32000 everything else; `data.code` says which. */
  error: { code: number; message: string; data?: { code: WireErrorCode; details?: Record<string, unknown> } }
}
export type RpcMessage = RpcRequest | RpcNotification | RpcResult | RpcFailure

export type WireErrorCode =
  | 'invalid'
  | 'not-found'
  | 'forbidden'
  | 'conflict'
  | 'over-budget'
  | 'unavailable'
  | 'cancelled'
  | 'internal'

// ---- kernel → executor ----------------------------------------------------------------------------------------

export interface InitializeParams {
  wire: { min: number; max: number }
  agent: string
  /** Hash of the tree that this process runs. */
  revision: Sha256
  activation: number
  limits: WireLimits
  /** Absent in a boot check that runs no turn. */
  task?: TaskBrief
}
export interface InitializeResult {
  wire: number
  /** What the policy calls itself; shown, never trusted. */
  name: string
  /** Tools that it will offer to the model, by name, for the audit. */
  tools: { name: string; description: string; file?: string }[]
}

export interface TaskBrief {
  task: string
  /** The objective, as the operator or the pack states it. */
  instruction: string
  /** Working directory inside the task sandbox. */
  workdir: string
  model: ModelBrief
  /** False in a control run: `policy.propose` is refused and the policy should not mention it. */
  propose: boolean
  limits: TaskLimits
}
export interface ModelBrief {
  name: string
  api: 'responses' | 'chat'
  /** Tokens; the policy compacts before it. */
  contextWindow: number
  maxOutputTokens: number
  /** Cached tokens are this fraction of the price of uncached ones, where known: decides when a compaction pays. */
  cacheReadFactor: number | null
}
export interface TaskLimits {
  /** Nano-dollars; null: none. */
  budgetNanoUsd: number | null
  budgetTokens: number | null
  maxSteps: number | null
  maxMs: number | null
}

export interface TurnRunParams {
  turn: number
  /** The turn ends as `yielded` after this many steps or ms, whichever comes first. */
  maxSteps: number
  maxMs: number
}
export interface TurnRunResult {
  outcome: 'yielded' | 'completed' | 'failed'
  reason?: string
  steps: number
  /**
   * Output items (`function_call_output`, or tool messages of Chat) of calls that have finished since the last `model.call`:
   * recorded now as `tool.finished`, so that the next turn, which may be a successor's, finds them in history.
   * Without them the calls stay open, and are closed as interrupted when the process ends.
   */
  toolOutputs?: { [key: string]: Json }[]
}
export interface TurnCancelParams {
  turn: number
  reason: string
}
/** `drain`: finish the step in hand, return from `turn.run` as `yielded`, start no other. Answered at once. */
export interface DrainParams {
  reason: 'replacement' | 'pause' | 'stop' | 'quit'
}
export interface PingResult {
  /** Echo of the nonce, so that an old answer cannot pass for a new one. */
  nonce: number
}

export interface KernelToExecutor {
  initialize: { params: InitializeParams; result: InitializeResult }
  'turn.run': { params: TurnRunParams; result: TurnRunResult }
  'turn.cancel': { params: TurnCancelParams; result: Record<string, never> }
  drain: { params: DrainParams; result: Record<string, never> }
  ping: { params: { nonce: number }; result: PingResult }
}

// ---- executor → kernel ----------------------------------------------------------------------------------------

/** One row of history as an executor sees it: its own agent's, never another's. */
export interface WireEvent {
  seq: number
  at: number
  task: string | null
  turn: number | null
  step: number | null
  actor: 'operator' | 'executor' | 'kernel'
  revision: Sha256 | null
  kind: string
  data: { [key: string]: Json }
}

export interface HistoryReadParams {
  /** Default: the running task. `agent`: every task of this agent. */
  scope?: 'task' | 'agent'
  after?: number
  before?: number
  kinds?: string[]
  /** At most 500; default 100. The page is cut earlier where a frame would overflow; `next` then says where to go on. */
  limit?: number
  order?: 'asc' | 'desc'
}
export interface HistoryPage {
  events: WireEvent[]
  /** Pass as `after` (asc) or `before` (desc) for the next page; null at the end. */
  next: number | null
}
export interface HistoryQueryParams extends HistoryReadParams {
  tool?: string
  revision?: Sha256
  turn?: number
  status?: string
}
export interface HistorySearchParams {
  text: string
  scope?: 'task' | 'agent'
  limit?: number
}
/** Only these two kinds; anything else is `forbidden`. */
export type HistoryAppendParams =
  | {
      kind: 'message.appended'
      data: {
        role: 'assistant' | 'summary'
        text: string
        /** A summary stands for every earlier item of the context; events from this seq on are kept beside it. */
        keepFrom?: number
      }
    }
  | { kind: 'note.added'; data: { text: string; topic?: string } }

export interface TokenUsage {
  /** Disjoint buckets, tokens. `reasoning` is part of `output`. */
  uncached: number
  cacheRead: number
  cacheWrite: number
  output: number
  reasoning: number
}
export interface UsageRow extends TokenUsage {
  key: string
  calls: number
  failed: number
  /** null: at least one call has no known price. */
  costNanoUsd: number | null
}
export interface UsageReportParams {
  scope?: 'task' | 'agent'
}
export interface UsageReport {
  scope: 'task' | 'agent'
  total: UsageRow
  byModel: UsageRow[]
  byActivation: (UsageRow & { activation: number; revision: Sha256; steps: number; progressDelta: number | null })[]
  byTool: {
    name: string
    calls: number
    errors: number
    interrupted: number
    outputBytes: number
    durationMs: number
  }[]
  cachedShare: number | null
  cacheBreaks: {
    seq: number
    step: number | null
    index: number
    kind: 'instructions' | 'tools' | 'item' | 'model'
    costNanoUsd: number | null
  }[]
  /** Tokens by part of the last request. */
  composition: { instructions: number; tools: number; messages: number; toolResults: number }
  repeatedCalls: { name: string; arguments: string; count: number }[]
  budgetLeft: { nanoUsd: number | null; tokens: number | null; steps: number | null }
  progress: { value: number; goal: number | null; unit: string; source: 'measured' | 'reported' } | null
}

export interface ArtifactRef {
  name: string
  version: number
  hash: Sha256
  sizeBytes: number
  at: number
}
export interface ArtifactPutParams {
  /** 1 to 200 characters of [A-Za-z0-9._/-], no `..`, no leading or trailing `/`. */
  name: string
  text: string
  /** Refused as `conflict` unless this is the latest version (0: the artifact must not exist). */
  expectVersion?: number
}
export interface ArtifactGetParams {
  name: string
  version?: number
}
export interface ArtifactValue extends ArtifactRef {
  text: string
}

export interface BlobPutParams {
  base64: string
}
export interface BlobGetParams {
  hash: Sha256
  offset?: number
  /** At most 262144 bytes. */
  length?: number
}
export interface BlobRange {
  base64: string
  offset: number
  totalBytes: number
}

/**
 * `body` is the provider's request body less `stream` and `store`, which the kernel sets. Only allow-listed fields:
 * Responses: model, instructions, input, tools, tool_choice, parallel_tool_calls, max_output_tokens, temperature, top_p,
 * reasoning, text, include, prompt_cache_key, truncation. An unknown field is `invalid`.
 * An element of `input` may be `{ ref }`: the SHA-256 of `JSON.stringify(item)` of an item of an earlier request or answer of this task.
 */
export interface ModelCallParams {
  api: 'responses' | 'chat'
  body: { [key: string]: Json }
  /** Receive `stream.chunk` notifications while it runs. Default false. */
  stream?: boolean
}
export interface ModelCallResult {
  /** seq of the `model.called` event. */
  seq: number
  status: 'completed' | 'incomplete'
  /**
   * The provider's answer: `{ id, model, output: [...] }` (Responses) or `{ id, model, choices: [...] }` (Chat). A call that was
   * cut off (status `incomplete`) and a message that says nothing are not in history: do not send them back.
   */
  response: { [key: string]: Json }
  usage: TokenUsage
  costNanoUsd: number | null
  /** Operator messages and outcomes that arrived since the last call; they are in history too. */
  pendingEvents: number
}

export interface StreamChunk {
  /** id of the `model.call` request. */
  call: number
  /** From 0, without gaps. */
  n: number
  /** A piece of the provider's event stream, reduced to what grows: text and argument deltas. */
  delta: { type: 'text' | 'arguments' | 'reasoning'; text: string }
}
export interface StreamCredit {
  call: number
  /** Chunks that may be sent on top of those already granted. */
  credits: number
}
export interface StreamEnd {
  call: number
  chunks: number
}

export interface SandboxExecParams {
  /** Run by `bash -c` (or `sh -c` where there is no bash) in the task sandbox. */
  command: string
  /** Default: the task's workdir. */
  cwd?: string
  /** Default 120000, at most 3600000. */
  timeoutMs?: number
  stdin?: string
  /** Cap of each of stdout and stderr in the answer, bytes; default 16384, at most 262144. All of it (to 8 MiB) is kept as a blob. */
  outputBytes?: number
  /**
   * Answers at once with `job`; the command goes on after the turn, to its own time-out (default and most: 24 h), or until the task rests.
   * At most 8 at once. Other processes that a command leaves behind end with it.
   */
  background?: boolean
}
export interface SandboxExecResult {
  exitCode: number | null
  signal: string | null
  timedOut: boolean
  stdout: string
  stderr: string
  /** Present where the answer was cut: the whole, for `blob.get`. */
  stdoutBlob?: Sha256
  stderrBlob?: Sha256
  stdoutBytes: number
  stderrBytes: number
  durationMs: number
  /** `job-1` …, per task: of a background command; nothing else of the answer means anything then. */
  job?: string
}
export interface SandboxJob {
  job: string
  command: string
  state: 'running' | 'ended'
  exitCode: number | null
  signal: string | null
  /** `lost`: the kernel or the sandbox ended while it ran. */
  ending: 'exited' | 'timed-out' | 'killed' | 'lost' | null
  startedAt: number
  durationMs: number
  stdoutBytes: number
  stderrBytes: number
}
export interface SandboxLogsParams {
  job: string
  stream?: 'stdout' | 'stderr'
  /** Bytes to skip; negative: so many from the end. Default: -16384. The last 16 MiB of a stream are kept. */
  offset?: number
  /** Default 16384, at most 262144. */
  length?: number
  /** Waits up to so long, at most 60000 ms, for the job to end or to write beyond `offset`. */
  waitMs?: number
}
export interface SandboxLogsResult extends SandboxJob {
  text: string
  /** Where `text` begins and ends in the stream, bytes. */
  from: number
  to: number
}
export interface SandboxReadParams {
  path: string
  offset?: number
  /** At most 262144 bytes. */
  length?: number
}
export interface SandboxReadResult {
  text: string
  totalBytes: number
  /** True where the bytes are not UTF-8; `text` is then base64. */
  binary: boolean
}
export interface SandboxWriteParams {
  path: string
  text: string
  /** Refused as `conflict` unless the present content has this hash (`absent`: no such file). */
  expect?: Sha256 | 'absent'
}
export interface SandboxListParams {
  path: string
}
export interface SandboxListResult {
  entries: { name: string; type: 'file' | 'directory' | 'link' | 'other'; sizeBytes: number }[]
}
export interface SnapshotRef {
  name: string
  at: number
  sizeBytes: number
}

/** Paths are relative to the policy's root, `/`-separated. */
export interface PolicyFileChange {
  path: string
  change: 'added' | 'changed' | 'removed'
  addedLines: number
  removedLines: number
}
export interface PolicyStatus {
  active: { revision: Sha256; activation: number }
  /** The revision that `/policy` was laid from. */
  base: Sha256
  /** How `/policy` differs from its base. */
  changed: PolicyFileChange[]
  /** Why `/policy` cannot be read as a revision, where it cannot; `changed` is then empty. */
  problems?: { path: string; problem: string }[]
  /** Latest proposals of this agent, newest first, at most 10. */
  proposals: PolicyProposal[]
}
export interface PolicyProposal {
  proposal: string
  revision: Sha256
  state: ProposalState
  claim: string
  reason?: string
  failedChecks: { check: string; summary: string }[]
  /** What the operator said line by line; lines count from 1. */
  comments?: { path: string; side: 'before' | 'after'; line: number; text: string }[]
}
export type ProposalState =
  | 'checking'
  | 'ready'
  | 'approved'
  | 'activating'
  | 'probation'
  | 'active'
  | 'failed-checks'
  | 'rejected'
  | 'returned'
  | 'stale'
  | 'superseded'
  | 'withdrawn'
  | 'expired'
  | 'activation-failed'
  | 'rolled-back'
export interface PolicyProposeParams {
  /** One sentence: what gets better. At most 500 characters. */
  claim: string
  /** At most 4000 characters, plain text. */
  why: string
  /** seq of the events that motivate it. */
  evidence?: number[]
  expects?: string
}
export interface PolicyProposeResult {
  proposal: string
  revision: Sha256
  state: ProposalState
  /** What its proposer should know: that the same content was turned down before, and why. */
  note?: string
}

export interface ExecutorToKernel {
  'history.read': { params: HistoryReadParams; result: HistoryPage }
  'history.query': { params: HistoryQueryParams; result: HistoryPage }
  'history.search': { params: HistorySearchParams; result: HistoryPage }
  'history.append': { params: HistoryAppendParams; result: { seq: number } }
  'report.usage': { params: UsageReportParams; result: UsageReport }
  'artifact.put': { params: ArtifactPutParams; result: ArtifactRef }
  'artifact.get': { params: ArtifactGetParams; result: ArtifactValue }
  'artifact.list': { params: { prefix?: string }; result: { artifacts: ArtifactRef[] } }
  'artifact.versions': { params: { name: string }; result: { versions: ArtifactRef[] } }
  'blob.put': { params: BlobPutParams; result: { hash: Sha256 } }
  'blob.get': { params: BlobGetParams; result: BlobRange }
  'model.call': { params: ModelCallParams; result: ModelCallResult }
  'sandbox.exec': { params: SandboxExecParams; result: SandboxExecResult }
  'sandbox.read': { params: SandboxReadParams; result: SandboxReadResult }
  'sandbox.write': { params: SandboxWriteParams; result: { hash: Sha256 } }
  'sandbox.list': { params: SandboxListParams; result: SandboxListResult }
  'sandbox.jobs': { params: Record<string, never>; result: { jobs: SandboxJob[] } }
  'sandbox.logs': { params: SandboxLogsParams; result: SandboxLogsResult }
  'sandbox.kill': { params: { job: string }; result: SandboxJob }
  'sandbox.snapshot': { params: { name: string }; result: SnapshotRef }
  'sandbox.restore': { params: { name: string }; result: Record<string, never> }
  'sandbox.snapshots': { params: Record<string, never>; result: { snapshots: SnapshotRef[] } }
  'policy.status': { params: Record<string, never>; result: PolicyStatus }
  /** A file of the active revision. */
  'policy.read': { params: { path: string }; result: { text: string } }
  /** Unified diff of `/policy` against the active revision. */
  'policy.diff': { params: Record<string, never>; result: { diff: string } }
  'policy.propose': { params: PolicyProposeParams; result: PolicyProposeResult }
  'policy.withdraw': { params: { proposal: string }; result: { state: ProposalState } }
  /** Lays `/policy` anew; what was there is kept as an artifact `policy-backup`. */
  'policy.reset': { params: { to: Sha256 | 'active' | 'base' }; result: PolicyStatus }
  'task.complete': { params: { summary: string }; result: { accepted: boolean; message: string } }
  'task.ask': { params: { question: string }; result: { asked: true } }
}

export type KernelMethod = keyof ExecutorToKernel
export type ExecutorMethod = keyof KernelToExecutor
