import type { Generation, PolicyService, TaskContext } from '../executor/executor.ts'
import type { TreeFile } from '../sandbox/sandbox.ts'
import type { Binding, Comment, EventData, ModelChoice } from '../wire/events.ts'
import type { PolicyProposeResult, ProposalState } from '../wire/executor.ts'
import type { ProposalDetail, ProposalSummary, RevisionRow } from '../wire/operator.ts'
import type { Effect } from '../wire/operator-effects.ts'
import type {
  DeriveInput,
  FileHunks,
  ProfileChange,
  ProfileView,
  Rule,
  RuleDraft,
  RulePreview,
} from '../wire/operator-review.ts'
import type { TrialArm } from '../wire/trials.ts'
import type { Reach } from './reach.ts'

export interface ActiveRevision {
  revision: string
  activation: number
}

/** The running task of an agent, as activation needs it. Implemented by the run loop, one per running task. */
export interface ActivationTarget {
  readonly task: string
  /** What the next generation is started with. */
  context(): TaskContext
  /** The policy working copy belongs to this box. */
  box(): TaskContext['box']
  /** How the run treats proposals. */
  readonly approve: 'none' | 'rules' | 'all'
  /**
   * Hands over to `next`, which has shaken hands: drains the running generation at a step boundary, awaits `commit`
   * (pointer and event in one transaction), stops the old one, and goes on with `next`. When `commit` throws,
   * the old generation goes on and `next` is left to the caller.
   */
  swap(next: Generation, commit: () => Promise<void>): Promise<void>
}

/** What the run loop does after its generation crashed or hung. */
export type FailureDecision =
  | { action: 'restart'; delayMs: number }
  /** The active revision was changed by the guardian (return to the last good one): start the one that is active now. */
  | { action: 'replaced'; delayMs: number }
  /** This task cannot go on; the agent's next one may. */
  | { action: 'give-up'; reason: string }
  /** No executor of this agent is started until the operator chooses. */
  | { action: 'safe-mode'; reason: string }

/** Verdict of the operator's view. A nonce is good for one verdict on exactly the binding it was issued for. */
export interface VerdictInput {
  agent: string
  proposal: string
  nonce: string
  binding: Binding
  reason: string
  /** Who gives it: the connection that the view was opened in, and no other. */
  viewer?: object | undefined
}
/** `overrides`: exactly the checks that gate and are unresolved. */
export type ApproveInput = VerdictInput & Pick<EventData<'proposal.reviewed'>, 'overrides' | 'onBreach' | 'looked'>
export type RejectInput = VerdictInput & Pick<EventData<'proposal.reviewed'>, 'category'>
export type ReturnInput = VerdictInput & { comments: readonly Comment[] }
/** `until`: epoch ms. */
export type DeferInput = VerdictInput & { until: number | null }
export type { DeriveInput }
export interface VerdictReceipt {
  seq: number
  state: ProposalState
  /** Active revision before and after. */
  before: string
  after: string
}

/** Of another model; what it says decides nothing. */
export interface OpinionRequest {
  agent: string
  proposal: string
  model?: string | undefined
  api?: ModelChoice['api'] | undefined
  baseUrl?: string | undefined
  keyEnv?: string | undefined
  credential?: string | undefined
}

/** A trial is asked for from a view, as a verdict is. */
export type TrialInput = Omit<VerdictInput, 'reason'>
/** What its arms run. */
export interface TrialSubject {
  before: string
  after: string
}
export interface TrialForks {
  trial: string
  proposal: string
  parent: { agent: string; seq: number }
  names: Record<TrialArm, string>
  revisions: Record<TrialArm, string>
}

/**
 * Decides which edit takes effect. Its state is rebuilt from history alone: there is no second copy of the truth.
 * The active revision changes only here, and an authorisation event for the exact hash precedes every start.
 */
export interface Guardian extends PolicyService {
  /** Creates the agent with the starting policy as r1 (agent.created, revision.authorised by seed, revision.activated). */
  createAgent(agent: string, seed: readonly TreeFile[]): Promise<ActiveRevision>
  /**
   * A new agent `name` that stands on the events of `parent.agent` up to and including `parent.seq`, one of its own, and
   * starts with the revision that was active then; nothing of the parent changes. Its own revisions count from 1.
   * @throws KernelError `not-found` (no such agent, or no such event of it), `conflict` (the name is taken), `forbidden`
   * (that revision was never authorised).
   */
  fork(parent: { agent: string; seq: number }, name: string): Promise<ActiveRevision & { seq: number }>
  readonly trial: {
    /** Decides nothing: the view's nonce stays good. @throws KernelError `conflict` (as `approve`; neither ready nor checking). */
    subject(input: TrialInput): TrialSubject
    /** The forks of both arms, which run their trial and nothing else, ever. @throws KernelError `conflict`, `not-found`. */
    fork(forks: TrialForks): Promise<void>
    /** The trial that this agent is an arm of; null: it is an ordinary agent, or there is none of the name. */
    of(agent: string): string | null
  }
  active(agent: string): Promise<ActiveRevision | null>
  /** What each of these files reaches for, by the kernel's reading of its syntax tree, in order; null: it could not be read. */
  reach(files: readonly TreeFile[]): Promise<Reach[] | null>
  /** The active revision has gone beyond a limit, and is neither rolled back nor kept; null: nothing of the kind. */
  breach(agent: string): { at: number; text: string } | null
  /** Called by the run loop for as long as a task of the agent runs. Returns its undoing. */
  attach(agent: string, target: ActivationTarget): () => void
  /** Lays /policy for a new task from the active revision; remembers the base. */
  layPolicy(agent: string, box: TaskContext['box'], task: string): Promise<void>

  submit(agent: string, files: readonly TreeFile[], why: string, claim: string): Promise<PolicyProposeResult>
  list(filter: { agent?: string; waiting?: boolean }): Promise<ProposalSummary[]>
  get(agent: string, proposal: string): Promise<ProposalDetail>
  file(agent: string, proposal: string, path: string): Promise<{ before: string | null; after: string | null }>
  view(agent: string, proposal: string, viewer?: object): Promise<{ nonce: string; binding: Binding; issuedAt: number }>
  /** What proposals are held to. */
  profile(): ProfileView
  /** By a person only. @throws KernelError `conflict` (another version is in force), `invalid`. */
  setProfile(change: ProfileChange): Promise<{ seq: number }>
  /** @throws KernelError `conflict` (nonce used, forged or for another binding; state moved on: says to look again). */
  approve(input: ApproveInput): Promise<VerdictReceipt>
  reject(input: RejectInput): Promise<VerdictReceipt>
  /** To be revised by its proposer. */
  sendBack(input: ReturnInput): Promise<VerdictReceipt>
  /** It stays ready. */
  defer(input: DeferInput): Promise<VerdictReceipt>
  /** Its changes, as the kernel cuts them. */
  hunks(agent: string, proposal: string): Promise<FileHunks[]>
  /**
   * A proposal of the operator's in place of this one, of fewer hunks or with edits. @throws KernelError `conflict` as
   * `approve`; `invalid` where nothing is left of it, or nothing is left out.
   */
  derive(
    input: DeriveInput & Pick<VerdictInput, 'viewer'>,
  ): Promise<{ proposal: string; revision: string; state: ProposalState }>
  /** The operator has looked through a file of it, or takes that back. */
  look(agent: string, proposal: string, revision: string, path: string, viewed: boolean): Promise<{ seq: number }>

  /** What decides in place of a person, in runs that ask for it. */
  readonly rules: {
    list(): Rule[]
    preview(rule: RuleDraft): RulePreview
    add(rule: RuleDraft): Promise<{ rule: string; seq: number }>
    revoke(rule: string, reason: string): Promise<{ seq: number }>
  }

  revisions(agent: string): Promise<RevisionRow[]>
  /** What each activation was said to bring, and what it brought. */
  effects(agent: string): Promise<Effect[]>
  /** The operator leaves a revision that has gone beyond a limit as it is. @throws KernelError `conflict`. */
  keep(agent: string, activation: number, reason: string): Promise<{ seq: number }>
  rollbackPreview(
    agent: string,
    activation: number,
  ): Promise<{
    from: { activation: number; revision: string }
    to: { activation: number; revision: string }
    files: ProposalSummary['files']
    toolsRemoved: string[]
    toolsRestored: string[]
    effects: string[]
    resulting: string
  }>
  rollback(
    agent: string,
    activation: number,
    expectActive: string,
    reason: string,
  ): Promise<{ seq: number; activation: number; revision: string }>

  /**
   * A generation of the active revision crashed or hung (the event is written), or its turns failed several times in a row.
   * Decides restart, return to the last good one or to the starting policy, or safe mode; failed turns alone lead to giving up.
   */
  generationFailed(
    agent: string,
    failure: {
      task: string
      activation: number
      revision: string
      kind: 'crash' | 'hang' | 'failed-turns'
      detail: string
    },
  ): Promise<FailureDecision>
  /** Why no executor of this agent is started; null: they are. */
  safeMode(agent: string): { activation: number; reason: string; at: number } | null
  /** The operator lets the active revision try again. @throws KernelError `conflict` where the agent is not in safe mode. */
  leaveSafeMode(agent: string, reason: string): Promise<{ seq: number }>
  /** At start: resolves activations in flight and checks interrupted by a kill. Returns how many, for kernel.recovered. */
  recover(): Promise<{ activationsResolved: number; checksRestarted: number }>
  /** Resolves when no check and no activation is in progress (tests, and the command line's `--json` runs). */
  settled(agent?: string): Promise<void>
  close(): Promise<void>
}
