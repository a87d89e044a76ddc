import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { EventPlace, JobCommand } from '../executor/executor.ts'
import { failpoint } from '../failpoints.ts'
import type { History } from '../history/history.ts'
import type { CommandEnd, RunningCommand, StandingSandbox } from '../sandbox/sandbox.ts'
import { draft, type Event, type EventData, type EventDraft } from '../wire/events.ts'
import type { SandboxJob, SandboxLogsParams, SandboxLogsResult } from '../wire/executor.ts'
import { JobLog, logBytes } from './job-log.ts'

/** At once; each may keep two logs of 16 MiB. */
const jobsMax = 8
/** Ended jobs that are still listed. */
const listedMax = 100
const jobMaxMs = 86_400_000
const commandBytes = 2048
/** What the logs of one task's ended jobs may take in history, bytes. */
const keptBytesPerTask = 512 * 1024 * 1024

type Stream = 'stdout' | 'stderr'

interface Job {
  state: SandboxJob
  running: RunningCommand | null
  /** null: what is kept is in history, or nothing is. */
  logs: Record<Stream, JobLog> | null
  blobs: Partial<Record<Stream, string>>
  from: number
  /** It was to end before it had begun. */
  isUnwanted: boolean
  /** Resolves at its end, or when it has written. */
  changed: { promise: Promise<void>; resolve: () => void }
  done: Promise<void>
}

export interface JobParts {
  history: History
  clock: Clock
  standing: StandingSandbox
  agent: string
  task: string
  run: 'task' | 'trial'
  /** For the logs of running jobs; no box mounts it. */
  dir: string
}

/** Background commands of one task: they outlive a turn and a generation, and end with the task's rest. */
export class Jobs {
  readonly #parts: JobParts
  readonly #jobs = new Map<string, Job>()
  #last = 0
  #keptBytes = 0

  constructor(parts: JobParts) {
    this.#parts = parts
  }

  /** Takes up what history knows: jobs of an earlier host have ended, and their logs are kept there. */
  async open(): Promise<void> {
    const { history, agent, task, dir } = this.#parts
    await rm(dir, { recursive: true, force: true })
    await mkdir(dir, { recursive: true, mode: 0o700 })
    const kinds = ['job.started', 'job.ended'] as const
    const { events } = await history.read({ agent }, { task, kinds: [...kinds], order: 'desc', limit: 2 * listedMax })
    for (const event of events.reverse()) this.#recall(event)
  }

  /** @throws KernelError `unavailable` (too many; no box), `invalid` (cwd; too long). */
  async start(command: JobCommand, call: string | null, place: EventPlace): Promise<string> {
    const { history, clock, standing, dir } = this.#parts
    const active = [...this.#jobs.values()].filter(({ state }) => state.state === 'running')
    if (active.length >= jobsMax) {
      const names = active.map(({ state }) => state.job).join(', ')
      throw new KernelError(
        'unavailable',
        `${active.length} jobs run already (${names}): kill one, or wait for its end`,
      )
    }
    this.#last += 1
    const name = `job-${this.#last}`
    const job = newJob(name, command.command, clock)
    this.#jobs.set(name, job)
    try {
      const logs = {
        stdout: await JobLog.open(join(dir, `${name}.stdout`)),
        stderr: await JobLog.open(join(dir, `${name}.stderr`)),
      }
      job.logs = logs
      const keep = (stream: Stream) => (chunk: Buffer) => {
        const written = logs[stream].write(chunk)
        job.changed.resolve()
        job.changed = signal()
        return written
      }
      const { stdin, timeoutMs = jobMaxMs, ...spec } = command
      const sinks = { stdout: keep('stdout'), stderr: keep('stderr') }
      requireWanted(job)
      job.running = await standing.start({ ...spec, timeoutMs }, sinks, stdin)
      await job.running.started
      requireWanted(job)
      failpoint('job:before-started')
      await history.append([draft('job.started', { job: name, command: headOf(command.command), call }, place)])
    } catch (error) {
      job.running?.kill()
      this.#jobs.delete(name)
      await removeLogs(job)
      throw error
    }
    job.done = this.#await(job, job.running).catch(() => {})
    return name
  }

  list(): SandboxJob[] {
    return [...this.#jobs.values()].map((job) => this.#stateOf(job))
  }

  async kill(name: string): Promise<SandboxJob> {
    const job = this.#need(name)
    job.isUnwanted = true
    job.running?.kill()
    await job.done
    return this.#stateOf(job)
  }

  /** @throws KernelError `not-found`, `cancelled`. */
  async logs(params: SandboxLogsParams, signal: AbortSignal): Promise<SandboxLogsResult> {
    const { job: name, stream = 'stdout', offset = -16_384, length = 16_384, waitMs = 0 } = params
    const job = this.#need(name)
    await this.#waitFor(job, stream, offset, waitMs, signal)
    const total = this.#bytesOf(job, stream)
    const wanted = offset < 0 ? Math.max(0, total + offset) : offset
    const { from, bytes } = await this.#read(job, stream, wanted, length)
    return { ...this.#stateOf(job), text: bytes.toString('utf8'), from, to: from + bytes.length }
  }

  /** Kills every job, and waits until their ends are in history. */
  async end(): Promise<void> {
    const active = [...this.#jobs.values()].filter(({ state }) => state.state === 'running')
    for (const job of active) {
      job.isUnwanted = true
      job.running?.kill()
    }
    await Promise.all(active.map(({ done }) => done))
  }

  async #waitFor(job: Job, stream: Stream, offset: number, waitMs: number, signal: AbortSignal): Promise<void> {
    const seen = this.#bytesOf(job, stream)
    const isThere = (): boolean => {
      const bytes = this.#bytesOf(job, stream)
      return job.state.state === 'ended' || (offset >= 0 ? bytes > offset : bytes > seen)
    }
    let isLate = waitMs === 0
    let wake: () => void = () => {}
    const timer = setTimeout(() => {
      isLate = true
      wake()
    }, waitMs)
    const abort = (): void => wake()
    signal.addEventListener('abort', abort, { once: true })
    try {
      while (!isThere() && !isLate && !signal.aborted) {
        const woken = new Promise<void>((resolve) => (wake = resolve))
        await Promise.race([woken, job.changed.promise])
      }
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
    if (signal.aborted) throw new KernelError('cancelled', 'the wait for the job was cancelled')
  }

  async #await(job: Job, running: RunningCommand): Promise<void> {
    const { history, clock, agent, task, run } = this.#parts
    let end: CommandEnd | null = null
    try {
      end = await running.ended
    } catch {
      // The box ended under it.
    }
    const data: EventData<'job.ended'> = {
      job: job.state.job,
      ending: endingOf(end),
      exitCode: end?.exitCode ?? null,
      signal: end?.signal ?? null,
      stdoutBytes: job.logs?.stdout.bytes ?? 0,
      stderrBytes: job.logs?.stderr.bytes ?? 0,
      durationMs: clock.monotonic() - job.from,
      ...(end?.outOfMemory === true ? { outOfMemory: true } : {}),
    }
    try {
      const stdoutBlob = await this.#keep(job, 'stdout')
      const stderrBlob = await this.#keep(job, 'stderr')
      if (stdoutBlob !== undefined) data.stdoutBlob = stdoutBlob
      if (stderrBlob !== undefined) data.stderrBlob = stderrBlob
      failpoint('job:before-ended')
      await history.append([draft('job.ended', data, { actor: 'kernel', agent, task, run })])
    } finally {
      this.#ended(job, data)
      await removeLogs(job)
      job.changed.resolve()
    }
  }

  /** The log as a blob, as far as this task has room for it. */
  async #keep(job: Job, stream: Stream): Promise<string | undefined> {
    const log = job.logs?.[stream]
    const size = Math.min(log?.bytes ?? 0, logBytes)
    if (log === undefined || size === 0 || this.#keptBytes + size > keptBytesPerTask) return undefined
    this.#keptBytes += size
    const { history, agent } = this.#parts
    const hash = await history.putBlob((await log.read(0, logBytes)).bytes)
    await history.grantBlob(agent, hash)
    return hash
  }

  #recall(event: Event): void {
    if (event.kind === 'job.started') {
      const { job, command } = event.data
      this.#last = Math.max(this.#last, Number(job.slice(4)))
      const recalled = newJob(job, command, this.#parts.clock)
      recalled.state.startedAt = event.at
      this.#jobs.set(job, recalled)
    } else if (event.kind === 'job.ended') {
      const job = this.#jobs.get(event.data.job)
      if (job !== undefined) this.#ended(job, event.data)
    }
  }

  #ended(job: Job, data: EventData<'job.ended'>): void {
    const { exitCode, signal, ending, stdoutBytes, stderrBytes, durationMs } = data
    Object.assign(job.state, { state: 'ended', exitCode, signal, ending, stdoutBytes, stderrBytes, durationMs })
    job.running = null
    if (data.stdoutBlob !== undefined) job.blobs.stdout = data.stdoutBlob
    if (data.stderrBlob !== undefined) job.blobs.stderr = data.stderrBlob
    const ended = [...this.#jobs].filter(([, { state }]) => state.state === 'ended')
    for (const [name] of ended.slice(0, Math.max(0, ended.length - listedMax))) this.#jobs.delete(name)
  }

  async #read(job: Job, stream: Stream, from: number, length: number): Promise<{ from: number; bytes: Buffer }> {
    if (job.state.state === 'running' && job.logs !== null) return job.logs[stream].read(from, length)
    const hash = job.blobs[stream]
    const total = this.#bytesOf(job, stream)
    if (hash === undefined) return { from: total, bytes: Buffer.alloc(0) }
    const kept = await this.#parts.history.getBlob(hash)
    const start = Math.min(total, Math.max(from, total - kept.length))
    const at = start - (total - kept.length)
    return { from: start, bytes: kept.subarray(at, at + length) }
  }

  #bytesOf(job: Job, stream: Stream): number {
    if (job.state.state === 'running' && job.logs !== null) return job.logs[stream].bytes
    return stream === 'stdout' ? job.state.stdoutBytes : job.state.stderrBytes
  }

  #stateOf(job: Job): SandboxJob {
    if (job.state.state === 'ended') return { ...job.state }
    const [stdoutBytes, stderrBytes] = [this.#bytesOf(job, 'stdout'), this.#bytesOf(job, 'stderr')]
    return { ...job.state, stdoutBytes, stderrBytes, durationMs: this.#parts.clock.monotonic() - job.from }
  }

  #need(name: string): Job {
    const job = this.#jobs.get(name)
    if (job === undefined) throw new KernelError('not-found', `there is no ${name} in this task`)
    return job
  }
}

function newJob(job: string, command: string, clock: Clock): Job {
  const zero = { exitCode: null, signal: null, ending: null, durationMs: 0, stdoutBytes: 0, stderrBytes: 0 }
  return {
    state: { job, command: headOf(command), state: 'running', startedAt: clock.now(), ...zero },
    running: null,
    logs: null,
    blobs: {},
    isUnwanted: false,
    from: clock.monotonic(),
    changed: signal(),
    done: Promise.resolve(),
  }
}

/** @throws KernelError `cancelled`. */
function requireWanted({ isUnwanted, state }: Job): void {
  if (isUnwanted) throw new KernelError('cancelled', `${state.job} was ended before it had begun`)
}

function endingOf(end: CommandEnd | null): EventData<'job.ended'>['ending'] {
  if (end === null) return 'lost'
  if (end.wasKilled) return 'killed'
  return end.timedOut ? 'timed-out' : 'exited'
}

function signal(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => {}
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}

async function removeLogs(job: Job): Promise<void> {
  const logs = job.logs
  job.logs = null
  for (const log of Object.values(logs ?? {})) await log.remove().catch(() => {})
}

function headOf(text: string): string {
  const bytes = Buffer.from(text)
  return bytes.length <= commandBytes ? text : bytes.toString('utf8', 0, commandBytes).replace(/\ufffd$/, '')
}

/** Ends of the jobs that a kill of the kernel left open: their boxes ended with it. */
export async function lostJobs(history: History, agent: string, task: string): Promise<EventDraft[]> {
  const open = new Map<string, Event['run']>()
  for (let after: number | null = 0; after !== null; ) {
    const page = await history.read({ agent }, { task, kinds: ['job.started', 'job.ended'], after, limit: 1000 })
    for (const event of page.events) {
      if (event.kind === 'job.started') open.set(event.data.job, event.run)
      if (event.kind === 'job.ended') open.delete(event.data.job)
    }
    after = page.next
  }
  const nothing = { exitCode: null, signal: null, stdoutBytes: 0, stderrBytes: 0, durationMs: 0 }
  return [...open].map(([job, run]) =>
    draft('job.ended', { job, ending: 'lost', ...nothing }, { actor: 'kernel', agent, task, run }),
  )
}
