import type { TrialInput } from '../guardian/guardian.ts'
import type { TrialRow, TrialTotals } from '../wire/operator-trials.ts'

/** Of both arms together; at least one of the caps. */
export interface TrialRequest extends TrialInput {
  capNanoUsd: number | null
  capTokens: number | null
  /** Of each arm. */
  maxSteps: number
}

/**
 * Trials of a candidate before anyone decides: the active revision and the candidate, one after the other, each on a fork of
 * the agent's task. Nothing of a trial reaches the task, and nothing of it decides.
 */
export interface Trials {
  list(filter: { agent?: string; proposal?: string }): Promise<TrialRow[]>
  /**
   * Returns once it is planned and its caps are held; the rest shows in `list`.
   * @throws KernelError `over-budget` (a budget has no room for the caps, or there are none), `conflict` (one of this
   * proposal runs; the view is old; no task that can be copied), `invalid` (a cap in USD for a model without a price).
   */
  start(request: TrialRequest): Promise<{ trial: string; seq: number }>
  stop(trial: string): Promise<{ seq: number }>
  /** How many run now. */
  running(): number
  /** Of the trials on copies of one task, or of one agent's, or of all. */
  totals(scope: { agent?: string; task?: string }): Promise<TrialTotals>
  /** At start, after tasks and guardian: closes those that a kill has cut. How many. */
  recover(): Promise<number>
  /** Resolves once no trial runs. */
  settled(): Promise<void>
  /** Before tasks are closed: those that run are closed at the next start. */
  close(): Promise<void>
}
