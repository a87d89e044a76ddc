import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { KernelError } from '../errors.ts'
import type { BoxCgroup } from './cgroups.ts'
import {
  allPids,
  firstArgument,
  isAlive,
  letGoOn,
  type ProcessId,
  pause,
  readStat,
  signal,
  stopTree,
} from './processes.ts'
import type { Box, BoxExit, BoxSpec } from './sandbox.ts'

/**
 * Trusted and constant. Runs on the host, before bubblewrap: joins the box's control groups, closes every inherited descriptor (a library may
 * have opened one without CLOEXEC, and bubblewrap passes them on), opens the filter, and becomes bubblewrap.
 * With "pipes" the streams, which Node makes as sockets, become pipes first: a shell cannot open /dev/stderr on a socket.
 * Arguments: "pipes", "chmod" (pipes that anyone may open) or "", filter file or "", files to join, "--", bubblewrap and its arguments. $0 is the marker.
 */
const launcher = `set -e
if [ -n "$1" ]; then exec 0< <(exec cat <&0 3>&-) 1> >(exec cat 3>&-) 2> >(exec cat >&2 3>&-)
  if [ "$1" = chmod ]; then chmod 666 /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2; fi
fi
shift
for f in /proc/self/fd/*; do n=\${f##*/}; if [ "$n" -gt 3 ]; then eval "exec $n>&-"; fi; done
if [ -n "$1" ]; then exec 4<"$1"; fi
shift
while [ "$1" != -- ]; do printf 0 >"$1"; shift; done
shift
exec -a "$0" "$@"`

export interface Launch {
  bash: string
  bwrap: string
  seccompFile: string | null
  /** For commands of any kind; a program that only reads and writes its streams is quicker without. */
  pipes: boolean
  arguments: string[]
  /** Becomes the first argument of every host process of the box: `exodesk-box/HASH/LABEL/ID`. */
  marker: string
}

/** A running bubblewrap and what is in it. */
export class LocalBox implements Box {
  readonly id: string
  readonly spec: BoxSpec
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  readonly exited: Promise<BoxExit>
  /** Resolves when the box's first process is there; rejects with why it could not be made. */
  readonly started: Promise<void>
  /** Set once it has ended, where bubblewrap failed before the command could start. */
  setupFailed = false

  private readonly child: ChildProcess
  private readonly cgroup: BoxCgroup | null
  private readonly marker: string
  private init: ProcessId | null = null
  private hasEnded = false
  private isFrozen = false
  private killed = false
  private timedOut = false

  constructor(id: string, spec: BoxSpec, launch: Launch, cgroup: BoxCgroup | null) {
    this.id = id
    this.spec = spec
    this.cgroup = cgroup
    this.marker = launch.marker
    const { bash, bwrap, seccompFile, marker } = launch
    // Pipes made by root can be opened anew by their maker only.
    const pipes = !launch.pipes ? '' : process.getuid?.() === 0 ? 'chmod' : 'pipes'
    // The environment of bubblewrap itself can be read inside as /proc/1/environ.
    this.child = spawn(
      bash,
      // Without --norc bash reads ~/.bashrc when its stdin is a socket, as Node's pipes are.
      [
        '--norc',
        '--noprofile',
        '-c',
        launcher,
        marker,
        pipes,
        seccompFile ?? '',
        ...(cgroup?.joinFiles ?? []),
        '--',
        bwrap,
        ...launch.arguments,
      ],
      { argv0: marker, cwd: '/', env: { PATH: '/usr/bin:/bin' }, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] },
    )
    const [stdin, stdout, stderr, status] = this.child.stdio as unknown as [Writable, Readable, Readable, Readable]
    this.stdin = stdin
    this.stdout = stdout
    this.stderr = stderr
    // A box may end, or close its end, while input is on its way to it: EPIPE is no error of ours.
    stdin.on('error', () => {})
    const { started, exitCode } = this.readStatus(status)
    this.started = started
    this.exited = this.watchExit(exitCode)
  }

  /** The status records of bubblewrap: the first process's pid at once, the exit code at the end (null: never executed). */
  private readStatus(status: Readable): { started: Promise<void>; exitCode: Promise<number | null> } {
    let text = ''
    status.setEncoding('utf8')
    status.on('error', () => {})
    const started = new Promise<void>((resolve, reject) => {
      this.child.once('error', (error) => reject(launchError(error)))
      status.on('data', (chunk: string) => {
        if (text.length < 64 * 1024) text += chunk
        const pid = Number(/"child-pid":\s*(\d+)/.exec(text)?.[1] ?? 0)
        if (this.init !== null || pid === 0) return
        const stat = readStat(pid)
        this.init = stat === null ? null : { pid, startTime: stat.startTime }
        resolve()
      })
      status.once('close', () => {
        // Killed while it was being made: `exited` tells why.
        if (this.killed) resolve()
        else reject(launchError(new Error('bubblewrap ended before the box began')))
      })
    })
    // Whoever waits for `exited` only is told there.
    started.catch(() => {})
    const exitCode = new Promise<number | null>((resolve) => {
      status.once('close', () => {
        const code = /"exit-code":\s*(\d+)/.exec(text)?.[1]
        resolve(code === undefined ? null : Number(code))
      })
    })
    return { started, exitCode }
  }

  private async watchExit(exitCode: Promise<number | null>): Promise<BoxExit> {
    const limit = this.spec.timeoutMs
    const timer =
      limit === undefined
        ? undefined
        : setTimeout(() => {
            this.timedOut = true
            void this.kill()
          }, limit)
    const signalName = await new Promise<NodeJS.Signals | null>((resolve) => {
      this.child.once('exit', (_code, name) => resolve(name))
      this.child.once('error', () => resolve(null))
    })
    clearTimeout(timer)
    await this.untilEmpty()
    const code = await exitCode
    this.setupFailed = code === null && !this.killed
    const oomKills = this.cgroup?.oomKills() ?? 0
    await this.removeCgroup()
    this.stdin.destroy()
    this.hasEnded = true
    if (this.killed) return { exitCode: null, signal: 'SIGKILL', timedOut: this.timedOut, outOfMemory: oomKills > 0 }
    const failed = code === null ? (this.child.exitCode ?? null) : code
    return { exitCode: failed, signal: signalName, timedOut: false, outOfMemory: oomKills > 0 && failed !== 0 }
  }

  /** The namespace's first process ends only after all others have: the kernel reaps them before it. */
  private async untilEmpty(): Promise<void> {
    for (;;) {
      const left = this.cgroup !== null || this.init === null ? this.processes().length : 0
      if (left === 0 && (this.init === null || !isAlive(this.init))) return
      this.killProcesses()
      await pause(2)
    }
  }

  /** By the marker where there is no group: bubblewrap killed while it forks leaves a child that waits for it for ever. */
  private processes(): number[] {
    if (this.cgroup !== null) return this.cgroup.processes()
    return allPids().filter((pid) => firstArgument(pid) === this.marker)
  }

  private async removeCgroup(): Promise<void> {
    // A group stays busy for a moment after its last process.
    for (let attempt = 0; attempt < 100 && this.cgroup !== null && !this.cgroup.remove(); attempt += 1) await pause(5)
  }

  private killProcesses(): void {
    // A process in a frozen v1 group does not die.
    if (this.isFrozen) this.cgroup?.setFrozen(false)
    this.isFrozen = false
    if (this.init !== null && isAlive(this.init)) signal(this.init.pid, 'SIGKILL')
    else for (const pid of this.processes()) signal(pid, 'SIGKILL')
  }

  async kill(): Promise<void> {
    if (!this.hasEnded) {
      this.killed = true
      if (this.init === null) this.child.kill('SIGKILL')
      this.killProcesses()
    }
    await this.exited
  }

  get ended(): boolean {
    return this.hasEnded
  }

  memoryKills(): number | null {
    return this.hasEnded ? null : (this.cgroup?.oomKills() ?? null)
  }

  /** Stops every process of the box; returns what lets them go on. @throws KernelError `unavailable`, after letting them go on. */
  async freeze(canFreezeGroup: boolean): Promise<() => void> {
    await this.started.catch(() => {})
    if (this.hasEnded || this.init === null) return () => {}
    if (canFreezeGroup && this.cgroup !== null) return this.freezeGroup(this.cgroup)
    const { stopped, complete } = await stopTree(this.init.pid)
    if (!complete) {
      letGoOn(stopped)
      throw cannotFreeze(this.spec.label)
    }
    return () => letGoOn(stopped)
  }

  private async freezeGroup(cgroup: BoxCgroup): Promise<() => void> {
    const thaw = (): void => {
      if (this.isFrozen && !this.hasEnded) cgroup.setFrozen(false)
      this.isFrozen = false
    }
    this.isFrozen = true
    try {
      for (let attempt = 0; attempt < 500; attempt += 1) {
        // Written anew each time: a v1 group with a process in fork needs another go.
        cgroup.setFrozen(true)
        if (cgroup.isFrozen()) return thaw
        await pause(attempt < 20 ? 1 : 10)
      }
    } catch (error) {
      if (this.hasEnded || cgroup.processes().length === 0) return thaw
      thaw()
      throw error
    }
    thaw()
    throw cannotFreeze(this.spec.label)
  }
}

function cannotFreeze(label: string): KernelError {
  return new KernelError(
    'unavailable',
    `not every process of "${label}" could be stopped; try again when it is quieter`,
  )
}

/** Why a box could not be spawned, in the kernel's words. */
export function launchError(error: NodeJS.ErrnoException): KernelError {
  if (error.code === 'E2BIG') {
    return new KernelError('invalid', 'the command is too long: pass large text on stdin or in a file', {
      cause: error,
    })
  }
  return new KernelError('unavailable', `the box could not be started: ${error.message}`, { cause: error })
}
