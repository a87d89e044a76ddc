import type { Clock } from '../clock.ts'
import type { Executors } from '../executor/executor.ts'
import type { Guardian } from '../guardian/guardian.ts'
import type { History } from '../history/history.ts'
import type { Gateway } from '../models/models.ts'
import type { Notices } from '../notices.ts'
import type { BoxSpec, ProviderReport, SandboxProvider, StandingSandbox } from '../sandbox/sandbox.ts'
import type { EventData, ModelChoice } from '../wire/events.ts'
import type { Pack } from './pack.ts'

/** What a run is made of; constructed by kernel.ts. */
export interface RunParts {
  history: History
  gateway: Gateway
  guardian: Guardian
  executors: Executors
  provider: SandboxProvider
  /** Of every provider of boxes, in order of preference. */
  reports: () => Promise<ProviderReport[]>
  /** Opens the box that a task's commands run in, at the first of them. */
  standing: (place: Omit<BoxSpec, 'argv'>) => StandingSandbox
  clock: Clock
  notices: Notices
  boxesDir: string
  turnLimits: { maxSteps: number; maxMs: number }
  /** Where the model of this task answers now: a simulator's address changes from start to start. */
  resolveModel(choice: ModelChoice, seed: number): Promise<ModelChoice>
  /** Why nothing answers there; null: something does. */
  endpointProblem(model: ModelChoice): Promise<string | null>
  /** Overrides single waits; only tests do. */
  drainMs?: Partial<typeof drainMs>
}

export interface RunSpec {
  task: string
  agent: string
  /** Of a task that was started: as it was kept then. */
  pack: Pack
  created: EventData<'task.created'>
  /** False until task.started: the folders and /policy are then laid (again). */
  started: boolean
  /** Of an arm of a trial: the task that it goes on from, and where. */
  fork?: ForkSpec
}

export interface ForkSpec {
  task: string
  /** The last event of it that counts. */
  upTo: number
  lastTurn: number
  lastStep: { turn: number; step: number } | null
  /** What its calls draw on in shared budgets. */
  hold: string
}

export type RunState =
  | 'starting'
  | 'running'
  | 'pausing'
  | 'paused'
  | 'waiting'
  | 'stopping'
  | 'interrupted'
  | 'finished'

/** How a task ended. */
export type Over = Pick<EventData<'task.finished'>, 'outcome' | 'reason'>

/** How long a replacement, a pause or a stop waits for the step in hand before it is interrupted. */
export const drainMs = { replacement: 120_000, pause: 120_000, stop: 20_000, quit: 3_000 }
/** A quit leaves what has not ended by then to the next start, which finds it in history. */
export const quitMs = 5_000
