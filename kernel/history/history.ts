import type { CostFilter } from '../store/cost-queries.ts'
import type { Imported } from '../store/imported.ts'
import type { Facets } from '../store/search/facets.ts'
import type { StoreFault } from '../store/store.ts'
import type { Actor, Event, EventDraft, EventKind, Progress, requestItemKinds, TokenUsage } from '../wire/events.ts'

import type { CacheBreakRow, CostReport, CostSums, contextBlocks, RepeatRow } from '../wire/operator-cost.ts'

/** Which events a reader may see: one agent's (or, for the operator, all), up to and including `asOf`. */
export interface View {
  agent: string | null
  asOf?: number
}

export interface ReadOptions {
  after?: number
  before?: number
  kinds?: readonly EventKind[]
  task?: string
  turn?: number
  revision?: string
  tool?: string
  /** At most 1000. Default 100. */
  limit?: number
  order?: 'asc' | 'desc'
}

/** Beside what `read` takes: who acted, what failed, what a model call cost. */
export interface FindOptions extends Omit<ReadOptions, 'order' | 'revision'> {
  step?: number
  actor?: Actor
  failed?: boolean
  /** Of model calls, nano-dollars, inclusive. */
  minCost?: number
  maxCost?: number
  /** Any of them. */
  revisions?: readonly string[]
  /** These alone; at most 5,000. */
  seqs?: readonly number[]
}

export interface Page {
  events: Event[]
  /** Pass as `after` (asc) or `before` (desc); null at the end. */
  next: number | null
}

export interface VerifyReport {
  ok: boolean
  events: number
  head: { seq: number; hash: string } | null
  firstBadSeq: number | null
  problem: string | null
  /** Whether the log itself is at fault, some blob, or what is derived from the log. */
  of: 'log' | 'blob' | 'derived' | null
  /** What could not be checked, and why. */
  notes: string[]
}

/** One step of a task, kept up to date in the commit of its events. */
export interface StepRow extends TokenUsage {
  task: string
  turn: number
  step: number
  activation: number
  revision: string
  /** at of its first event. */
  at: number
  modelCalls: number
  failedCalls: number
  toolCalls: number
  /** Those of them that ended as an error. */
  toolErrors: number
  /** A tool call of it named `/policy` (in the first 8 KiB of its arguments), or asked the kernel for `policy.*`. */
  isPolicyWork: boolean
  /** null once a call of unknown price is in it. */
  costNanoUsd: number | null
  /** Latest measured or reported progress by the end of the step. */
  progress: number | null
  /** First differing item, when this step's request broke its parent's prefix. */
  cacheBreak: { seq: number; index: number; kind: string } | null
}

export interface ActivationRow extends TokenUsage {
  agent: string
  task: string
  activation: number
  revision: string
  steps: number
  modelCalls: number
  failedCalls: number
  costNanoUsd: number | null
  progressFrom: number | null
  progressTo: number | null
}

export interface TaskTotals extends TokenUsage {
  steps: number
  modelCalls: number
  failedCalls: number
  costNanoUsd: number | null
  progress: Progress | null
}

export interface ToolRow {
  name: string
  calls: number
  errors: number
  interrupted: number
  outputBytes: number
  durationMs: number
}

type Sums = Omit<CostSums, 'costNanoUsd'>
type Block = (typeof contextBlocks)[number]

/** As the roll-ups have it: `knownNanoUsd` is of the calls whose price is known, `unpriced` counts the others. */
export interface CostRows {
  total: Sums &
    Record<Block | 'turns' | 'breaks' | 'missed' | 'missedNanoUsd' | 'missedUnknown', number> &
    Record<'rentInstructions' | 'rentTools' | 'rentMemory' | 'rentUnknown', number>
  byModel: (Sums & { model: string; others?: number })[]
  byRevision: (Sums & { agent: string; activation: number; revision: string; others?: number })[]
  byTask: (Sums & { agent: string; task: string; others?: number })[]
  byTool: (Omit<CostReport['byTool'][number], 'costNanoUsd'> & { unpriced: number })[]
  series: CostReport['series']
  /** Of the latest request; undefined: the scope has no single one. */
  latest: Record<Block, number> | undefined
  breaks: (Omit<CacheBreakRow, 'cause' | 'because' | 'event' | 'proposal' | 'at'> & {
    revision: string
    before: string | null
    after: string | null
    /** The call before it. */
    since: number | null
    sinceRevision: string | null
  })[]
  repeats: (Omit<RepeatRow, 'costNanoUsd'> & { unpriced: number })[]
  /** Of calls that failed, have no known cost, or whose tokens were not reported; newest first. */
  troubled: number[]
}

/** One version of an artifact; the value is the blob `hash`. */
export interface ArtifactVersion {
  name: string
  version: number
  hash: string
  sizeBytes: number
  at: number
}

/** With the header of its event. */
export interface ArtifactWrite extends ArtifactVersion {
  seq: number
  actor: Actor
  task: string | null
  revision: string | null
}

/** A model request as a delta against an earlier one; `items` in order: instructions and tools first, then input items. */
export interface RequestDraft {
  agent: string
  task: string
  model: string
  items: { kind: 'instructions' | 'tools' | 'item'; json: string }[]
}

export interface StoredRequest {
  id: number
  parent: number | null
  keptItems: number
  /** Where it parts from its parent although the parent goes on there; null when the parent is a prefix of it. */
  firstDifference: {
    index: number
    kind: 'instructions' | 'tools' | 'item' | 'model'
    before: string | null
    after: string | null
    /** Said by whoever knows the API that it was sent by. */
    what?: (typeof requestItemKinds)[number]
  } | null
  /** SHA-256 of each item's JSON text, in order. */
  itemHashes: string[]
  /** Of the list as a whole; `model.called` keeps it, so that a changed list shows. */
  hash: string
}

/**
 * The one log. Append-only: what was once there stays, in order, across crashes, replacements and rollbacks.
 * A writer thread owns the database; `append` resolves once the events are on disk, and followers see them only then.
 */
export interface History {
  /** Why it is, or has become, open for reading only (what failed to verify, in plain words); null: it is not. */
  readonly problem: string | null
  /** Where it came from as a bundle, to be read only, while nothing else is wrong with it; null: it is this machine's own. */
  readonly imported: Imported | null
  /**
   * Adds events at the end, atomically and in order. Concurrent callers share a commit.
   * @throws KernelError `invalid` (schema, or over 256 KiB as JSON), `unavailable` (the store cannot write; nothing was added).
   */
  append<const D extends readonly EventDraft[]>(drafts: D): Promise<Event[]>
  /**
   * As `append`, but refused as `conflict`, with nothing added, unless the agent's active revision is still `active`.
   * The activation pointer moves in the same commit (it follows `revision.activated`).
   */
  appendIfActive(agent: string, active: string | null, drafts: readonly EventDraft[]): Promise<Event[]>
  head(): { seq: number; hash: string } | null
  get(view: View, seq: number): Promise<Event | null>
  read(view: View, options?: ReadOptions): Promise<Page>
  /** Text in any case that begins where a word does, newest first. */
  search(view: View, text: string, options?: Omit<ReadOptions, 'order'>): Promise<Page>
  /** Newest first, by any of its conditions, for which there need be no text. */
  find(view: View, text: string | null, options?: FindOptions): Promise<Page>
  /** What `find` finds, counted by what it is of; at most the newest 10,000. */
  facets(view: View, text: string | null, options?: FindOptions): Promise<Facets>
  /** Every event after `after`, in order, without gap or repetition, first from disk, then live. Ends when `signal` aborts. */
  follow(view: View, options: { after: number; task?: string; signal: AbortSignal }): AsyncIterable<Event[]>
  /** Called after each commit, in order, with what it added. Returns its undoing. */
  onCommit(listener: (events: readonly Event[]) => void): () => void
  latest<K extends EventKind>(view: View, kind: K, filter?: { task?: string }): Promise<Event<K> | null>

  putBlob(bytes: Uint8Array | string): Promise<string>
  /** @throws KernelError `not-found`; `internal` where the stored bytes no longer have that hash. */
  getBlob(hash: string): Promise<Buffer>
  hasBlob(hash: string): Promise<boolean>
  /** Every blob there is, in the order in which they came; `next` is the place to go on from. */
  blobHashes(after: number): Promise<{ hashes: string[]; next: number | null }>
  /** Marks that this agent may read this blob; `mayRead` answers the executor's requests (no dedupe oracle). */
  grantBlob(agent: string, hash: string): Promise<void>
  mayRead(agent: string, hash: string): Promise<boolean>

  /** Stores a request, each item once, and finds its parent: the earlier request of this task with the longest common prefix. */
  putRequest(draft: RequestDraft): Promise<StoredRequest>
  getRequest(
    id: number,
  ): Promise<{ agent: string; task: string; model: string; items: { kind: string; hash: string }[] }>

  steps(task: string, options?: { afterTurn?: number; afterStep?: number }): Promise<StepRow[]>
  /** Of one activation, in order; with `isLast`, the last `limit` of them. */
  activationSteps(
    agent: string,
    activation: number,
    options: { task?: string; limit: number; isLast?: boolean },
  ): Promise<StepRow[]>
  /** Steps of an agent that are work on its policy and began in `(after, until]`, epoch ms. */
  policyWork(
    agent: string,
    time: { after: number; until: number },
  ): Promise<{ steps: number; costNanoUsd: number | null }>
  activations(task: string): Promise<ActivationRow[]>
  totals(scope: { task?: string; agent?: string; sinceMs?: number }): Promise<TaskTotals>
  /**
   * What an agent and all of its lineage (those it comes from, and all forks of these) have spent, or everyone in a time.
   * Calls whose price is not known count as nothing in `nanoUsd`.
   */
  spent(scope: { lineage: string } | { fromMs: number; toMs: number }): Promise<{ nanoUsd: number; tokens: number }>
  /** The agent that this one, fork by fork, goes back to; itself where it is no fork. */
  lineageRoot(agent: string): Promise<string>
  tools(scope: { task?: string; agent?: string }): Promise<ToolRow[]>
  /** Calls of each tool of an agent by what they asked of the kernel. */
  toolOperations(agent: string): Promise<{ name: string; operation: string; calls: number }[]>
  /** From an index alone. `sinceMs`: epoch. */
  toolCallsSince(agent: string, tool: string, sinceMs: number): Promise<number>
  repeatedCalls(task: string, limit: number): Promise<{ name: string; arguments: string; count: number }[]>
  byModel(scope: {
    task?: string
    agent?: string
  }): Promise<(TokenUsage & { model: string; calls: number; failed: number; costNanoUsd: number | null })[]>
  cacheBreaks(
    task: string,
    limit: number,
  ): Promise<{ seq: number; step: number | null; index: number; kind: string; costNanoUsd: number | null }[]>

  /** Everything that is told of costs, read at one moment; at most `rows` of each list and `points` of the series. */
  cost(filter: CostFilter, limits: { rows: number; points: number }): Promise<CostRows>
  /** Blobs of both items of a cache break; null: there is none of that seq. */
  costBreak(seq: number): Promise<{ before: string | null; after: string | null } | null>

  /** Every version of an artifact in the agent's lineage, oldest first. An event `artifact.written` must carry the next. */
  artifactVersions(agent: string, name: string): Promise<ArtifactVersion[]>
  /** Every version of one artifact (or, without a name, of all) in the agent's lineage, with who wrote it. */
  artifactWrites(agent: string, name?: string): Promise<ArtifactWrite[]>
  /** The latest version of each artifact whose name starts with `prefix`, by name; as of an event, where one is given. */
  artifactNames(agent: string, prefix: string, asOf?: number): Promise<ArtifactVersion[]>
  /** Revisions that an agent (or, for null, any) has run, by activation or by the start of their hash; at most 50. */
  revisionsNamed(by: { activation: number } | { prefix: string }, agent: string | null): Promise<string[]>

  /**
   * Checks the signed head kept outside the database and, `full` (the default), every link, payload, blob and request,
   * and all that is derived from them; else the last events alone. What a full one finds in the log itself ends all writing.
   */
  verify(options?: { full?: boolean; threads?: number }): Promise<VerifyReport>
  /** Called when the disk is full, or a damaged file keeps the store from writing. Returns its undoing. */
  onFault(listener: (fault: StoreFault) => void): () => void
  /**
   * Copies history, as it is at one moment, into a new folder that is a data directory of its own, and verifies the copy.
   * Writing goes on. @throws KernelError `conflict` (the folder exists), `unavailable`.
   */
  backUp(folder: string, options?: { verify?: boolean }): Promise<{ seq: number; sizeBytes: number }>
  /**
   * Moves blobs of at least `minBytes` that agents were given before `before` (epoch ms) into a file beside the database,
   * with their hashes kept: they are read from there. Events are never dropped. null: there are none.
   */
  archive(options: {
    before: number
    minBytes: number
  }): Promise<{ file: string; blobs: number; sizeBytes: number; seq: number } | null>
  close(): Promise<void>
}
