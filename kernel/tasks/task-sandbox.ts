import { dirname, join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { EventPlace, JobCommand, TaskContext, TaskSandbox } from '../executor/executor.ts'
import type { History } from '../history/history.ts'
import type {
  BoxSpec,
  CommandSpec,
  RunOptions,
  RunOutput,
  SandboxProvider,
  StandingSandbox,
  TaskPlace,
} from '../sandbox/sandbox.ts'
import type { SandboxJob, SandboxLogsParams, SandboxLogsResult, SnapshotRef } from '../wire/executor.ts'
import { Jobs } from './jobs.ts'
import { Snapshots } from './snapshots.ts'

export interface TaskSandboxParts {
  history: History
  clock: Clock
  provider: SandboxProvider
  /** Opens the box that stays, at the first command. */
  standing: (place: Omit<BoxSpec, 'argv'>) => StandingSandbox
}

export interface TaskSandboxSpec {
  agent: string
  task: string
  /** Default: task. */
  run?: 'task' | 'trial'
  box: TaskContext['box']
  jobsDir: string
  world: ConstructorParameters<typeof Snapshots>[0]['world']
}

/** The sandbox of one running task: its commands, jobs and snapshots. */
export class RunSandbox implements TaskSandbox {
  readonly place: TaskPlace
  readonly #parts: TaskSandboxParts
  readonly #standing: StandingSandbox
  readonly #jobs: Jobs
  readonly #snapshots: Snapshots
  /** Nothing begins in it while it is brought back to a snapshot: what it did would be lost, or half of it. */
  #restoring: Promise<unknown> | null = null

  constructor(parts: TaskSandboxParts, { agent, task, run = 'task', box, jobsDir, world }: TaskSandboxSpec) {
    const { history, clock, provider } = parts
    const { workdir: _, ...place } = box
    this.#parts = parts
    this.place = place
    this.#standing = parts.standing({ ...place, profile: 'task' })
    this.#jobs = new Jobs({ history, clock, standing: this.#standing, agent, task, run, dir: jobsDir })
    const intent = join(dirname(jobsDir), 'restoring.json')
    this.#snapshots = new Snapshots({ history, provider, place, agent, task, world, intent })
  }

  /** Makes the sandbox or takes it up; ends what a kill left half done. */
  async open(): Promise<void> {
    await this.#parts.provider.open(this.place)
    await this.#jobs.open()
    await this.#snapshots.open()
  }

  /** Once the world answers: a restore that a kill has cut is completed. @throws KernelError `unavailable`. */
  complete(): Promise<void> {
    return this.#snapshots.complete()
  }

  async run(command: CommandSpec, options?: RunOptions): Promise<RunOutput> {
    if (this.#restoring !== null) await this.#restoring
    return this.#standing.run(command, options)
  }

  async startJob(command: JobCommand, call: string | null, place: EventPlace): Promise<string> {
    if (this.#restoring !== null) await this.#restoring
    return this.#jobs.start(command, call, place)
  }

  jobs(): SandboxJob[] {
    return this.#jobs.list()
  }

  logs(params: SandboxLogsParams, signal: AbortSignal): Promise<SandboxLogsResult> {
    return this.#jobs.logs(params, signal)
  }

  killJob(job: string): Promise<SandboxJob> {
    return this.#jobs.kill(job)
  }

  snapshot(name: string, place: EventPlace): Promise<SnapshotRef> {
    return this.#snapshots.take(name, place)
  }

  restore(name: string, place: EventPlace): Promise<void> {
    const done = this.#snapshots.restore(name, place, () => this.rest())
    const over = done
      .catch(() => {})
      .then(() => {
        if (this.#restoring === over) this.#restoring = null
      })
    this.#restoring = over
    return done
  }

  snapshots(): Promise<SnapshotRef[]> {
    return this.#snapshots.list()
  }

  /** Keeps the state under a name of the kernel's own: no event tells of it, and no executor can name it. */
  keep(name: string): Promise<void> {
    return this.#snapshots.keep(name)
  }

  /** Ends the jobs, and the box; the next command starts it anew. */
  async rest(): Promise<void> {
    await this.#jobs.end()
    await this.#standing.rest()
  }

  async close(): Promise<void> {
    await this.#jobs.end()
    await this.#standing.close()
  }
}
