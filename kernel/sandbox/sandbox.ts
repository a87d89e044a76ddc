import type { Readable, Writable } from 'node:stream'

/**
 * Boxes: isolated process trees, each of one profile. A profile is one constant configuration; a caller names the profile
 * and the few folders below `DATA/boxes/` that the profile has places for, and can ask for nothing else.
 */
export type ProfileName = 'executor' | 'boot' | 'check' | 'task' | 'world' | 'verifier'

/** Folders a profile mounts, by role. Host paths, which must lie below `boxesDir` (or be a kernel resource). Absent roles are not mounted. */
export interface BoxMounts {
  /** executor, check: the materialised revision, read-only at /revision. */
  revision?: string
  /** task: writable at /task, /home/agent, /opt, /tmp: one host folder with those four inside. verifier: a copy of it. */
  root?: string
  /** task: writable at /policy; check (intake): read-only at /policy. */
  policy?: string
  /** world: writable at /world/journal. */
  journal?: string
  /** world: writable at /run/world; task: read-only at /run/world. */
  socket?: string
  /** world: read-only at /world/program; task: read-only at /exodesk/pack (its bin/ on PATH). */
  program?: string
  /** verifier: read-only at /tests. */
  tests?: string
  /** verifier: writable at /logs/verifier. */
  logs?: string
  /** task: read-only at /run/endpoints: a socket for each endpoint that the operator consented to. */
  endpoints?: string
}

export type ProviderName = 'local' | 'docker'

/**
 * The lasting side of a task sandbox: what its commands changed outlives each of them, and the kernel.
 * local: the folders of `mounts.root` themselves; docker: the writable layer of one container, filled from `mounts.root` once.
 */
export interface TaskPlace {
  sandbox?: ProviderName
  label: string
  mounts: BoxMounts
  /** docker: the image that it begins with, by name; absent: the base image. Looked up, or pulled, when it is made. */
  image?: string
}

export interface Snapshot {
  name: string
  /** What it takes on disk beside the others. */
  sizeBytes: number
  at: number
}

export interface BoxLimits {
  memoryBytes: number
  pids: number
  /** Open files. */
  nofile: number
  /** Largest file that can be written, bytes. */
  fileBytes: number
  /** CPU seconds a process may burn; null: none. */
  cpuSeconds: number | null
}

export interface BoxSpec {
  /** Absent: the first that answers of docker, local. */
  sandbox?: ProviderName
  profile: ProfileName
  /** Shown in process lists and used to find orphans: agent, task, generation. Characters [A-Za-z0-9._-]. */
  label: string
  mounts: BoxMounts
  argv: string[]
  cwd?: string
  /** On top of the profile's own PATH, HOME, LANG. Never inherited from the host. */
  env?: Record<string, string>
  /** Wall-clock limit, ms; then the whole tree is killed. Absent: none. */
  timeoutMs?: number
  /** verifier: begins with this snapshot of a task sandbox in place of `mounts.root`. What it changes is thrown away. */
  state?: { place: TaskPlace; snapshot: string }
}

export interface RunOptions {
  stdin?: string | Buffer
  outputBytes?: number
  signal?: AbortSignal
}

export interface BoxExit {
  exitCode: number | null
  signal: NodeJS.Signals | null
  timedOut: boolean
  /** True where the memory limit ended it. */
  outOfMemory: boolean
}

/** One running box. Its whole process tree ends with `kill`, with its main process, and with the kernel. */
export interface Box {
  readonly id: string
  readonly spec: BoxSpec
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  readonly exited: Promise<BoxExit>
  /** SIGKILL to every process of the box; resolves once none is left. */
  kill(): Promise<void>
  /** How many of its processes the memory limit has ended so far; null: this provider cannot tell. */
  memoryKills?(): number | null
}

export interface RunOutput extends BoxExit {
  stdout: Buffer
  stderr: Buffer
  /** Bytes that the box wrote; what is over the cap is dropped and the box goes on (to 64 MiB a stream, then it is killed). */
  stdoutBytes: number
  stderrBytes: number
  durationMs: number
}

/** One command in a standing box. */
export interface CommandSpec {
  /** By bash where the sandbox has one, else sh. Or an `argv`. */
  command?: string
  argv?: string[]
  cwd: string
  /** On top of the box's own. */
  env?: Record<string, string>
  /** Wall-clock limit, ms; then its whole tree is killed. */
  timeoutMs?: number
}

export interface CommandEnd extends BoxExit {
  /** By `kill`. */
  wasKilled: boolean
  /** All that it wrote, sent or not. */
  stdoutBytes: number
  stderrBytes: number
}

/** Where output goes. What is not taken yet (a promise) is counted against the command, which then waits. */
export interface CommandSinks {
  stdout(chunk: Buffer): undefined | Promise<void>
  stderr(chunk: Buffer): undefined | Promise<void>
  /** Of each stream no more is handed over; the rest is counted. */
  sentBytes?: number
  /** A command that writes more to one stream is killed. */
  runawayBytes?: number
}

export interface RunningCommand {
  /** Once its process is there. @throws as `ended`. */
  readonly started: Promise<void>
  /** @throws KernelError `invalid` (cwd; too long), `unavailable` (it could not start; the box has ended: effect unknown). */
  readonly ended: Promise<CommandEnd>
  /** Its whole tree; `ended` resolves soon after. */
  kill(): void
}

/**
 * Commands of one task sandbox by a server inside one box that stays: a fork each. Processes that a command leaves behind end
 * with it. The server lives beside the agent, so what it says is the agent's word: for tool calls only, never for checks.
 */
export interface StandingSandbox {
  start(spec: CommandSpec, sinks: CommandSinks, stdin?: string | Buffer): Promise<RunningCommand>
  /** As `SandboxProvider.run`. @throws as `RunningCommand.ended`; `cancelled` once the command is gone. */
  run(spec: CommandSpec, options?: RunOptions): Promise<RunOutput>
  /** Ends the box and all that runs in it; the next command starts another. */
  rest(): Promise<void>
  /** Ends it for good. */
  close(): Promise<void>
}

export interface ProviderReport {
  name: ProviderName
  available: boolean
  /** One line for the status strip: `bubblewrap 0.8.0, as root, cgroup limits`. */
  detail: string
  /** Why not, and the one command that mends it. */
  reason?: string
  fix?: string
  /** docker, where it is not available: an engine is there, and could be mended. */
  engineAnswers?: boolean
}

/** A provider of boxes. Both providers pass `sandbox.contract.ts`. Nothing here ever runs a command on the host itself. */
export interface SandboxProvider {
  readonly name: ProviderName
  /** Starts one trivial box for real; the answer may be kept for the life of the host. */
  report(): Promise<ProviderReport>
  /** @throws KernelError `unavailable` (no box can be had: says the fix), `invalid` (a mount that the profile has no place for). */
  start(spec: BoxSpec): Promise<Box>
  /** Starts, feeds `stdin`, collects output up to `outputBytes` a stream, waits. */
  run(spec: BoxSpec, options?: RunOptions): Promise<RunOutput>
  /**
   * Stops every process of the boxes with this label at once (cgroup freezer; else SIGSTOP until two scans find none running).
   * @throws KernelError `unavailable` where it cannot be made sure that all have stopped; they have then been let go on.
   */
  freeze(label: string): Promise<{ thaw(): Promise<void> }>
  /** Kills all boxes with this label. Also those that an earlier kernel left behind. */
  killAll(label: string): Promise<number>
  /**
   * Makes the task sandbox, or takes up the one that is there: state that an earlier kernel left is kept. Called before the
   * first box of the task, at each start of a run.
   */
  open(place: TaskPlace): Promise<void>
  /**
   * Keeps the state under this name, in place of an earlier one of the name; /policy, the world and endpoints are not part of it.
   * Every box of the label is stopped meanwhile. Whole or not at all, whatever is killed in between.
   * @throws KernelError `invalid` (larger than `snapshotLimits`), `unavailable` (disk, engine).
   */
  snapshot(place: TaskPlace, name: string): Promise<Snapshot>
  /** Puts a snapshot in place of the state; ends every box of the label. @throws KernelError `not-found`. */
  restore(place: TaskPlace, name: string): Promise<void>
  /**
   * Makes the sandbox `to`, of which nothing is there yet, with the state of a snapshot of `place`; nothing of `place` changes.
   * Both are of one provider. @throws KernelError `not-found`.
   */
  clone(place: TaskPlace, name: string, to: TaskPlace): Promise<void>
  snapshots(place: TaskPlace): Promise<Snapshot[]>
  /** @throws KernelError `not-found`. */
  forget(place: TaskPlace, name: string): Promise<void>
  /** Removes state and snapshots for good; ends every box of the label. */
  destroy(place: TaskPlace): Promise<void>
  /** Kills every box of this data directory that this process did not start. Called once at start. */
  reap(): Promise<number>
  close(): Promise<void>
}

/** A file of an immutable tree: UTF-8 text; `path` relative, `/`-separated, NFC. */
export interface TreeFile {
  path: string
  text: string
}

/** Why a folder cannot be a revision; `path` escaped for display. */
export interface IntakeProblem {
  path: string
  problem: string
}
export type IntakeResult = { ok: true; files: TreeFile[] } | { ok: false; problems: IntakeProblem[] }

/** Of one task: names kept at once, and bytes of a state that is kept. */
export interface SnapshotLimits {
  count: number
  stateBytes: number
  entries: number
}
export const snapshotLimits: Readonly<SnapshotLimits> = { count: 20, stateBytes: 8 * 1024 ** 3, entries: 500_000 }

export const intakeLimits = {
  files: 500,
  fileBytes: 256 * 1024,
  totalBytes: 2 * 1024 * 1024,
  depth: 12,
  pathBytes: 200,
} as const
