import type { Duplex } from 'node:stream'
import type { Clock } from '../../clock.ts'
import { KernelError } from '../../errors.ts'
import { boxUser } from '../profiles.ts'
import type { BoxSpec } from '../sandbox.ts'
import { type Container, type Engine, type Exec, isCode, isEngineLost } from './engine.ts'
import { ExecBox, type ExecPlace } from './exec-box.ts'
import { pauseContainer } from './owner.ts'
import { boxVariable, sweepCommand } from './sweep.ts'

/** It stays beside the command, so that what the command leaves behind can be told; its own words are nobody's output. */
const wrapper = 'exec 4>&2 2>/dev/null; "$@" 2>&4 4>&-; exit $?'
/** How long inner cleaning may take before the whole container is ended instead, ms. */
const sweepMs = 10_000

/**
 * What a task's container does when nothing is asked of it: a first process without children, which nothing inside can end, and
 * which takes leave of those that lost their parent (a shell does, whatever it waits for). Nothing is ever written to it.
 */
export const standingCommand = ['/bin/bash', '-c', 'while read -r _; do :; done; exec sleep infinity']

/**
 * The one container of a task while this kernel has it open: its state lasts, its processes are boxes. All of them share
 * one pid namespace and one user, so they are told apart by what the kernel put into their environment; what has been
 * made to belong to none is killed with the next that ends, and everything when all are.
 */
export class TaskContainer implements ExecPlace {
  readonly label: string
  readonly container: Container

  private readonly engine: Engine
  private readonly generation: string
  private readonly clock: Clock
  private readonly boxes = new Map<number, ExecBox>()
  /** Host pids of the container's own processes. */
  private own = new Set<number>()
  private running: Promise<void> | null = null
  /** One cleaning at a time. */
  private turn: Promise<unknown> = Promise.resolve()
  private thawed: Promise<void> = Promise.resolve()
  private count = 0

  constructor(engine: Engine, clock: Clock, generation: string, label: string, container: Container) {
    this.engine = engine
    this.clock = clock
    this.generation = generation
    this.label = label
    this.container = container
  }

  get live(): ExecBox[] {
    return [...this.boxes.values()]
  }

  /** Starts it where it does not run: it was ended by its own doing, or by `end`. */
  ready(): Promise<void> {
    this.running ??= this.startUp()
    this.running.catch(() => {
      this.running = null
    })
    return this.running
  }

  private async startUp(): Promise<void> {
    await this.engine.call('start the container of a task', (stop) => this.container.start(stop)).catch(unlessRuns)
    this.own = new Set((await this.processes()).map(({ pid }) => pid))
  }

  async start(spec: BoxSpec, environment: string[], cwd: string): Promise<ExecBox> {
    this.count += 1
    const number = this.count
    const options = {
      Cmd: ['/bin/sh', '-c', wrapper, 'sh', ...spec.argv],
      Env: [...environment, `${boxVariable}=${this.generation}.${number}`],
      WorkingDir: cwd,
    }
    const startedAt = this.clock.now()
    const { exec, connection } = await this.enter(options, true)
    const id = `${this.label}.${number}`
    const box = new ExecBox(this.engine, this, { id, number, spec, exec, connection, startedAt })
    this.boxes.set(number, box)
    void box.exited.then(() => this.boxes.delete(number))
    return box
  }

  private async enter(options: Command, isFirst: boolean): Promise<{ exec: Exec; connection: Duplex }> {
    await this.ready()
    const User = `${boxUser.uid}:${boxUser.gid}`
    const streams = { AttachStdin: true, AttachStdout: true, AttachStderr: true, Tty: false }
    try {
      const exec = await this.engine.call('make a command', (stop) =>
        this.container.exec({ ...options, ...streams, User, Privileged: false, ...stop }),
      )
      const connection = (await this.engine.call('start a command', (stop) =>
        exec.start({ hijack: true, stdin: true, Detach: false, Tty: false, ...stop }),
      )) as Duplex
      return { exec, connection }
    } catch (error) {
      // A command may end the whole container: then it is started once more.
      if (!isFirst || !isCode(error, 'conflict') || (await this.isUp())) throw error
      this.running = null
      return this.enter(options, false)
    }
  }

  private async isUp(): Promise<boolean> {
    const { State } = await this.engine.call('look at a container', (stop) => this.container.inspect(stop))
    return State.Running
  }

  /** See `ExecPlace`. Asks first whether anything is left at all: mostly nothing is, and the engine knows. */
  clear(box: ExecBox, killed: boolean): Promise<void> {
    const work = this.turn.then(async () => {
      // In a container that stands still nothing can be ended one by one.
      await this.thawed
      if (box.hasEnded) return
      try {
        if (killed || !(await this.isTidy(box))) await this.sweep(box)
      } catch (error) {
        if (isEngineLost(error)) box.lose()
        else await this.end()
      }
    })
    this.turn = work.catch(() => {})
    return work.catch(() => {})
  }

  /** True where every process belongs to the container itself or to a command that goes on. */
  private async isTidy(ended: ExecBox): Promise<boolean> {
    const processes = await this.processes()
    const others = processes.filter(({ pid }) => !this.own.has(pid))
    if (others.length === 0) return true
    const roots = new Set(this.own)
    for (const box of this.live) {
      if (box === ended) continue
      const { Pid } = await this.engine.call('look at a command', (stop) => box.exec.inspect(stop))
      roots.add(Pid)
    }
    const parents = new Map(processes.map(({ pid, parent }) => [pid, parent]))
    const rootOf = (pid: number): number => {
      const parent = parents.get(pid)
      return parent === undefined || !parents.has(parent) ? pid : rootOf(parent)
    }
    // What hangs on the container's first process has lost its parent.
    return others.every(({ pid }) => !this.own.has(rootOf(pid)) && roots.has(rootOf(pid)))
  }

  private async processes(): Promise<{ pid: number; parent: number }[]> {
    const { Processes } = await this.engine.call('list processes', (stop) =>
      this.container.top({ ps_args: '-o pid,ppid', ...stop }),
    )
    return (Processes as string[][]).map(([pid, parent]) => ({ pid: Number(pid), parent: Number(parent) }))
  }

  private async sweep(ended: ExecBox): Promise<void> {
    const keep = this.live.filter((box) => box !== ended).map((box) => box.number)
    const order = { variable: boxVariable, generation: this.generation, keep, until: this.count }
    const { exec, connection } = await this.enter(
      { Cmd: sweepCommand(order), Env: ['PATH=/usr/bin:/bin'], WorkingDir: '/' },
      true,
    )
    connection.resume()
    connection.on('error', () => {})
    connection.end()
    const closed = new Promise<void>((resolve) => connection.once('close', resolve))
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, sweepMs)
    })
    await Promise.race([closed, late])
    clearTimeout(timer)
    connection.destroy()
    const { Running, ExitCode } = await this.engine.call('look at a command', (stop) => exec.inspect(stop))
    if (Running || ExitCode !== 0)
      throw new KernelError('unavailable', `processes of "${this.label}" could not be ended one by one`)
  }

  /** Ends every process in it; the state stays, and the next command starts it again. @returns how many boxes were. */
  async end(): Promise<number> {
    const ended = this.live
    for (const box of ended) box.endedByKill()
    this.running = null
    try {
      await this.engine.call('kill the container of a task', (stop) => this.container.kill(stop)).catch(unlessStopped)
      await this.engine
        .call('wait for the end of a container', (stop) => this.container.wait(stop))
        .catch(unlessStopped)
    } catch (error) {
      for (const box of ended) box.lose()
      throw error
    }
    return ended.length
  }

  /** Stops every process in it for a moment. One that does not run has none. */
  async pause(): Promise<() => Promise<void>> {
    const thaw = await pauseContainer(this.engine, this.container)
    let release: () => void = () => {}
    this.thawed = new Promise((resolve) => {
      release = resolve
    })
    return async () => {
      await thaw().finally(release)
    }
  }

  async ranOutOfMemory(since: number): Promise<boolean> {
    try {
      // `State.OOMKilled` tells of the container's first process alone.
      const filters = JSON.stringify({ container: [this.container.id], event: ['oom'] })
      const range = { since: (since / 1000).toFixed(3), until: (this.clock.now() / 1000).toFixed(3) }
      return await this.engine.call('tell what happened', async (stop) => {
        const events = await this.engine.docker.getEvents({ ...range, filters, ...stop } as object)
        for await (const _event of events) return true
        return false
      })
    } catch {
      return false
    }
  }
}

interface Command {
  Cmd: string[]
  Env: string[]
  WorkingDir: string
}

function unlessRuns(error: unknown): void {
  // 304 is no error to the engine, but has no success code of the library.
  if (!/\b304\b/.test((error as Error).message)) throw error
}

function unlessStopped(error: unknown): void {
  if (!isCode(error, 'conflict') && !isCode(error, 'not-found')) throw error
}
