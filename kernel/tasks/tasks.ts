import type { ModelChoice, Progress } from '../wire/events.ts'
import type { SnapshotRef } from '../wire/executor.ts'
import type { RunRequest, TaskSummary } from '../wire/operator.ts'
import type { BudgetLimits } from './raised-budgets.ts'

/** What is known of a task without asking history. */
export type TaskState = Pick<TaskSummary, 'task' | 'agent' | 'state' | 'approve' | 'lastEventAt'> & {
  simulated: boolean
  model: ModelChoice
}

/** Of one arm of a trial. */
export interface ForkLimits {
  /** What its calls draw on in shared budgets. */
  hold: string
  budgetNanoUsd: number | null
  budgetTokens: number | null
  maxSteps: number
}

/** A task kept at a safe point, to be gone on from. */
export interface KeptTask {
  task: string
  /** Its agent's last event that counts. */
  upTo: number
  /** Nothing is left of it in what the task has. */
  forget(): Promise<void>
}

/** How an arm ended, as the kernel measured it. */
export interface ForkEnd {
  outcome: NonNullable<TaskSummary['outcome']>
  reason: string
}

/** Copies of tasks that go on apart, for trials. Nothing of a copy reaches the task that it is of. */
export interface TaskForks {
  /**
   * The agent's running task, else its last. @throws KernelError `conflict` where it has none, or none that can be copied:
   * says why; `unavailable` where its kind of box cannot be had.
   */
  subject(agent: string): Promise<{ task: string; model: ModelChoice; seed: number }>
  /**
   * At the next safe point, which the task is held at only while its state is read. @throws KernelError `conflict`
   * (no copy can be made: says why), `cancelled`, `unavailable`.
   */
  keep(task: string, signal: AbortSignal): Promise<KeptTask>
  /** A task of the fork `agent`, which has sandbox and world as they were kept, and /policy of its own revision. */
  create(kept: KeptTask, agent: string, limits: ForkLimits): Promise<string>
  /** Runs it to its end. null: the app ends first. */
  run(task: string): Promise<ForkEnd | null>
  stop(task: string): Promise<void>
  /** Its sandbox and folders are removed; what history has of it stays. */
  discard(task: string): Promise<void>
  /** At start: closes what a kill left open of it, and forgets what was kept for it. */
  abandon(task: string, reason: string): Promise<void>
  /** Tasks of the arms of a trial, also of one that a kill has cut before it was told of. */
  of(trial: string): Promise<string[]>
  /** At start: a snapshot that a kill has left. */
  forgetKept(task: string): Promise<void>
}

/** Tasks and their runs: sandbox, executor with the agent's active revision, turns until complete, grading. One running task per agent. */
export interface Tasks {
  readonly forks: TaskForks
  /** @throws KernelError `invalid` (no such pack, bad limits), `conflict` (the agent has a running task), `unavailable` (no box: says the fix). */
  run(request: RunRequest): Promise<{ task: string; agent: string; seq: number }>
  list(): Promise<TaskSummary[]>
  /** All tasks in order of creation, from memory: for what is asked often. */
  states(): TaskState[]
  get(task: string): Promise<TaskSummary & { instruction: string }>
  /** At the next safe point. */
  pause(task: string, by: 'operator' | 'kernel', reason: string): Promise<{ seq: number }>
  /** A paused task, or one that was left for want of something: it is tried again. */
  resume(task: string): Promise<{ seq: number }>
  /** Tasks that were paused for the agent's safe mode go on. */
  released(agent: string): Promise<void>
  /** For good; what is running comes to an end after this resolves, at the latest in 20 s and the grader's time. */
  stop(task: string): Promise<{ seq: number }>
  /** For its next calls, at once. @throws KernelError `conflict` (it has finished), `invalid` (that is no more than it has). */
  raiseBudget(task: string, to: BudgetLimits): Promise<{ seq: number }>
  steer(task: string, text: string): Promise<{ seq: number }>
  answer(task: string, text: string): Promise<{ seq: number }>
  /** Of its sandbox, oldest first. @throws KernelError `conflict` unless the task runs or is paused; so do the two below. */
  snapshots(task: string): Promise<SnapshotRef[]>
  snapshot(task: string, name: string): Promise<SnapshotRef>
  /** @throws KernelError `conflict` (it is not paused), `not-found`. */
  restore(task: string, name: string): Promise<{ seq: number }>
  frame(task: string): Promise<{ text: string | null; at: number }>
  progress(task: string): Promise<Progress | null>
  /** At start, once: closes what a kill left open. `tasks` are those that are not over; `resting` of them are paused. */
  recover(): Promise<{
    openCallsClosed: number
    turnsInterrupted: number
    reservationsCharged: number
    tasks: string[]
    resting: string[]
  }>
  /** At start, after `recover` of everything: the tasks that were not over go on. */
  proceed(): Promise<void>
  /** Resolves with the task's last state once it has finished or stopped. */
  ended(task: string): Promise<TaskSummary>
  /** Quit: interrupts at 5 s; tasks go on at the next start. */
  close(): Promise<void>
}
