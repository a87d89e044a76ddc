import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { Box, BoxExit, SandboxProvider } from '../sandbox/sandbox.ts'
import type { InitializeParams, InitializeResult } from '../wire/executor.ts'
import { Channel, type ChannelOptions } from './channel.ts'
import { Tail } from './text.ts'
import { channelLimits, type Timings, wireLimits, wireVersion } from './timings.ts'

/** The same in production and in a check: Node's permission model on top of the box, which is what contains it. */
const argv = ['/exodesk/bin/node', '--permission', '--allow-fs-read=/revision', '/revision/main.ts']
/** What a process wrote last may arrive after its exit. */
const lastWordsMs = 500

export interface ProcessOptions {
  provider: SandboxProvider
  profile: 'executor' | 'boot'
  label: string
  /** The materialised revision, on the host. */
  folder: string
  clock: Clock
  channel: Omit<ChannelOptions, 'input' | 'output' | 'clock' | 'limits'>
}

/** A started executor: its box, its channel, and what it said on stderr. */
export class ExecutorProcess {
  readonly box: Box
  readonly channel: Channel
  /** Resolves once it has ended and all that it wrote has been read. */
  readonly exited: Promise<BoxExit>
  readonly #stderr = new Tail(channelLimits.keptText)

  private constructor(box: Box, options: ProcessOptions) {
    this.box = box
    this.channel = new Channel({
      ...options.channel,
      input: box.stdout,
      output: box.stdin,
      clock: options.clock,
      limits: wireLimits,
    })
    box.stderr.on('data', (chunk: Buffer) => this.#stderr.add(chunk.toString('utf8')))
    box.stderr.on('error', () => undefined)
    const drained = Promise.all([closed(box.stdout), closed(box.stderr)])
    this.exited = box.exited.then(async (exit) => {
      await Promise.race([drained, delay(lastWordsMs, undefined, { ref: false })])
      return exit
    })
  }

  /** @throws KernelError `unavailable` where no box can be had. */
  static async start(options: ProcessOptions): Promise<ExecutorProcess> {
    const { provider, profile, label, folder } = options
    const box = await provider.start({ profile, label, mounts: { revision: folder }, argv })
    return new ExecutorProcess(box, options)
  }

  /** For the developer: stderr, then what was wrong on stdout. */
  get lastWords(): string {
    return [this.#stderr.toString(), this.channel.noise.toString()].filter((text) => text !== '').join('\n')
  }

  /**
   * @throws KernelError `unavailable`: it ended, answered with an error, speaks no common version, or (details.timedOut)
   * did not answer in time; `invalid` where its answer does not fit.
   */
  async handshake(
    params: Omit<InitializeParams, 'wire' | 'limits'>,
    timings: Pick<Timings, 'handshakeMs'>,
  ): Promise<InitializeResult> {
    const ended = this.exited.then(({ exitCode, signal }) => {
      throw new KernelError(
        'unavailable',
        `the executor ended (${signal ?? `exit code ${exitCode}`}) before it answered`,
      )
    })
    ended.catch(() => undefined)
    const answer = this.channel.request(
      'initialize',
      { wire: { min: wireVersion, max: wireVersion }, limits: wireLimits, ...params },
      { deadlineMs: timings.handshakeMs },
    )
    answer.catch(() => undefined)
    const result = await Promise.race([answer, ended])
    if (result.wire !== wireVersion) {
      throw new KernelError('unavailable', `the executor speaks wire version ${result.wire}, the kernel ${wireVersion}`)
    }
    return result
  }

  /** Kills the whole box; nothing is read from it after this. */
  async kill(): Promise<void> {
    this.channel.close(new KernelError('unavailable', 'the executor has ended'))
    await this.box.kill()
  }
}

function closed(stream: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve) => {
    stream.once('close', () => resolve())
    stream.once('end', () => resolve())
  })
}
