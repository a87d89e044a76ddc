import type { ModelChoice, Progress } from '../wire/events.ts'
import type { SnapshotRef } from '../wire/executor.ts'
import type { RunRequest, TaskSummary } from '../wire/operator.ts'
import type { BudgetLimits } from './raised-budgets.ts'

/** What is known of a task without asking history. */
export type TaskState = Pick<TaskSummary, 'task' | 'agent' | 'state' | 'approve' | 'lastEventAt'> & {
  simulated: boolean
  model: ModelChoice
}

/** Tasks and their runs: sandbox, executor with the agent's active revision, turns until complete, grading. One running task per agent. */
export interface Tasks {
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
