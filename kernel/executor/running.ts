import type { Artifacts } from '../artifacts/artifacts.ts'
import type { Clock } from '../clock.ts'
import type { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { Gateway, TokenCounter } from '../models/models.ts'
import type { Revisions } from '../revisions/revisions.ts'
import type { BoxSpec, SandboxProvider } from '../sandbox/sandbox.ts'
import type { Quarantine } from '../tools/tools.ts'
import type { Actor } from '../wire/events.ts'
import type { SandboxListResult, SandboxReadResult, SandboxWriteParams } from '../wire/executor.ts'
import type { OpenCalls, Place } from './calls.ts'
import type { InboundCall } from './channel.ts'
import type { GenerationSpec, PolicyService } from './executor.ts'
import type { References } from './references.ts'
import type { ModelStream } from './stream.ts'
import type { Timings } from './timings.ts'

type Files = Omit<BoxSpec, 'argv' | 'timeoutMs'>
type CommandRunner = Pick<SandboxProvider, 'run'>

/** Files of a task sandbox, read and written from inside its box: the kernel never opens such a path on the host. */
export interface SandboxFiles {
  /** @throws KernelError `not-found`, `invalid` (a folder, a device). */
  readFile(
    runner: CommandRunner,
    place: Files,
    path: string,
    offset?: number,
    length?: number,
  ): Promise<SandboxReadResult>
  /** @throws KernelError `conflict` (the content is not what `expect` says), `invalid`, `forbidden`. */
  writeFile(
    runner: CommandRunner,
    place: Files,
    path: string,
    text: string,
    expect?: SandboxWriteParams['expect'],
  ): Promise<{ hash: string }>
  list(runner: CommandRunner, place: Files, path: string): Promise<SandboxListResult>
}

export interface ExecutorParts {
  history: History
  artifacts: Artifacts
  revisions: Revisions
  gateway: Gateway
  provider: SandboxProvider
  files: SandboxFiles
  /** The guardian needs executors too, so it is asked for when it is needed. */
  policy: () => PolicyService
  clock: Clock
  tokens: TokenCounter
  quarantine: Pick<Quarantine, 'of'>
  timings: Timings
}

/** What all generations of one task share. */
export interface TaskMemory {
  calls: OpenCalls
  references: References
  /** Bytes that the executor has had the kernel keep. */
  storedBytes: number
  /** Hashes of the items of its requests that are counted there. */
  sentItems: Set<string>
  /** What the agent keeps for itself, so that it is told apart where a request carries it. */
  kept: { texts(): Promise<readonly string[]>; changed(): void }
}

/** A running generation as the handlers of its requests see it. Every header is made here, never from a payload. */
export interface Running {
  readonly parts: ExecutorParts
  readonly spec: GenerationSpec
  readonly generation: number
  readonly memory: TaskMemory
  place(actor: Actor): Place
  turn(): number
  step(): number | null
  /**
   * Counts a step of the running turn and returns its number.
   * @throws KernelError `cancelled` (the turn is to end at this safe point), `over-budget` (the task's steps are used up).
   */
  beginStep(): Promise<number>
  /** Runs one at a time per generation. */
  exclusively<T>(work: () => Promise<T>): Promise<T>
  /** A limit of the task was reached: the turn ends as `budget`, whatever the executor makes of it. */
  overBudget(error: KernelError): Promise<void>
  /** Events for the executor since this was last asked. */
  takePendingEvents(): number
  openStream(call: InboundCall, onStall: (error: KernelError) => void): ModelStream
  closeStream(call: InboundCall): void
}
