import type { Duplex, Readable, Writable } from 'node:stream'
import { pause } from '../processes.ts'
import type { Box, BoxExit, BoxSpec } from '../sandbox.ts'
import { type Container, type Engine, isEngineLost } from './engine.ts'
import { type BoxStreams, splitStreams } from './streams.ts'

/** How long what a box wrote last may take to arrive once it has been killed, ms. */
const lastWordsMs = 2000

/** A running container of its own: one box, removed at its end. */
export class ContainerBox implements Box {
  readonly id: string
  readonly spec: BoxSpec
  readonly container: Container
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  readonly exited: Promise<BoxExit>
  /** The engine went away before the box was seen to end: its processes may still run. */
  isLost = false
  hasEnded = false

  private readonly engine: Engine
  private readonly streams: BoxStreams
  private killed = false
  private timedOut = false
  private giveUp: () => void = () => {}

  private constructor(engine: Engine, id: string, spec: BoxSpec, container: Container, streams: BoxStreams) {
    this.engine = engine
    this.id = id
    this.spec = spec
    this.container = container
    this.streams = streams
    this.stdin = streams.stdin
    this.stdout = streams.stdout
    this.stderr = streams.stderr
    const lost = new Promise<null>((resolve) => {
      this.giveUp = () => resolve(null)
    })
    // Asked for before the start, so that no exit is missed. It ends with the box, or with the engine.
    const ended = container.wait({ condition: 'next-exit' }).then(
      (answer: { StatusCode: number }) => answer.StatusCode,
      () => null,
    )
    // An engine that is killed says nothing of it there: the answer just never ends. The streams do.
    const seen = streams.closed.then(() => this.exitCode())
    this.exited = this.watch(Promise.race([ended, seen, lost]))
  }

  /** Attaches to a container that was made and starts it; removes it where it does not start. */
  static async start(engine: Engine, id: string, spec: BoxSpec, container: Container): Promise<ContainerBox> {
    try {
      const connection = await engine.call('attach to a box', (stop) =>
        container.attach({ stream: true, hijack: true, stdin: true, stdout: true, stderr: true, ...stop }),
      )
      const box = new ContainerBox(engine, id, spec, container, splitStreams(connection as Duplex))
      await engine.call('start a box', (stop) => container.start(stop))
      box.watchTime()
      return box
    } catch (error) {
      await removeContainer(engine, container).catch(() => {})
      throw error
    }
  }

  private watchTime(): void {
    const { timeoutMs } = this.spec
    if (timeoutMs === undefined) return
    const timer = setTimeout(() => {
      this.timedOut = true
      void this.kill()
    }, timeoutMs)
    void this.exited.finally(() => clearTimeout(timer))
  }

  private async watch(status: Promise<number | null>): Promise<BoxExit> {
    const code = await status
    const state = code === null ? null : await this.look()
    await removeContainer(this.engine, this.container).catch(() => {
      this.isLost = true
    })
    this.hasEnded = true
    this.stdin.destroy()
    if (this.killed || this.isLost) this.letGo()
    const outOfMemory = state?.OOMKilled === true
    if (this.killed) return { exitCode: null, signal: 'SIGKILL', timedOut: this.timedOut, outOfMemory }
    return { exitCode: code, signal: null, timedOut: false, outOfMemory: outOfMemory && code !== 0 }
  }

  private async exitCode(): Promise<number | null> {
    for (let look = 0; !this.hasEnded; look += 1) {
      try {
        const { State } = await this.engine.call('look at a box', (stop) => this.container.inspect(stop))
        if (!State.Running) return State.ExitCode
      } catch {
        return null
      }
      await pause(Math.min(1000, 20 * 2 ** look))
    }
    return null
  }

  private async look(): Promise<{ OOMKilled: boolean } | null> {
    const seen = await this.engine.call('look at a box', (stop) => this.container.inspect(stop)).catch(() => null)
    return seen?.State ?? null
  }

  /** Whoever still reads gets the last words, if they come in time. */
  private letGo(): void {
    const timer = setTimeout(() => this.streams.destroy(), lastWordsMs)
    void this.streams.closed.then(() => clearTimeout(timer))
  }

  async kill(): Promise<void> {
    if (!this.hasEnded) {
      this.killed = true
      this.streams.hurry()
      await this.engine
        .call('kill a box', (stop) => this.container.kill(stop))
        .catch((error: unknown) => {
          // It is not running, or gone, which `wait` tells; or there is nobody to ask.
          if (isEngineLost(error)) this.giveUp()
        })
    }
    await this.exited
  }
}

/** Kills what runs in it. Gone already is as good. */
export async function removeContainer(engine: Engine, container: Container): Promise<void> {
  try {
    await engine.call('remove a box', (stop) => container.remove({ force: true, v: true, ...stop }))
  } catch (error) {
    // 404: gone; 409: being removed by another call.
    const code = (error as { code?: string }).code
    if (code !== 'not-found' && code !== 'conflict') throw error
  }
}
