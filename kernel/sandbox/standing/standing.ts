import { KernelError } from '../../errors.ts'
import type {
  BoxSpec,
  CommandSinks,
  CommandSpec,
  RunningCommand,
  RunOptions,
  RunOutput,
  StandingSandbox,
} from '../sandbox.ts'
import { CommandServer, type StandingConfig } from './connection.ts'
import { KeptStart } from './kept.ts'

/** A command that writes more than this to one stream is out of control and is killed. */
const runawayBytes = 64 * 1024 * 1024

/** One standing sandbox for one running task: its box is started by the first command, and anew where it has ended. */
export function standingSandboxes(config: StandingConfig): (place: Omit<BoxSpec, 'argv'>) => StandingSandbox {
  return (place) => new Standing(config, place)
}

class Standing implements StandingSandbox {
  readonly #config: StandingConfig
  readonly #place: Omit<BoxSpec, 'argv'>
  #server: Promise<CommandServer> | null = null
  #isClosed = false

  constructor(config: StandingConfig, place: Omit<BoxSpec, 'argv'>) {
    this.#config = config
    this.#place = place
  }

  async start(spec: CommandSpec, sinks: CommandSinks, stdin: string | Buffer = ''): Promise<RunningCommand> {
    if (this.#isClosed) throw new KernelError('cancelled', 'the sandbox of this task has been closed')
    return (await this.#running()).start(spec, sinks, Buffer.from(stdin as string))
  }

  async run(spec: CommandSpec, options: RunOptions = {}): Promise<RunOutput> {
    const { signal, outputBytes = 1024 * 1024 } = options
    const cancelled = (): KernelError => new KernelError('cancelled', 'the command was cancelled')
    if (signal?.aborted) throw cancelled()
    const from = this.#config.clock.monotonic()
    const kept = [new KeptStart(outputBytes), new KeptStart(outputBytes)] as const
    const keep = (output: KeptStart) => (chunk: Buffer) => {
      output.add(chunk)
      return undefined
    }
    const sinks = { stdout: keep(kept[0]), stderr: keep(kept[1]), sentBytes: outputBytes, runawayBytes }
    const running = await this.start(spec, sinks, options.stdin)
    const abort = (): void => running.kill()
    signal?.addEventListener('abort', abort, { once: true })
    if (signal?.aborted) abort()
    try {
      const end = await running.ended
      if (signal?.aborted) throw cancelled()
      return {
        ...end,
        stdout: kept[0].take(),
        stderr: kept[1].take(),
        durationMs: this.#config.clock.monotonic() - from,
      }
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.rest()
  }

  async rest(): Promise<void> {
    const server = this.#server
    this.#server = null
    await (await server?.catch(() => null))?.end('the sandbox was put to rest')
  }

  #running(): Promise<CommandServer> {
    if (this.#server !== null) return this.#server
    const starting = CommandServer.start(this.#config, this.#place)
    this.#server = starting
    const gone = (): void => {
      if (this.#server === starting) this.#server = null
    }
    starting.then((server) => void server.ended.then(gone), gone)
    return starting
  }
}
