import type { CommandSpec, RunOptions, RunOutput, TaskPlace } from '../sandbox/sandbox.ts'
import type { EventDraft, ModelChoice, RunKind } from '../wire/events.ts'
import type {
  PolicyProposeParams,
  PolicyProposeResult,
  PolicyStatus,
  ProposalState,
  SandboxJob,
  SandboxLogsParams,
  SandboxLogsResult,
  SnapshotRef,
  TaskBrief,
  TurnRunParams,
} from '../wire/executor.ts'
import type { ContextReplay, TapeReplay } from '../wire/operator-replay.ts'
import type { Continued } from './continued.ts'

/** One executor process to be started: which tree, for whom, and what it may touch. */
export interface GenerationSpec {
  agent: string
  run: RunKind
  revision: string
  activation: number
  task: TaskContext
  /** Gives up a start in progress: it ends as `cancelled`, and is nobody's failure. */
  signal?: AbortSignal
}

/** Header of an event: made by the kernel, never from a payload. */
export type EventPlace = Omit<EventDraft, 'kind' | 'data'>

export interface JobCommand extends CommandSpec {
  command: string
  stdin?: string
}

/** Commands, jobs and snapshots of a task's sandbox. They belong to the task and outlive a generation. */
export interface TaskSandbox {
  /** One command, in the box that stays. @throws as `StandingSandbox.run`. */
  run(command: CommandSpec, options?: RunOptions): Promise<RunOutput>
  /** Returns the job's name at once. Its start and end are events. @throws KernelError `unavailable` (too many). */
  startJob(command: JobCommand, call: string | null, place: EventPlace): Promise<string>
  jobs(): SandboxJob[]
  /** @throws KernelError `not-found`, `cancelled`. */
  logs(params: SandboxLogsParams, signal: AbortSignal): Promise<SandboxLogsResult>
  /** Resolves when it has ended. @throws KernelError `not-found`. */
  killJob(job: string): Promise<SandboxJob>
  /** With the world's state. The event is there once all of it is durable. */
  snapshot(name: string, place: EventPlace): Promise<SnapshotRef>
  /** Ends commands and jobs, then brings sandbox and world back. @throws KernelError `not-found`. */
  restore(name: string, place: EventPlace): Promise<void>
  snapshots(): Promise<SnapshotRef[]>
}

/** The running task as the channel needs it. Reads are bound to the agent, writes to this task. */
export interface TaskContext {
  task: string
  brief: TaskBrief
  model: ModelChoice
  /** Box of one `sandbox.exec`: the label and mounts of the task sandbox. */
  box: Pick<TaskPlace, 'sandbox' | 'label' | 'mounts' | 'image'> & { workdir: string; env?: Record<string, string> }
  sandbox: TaskSandbox
  /** `task.complete`: checks the measure; false with the measure in words where the goal is unmet. */
  complete(summary: string): Promise<{ accepted: boolean; message: string }>
  ask(question: string): Promise<void>
  /** Steps used so far by the task, and the next step's number (both counted by the kernel). Throws over-budget at the limit. */
  nextStep(): Promise<number>
  /** A model call could not be sent, for a reason that only the operator can mend: no key, no price. */
  refused(reason: string): void
  /** Of a fork: the task that this one goes on from, under whose name the executor knows both. */
  continues?: Continued
  /** All that the step before brought is in history, and the next request is not sent before this resolves. */
  safePoint?(): Promise<void>
  /** A budget that this task shares with others has no room for its next call: it waits for room. */
  waitsForBudget(reason: string): void
}

/** What the guardian answers to an executor's `policy.*`. Bound to agent and task by the channel. */
export interface PolicyService {
  status(agent: string, task: string): Promise<PolicyStatus>
  read(agent: string, path: string): Promise<string>
  diff(agent: string, task: string): Promise<string>
  propose(where: PolicyOrigin, params: PolicyProposeParams): Promise<PolicyProposeResult>
  /** By the executor unless said otherwise: the operator's own proposals are not its to withdraw. */
  withdraw(agent: string, proposal: string, by?: 'executor' | 'operator'): Promise<ProposalState>
  reset(where: PolicyOrigin, to: string): Promise<PolicyStatus>
}
export interface PolicyOrigin {
  agent: string
  task: string
  generation: number
  turn: number
  step: number | null
  revision: string
  box: TaskContext['box']
}

export type TurnOutcome = 'yielded' | 'completed' | 'failed' | 'cancelled' | 'interrupted' | 'budget'
export interface TurnEnd {
  outcome: TurnOutcome
  reason: string | null
  steps: number
}

export type GenerationEnd =
  | { kind: 'stopped'; reason: string }
  | { kind: 'crashed'; exitCode: number | null; signal: string | null; outOfMemory: boolean; stderr: string }
  | { kind: 'hung'; watchdog: 'ping' | 'progress'; afterMs: number }

/**
 * One started executor process: hostile until shown otherwise. It has answered `initialize`.
 * Its crash or hang is an event and an `ended`, never an exception of the kernel's.
 */
export interface Generation {
  readonly generation: number
  readonly revision: string
  readonly activation: number
  /** Epoch-free: how long the handshake took, ms. */
  readonly startMs: number
  /** Writes turn.started and turn.ended, closes open calls where the process ends, and resolves in every case. One turn at a time. */
  runTurn(params: TurnRunParams): Promise<TurnEnd>
  /**
   * Asks for the next safe point and waits for the running turn to end there, up to `waitMs`; then cancels what is in flight;
   * then the caller may `stop`. Writes executor.drained.
   */
  drain(
    reason: 'replacement' | 'pause' | 'stop' | 'quit',
    waitMs: number,
  ): Promise<{ waitedMs: number; interrupted: boolean }>
  /** Cancels calls in flight and asks the executor to end the turn; it ends as `cancelled`, by force after 2 s. */
  cancel(reason: string): Promise<void>
  /** Kills the box and writes executor.stopped, unless it ended before. */
  stop(reason: string): Promise<void>
  readonly ended: Promise<GenerationEnd>
  /** What it is doing now, for the now-line. */
  now(): { what: string; since: number } | null
}

/** A start or handshake that failed; `details.stage` of the KernelError says which. */
export interface Executors {
  /**
   * Materialises the revision, starts it in an executor box and shakes hands. Writes executor.started, or executor.crashed / executor.hung.
   * The caller has written the authorisation event for this hash; it is checked here and refused as `forbidden` without.
   * @throws KernelError `unavailable` (no box; handshake failed: details { stage, exitCode, stderr }).
   */
  start(spec: GenerationSpec): Promise<Generation>
  /** Boot check: starts an unapproved tree in a box like an executor's, shakes hands, runs one synthetic turn against scripted answers. Touches nothing. */
  boot(revision: string, agent: string): Promise<BootReport>
  /** Bytes and lines on the wire must stay within these. */
  close(): Promise<void>
}

export interface BootReport {
  passed: boolean
  /** Where it ended: all stages done, or the one that failed. */
  stage: 'start' | 'handshake' | 'turn' | 'done'
  summary: string
  exitCode: number | null
  stderr: string
  durationMs: number
  tools: { name: string; description: string; file?: string }[]
  /** The first model request that it made, for the prompt's size. */
  firstRequest: { instructionsTokens: number; toolsTokens: number; itemsTokens: number } | null
}

/** What is replayed: a candidate beside the revision that it is to replace, on what was recorded of this agent. */
export interface ReplayRequest {
  agent: string
  base: string
  candidate: string
  /** Recorded steps at most. */
  steps: number
  label: string
  signal: AbortSignal
}

/** Runs of unapproved trees in check boxes, on what was recorded. Nothing of them reaches history, a sandbox or a model. */
export interface Replays {
  /**
   * What both would have sent at recorded steps of the agent's latest task. null: there is no recorded step.
   * @throws KernelError `unavailable` where no box can be had, `cancelled` once the signal aborts.
   */
  context(request: ReplayRequest): Promise<ContextReplay | null>
  /**
   * The candidate's turn on the recorded answers of the agent's latest whole turn. null: there is none.
   * @throws as `context`.
   */
  tape(request: Omit<ReplayRequest, 'base' | 'steps'>): Promise<TapeReplay | null>
}
