import type { Duplex, Readable, Writable } from 'node:stream'
import { pause } from '../processes.ts'
import type { Box, BoxExit, BoxSpec } from '../sandbox.ts'
import { type Engine, type Exec, isEngineLost } from './engine.ts'
import { type BoxStreams, splitStreams } from './streams.ts'

/** How long what a box wrote last may take to arrive once it has been killed, ms. */
const lastWordsMs = 2000
/** How often the engine is asked whether a command has ended whose streams have, ms. */
const lookMs = [5, 20, 50, 100, 250]

/** What the container does for the commands in it. */
export interface ExecPlace {
  /** Kills what is left of a command that has ended, or is to end. Never rejects for an engine that is gone. */
  clear(box: ExecBox, killed: boolean): Promise<void>
  /** Whether the memory limit has ended a process in the container since then, epoch ms; false where it cannot be told. */
  ranOutOfMemory(since: number): Promise<boolean>
}

/** A command in the standing container of a task: with its process tree, one box. */
export class ExecBox implements Box {
  readonly id: string
  readonly spec: BoxSpec
  /** In the environment of its processes, so that they can be told from those of others. */
  readonly number: number
  readonly exec: Exec
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  readonly exited: Promise<BoxExit>
  hasEnded = false

  private readonly engine: Engine
  private readonly place: ExecPlace
  private readonly streams: BoxStreams
  private readonly startedAt: number
  private killed: Promise<void> | null = null
  private timedOut = false
  private isLost = false
  private giveUp: () => void = () => {}

  constructor(
    engine: Engine,
    place: ExecPlace,
    of: { id: string; number: number; spec: BoxSpec; exec: Exec; connection: Duplex; startedAt: number },
  ) {
    this.engine = engine
    this.place = place
    this.id = of.id
    this.number = of.number
    this.spec = of.spec
    this.exec = of.exec
    this.startedAt = of.startedAt
    this.streams = splitStreams(of.connection)
    this.stdin = this.streams.stdin
    this.stdout = this.streams.stdout
    this.stderr = this.streams.stderr
    const lost = new Promise<null>((resolve) => {
      this.giveUp = () => {
        this.isLost = true
        resolve(null)
      }
    })
    this.exited = this.watch(Promise.race([this.streams.closed.then(() => this.exitCode()), lost]))
    const { timeoutMs } = of.spec
    if (timeoutMs === undefined) return
    const timer = setTimeout(() => {
      this.timedOut = true
      void this.kill()
    }, timeoutMs)
    void this.exited.finally(() => clearTimeout(timer))
  }

  /** Its streams may end before it does. */
  private async exitCode(): Promise<number | null> {
    for (let look = 0; !this.isLost; look += 1) {
      try {
        const state = await this.engine.call('look at a command', (stop) => this.exec.inspect(stop))
        if (!state.Running) return state.ExitCode
      } catch (error) {
        if (isEngineLost(error)) this.isLost = true
        return null
      }
      await pause(lookMs[Math.min(look, lookMs.length - 1)] ?? 250)
    }
    return null
  }

  private async watch(status: Promise<number | null>): Promise<BoxExit> {
    const code = await status
    await (this.killed ?? this.place.clear(this, false))
    const outOfMemory = code !== 0 && !this.isLost && (await this.place.ranOutOfMemory(this.startedAt))
    this.hasEnded = true
    this.stdin.destroy()
    if (this.killed !== null || this.isLost) this.letGo()
    if (this.killed !== null) return { exitCode: null, signal: 'SIGKILL', timedOut: this.timedOut, outOfMemory }
    return { exitCode: code, signal: null, timedOut: false, outOfMemory }
  }

  private letGo(): void {
    const timer = setTimeout(() => this.streams.destroy(), lastWordsMs)
    void this.streams.closed.then(() => clearTimeout(timer))
  }

  /** Where its container is stopped for a moment, it ends once that goes on. */
  async kill(): Promise<void> {
    if (!this.hasEnded) {
      this.streams.hurry()
      this.killed ??= this.place.clear(this, true)
      await this.killed
    }
    await this.exited
  }

  /** The container is gone, or nobody answers for it. */
  lose(): void {
    this.giveUp()
  }

  /** Ended with its container, by the kernel's will. */
  endedByKill(): void {
    this.killed ??= Promise.resolve()
  }
}
