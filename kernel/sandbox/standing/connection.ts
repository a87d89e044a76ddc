import { z } from 'zod'
import type { Clock } from '../../clock.ts'
import { KernelError } from '../../errors.ts'
import type {
  Box,
  BoxSpec,
  CommandEnd,
  CommandSinks,
  CommandSpec,
  RunningCommand,
  SandboxProvider,
} from '../sandbox.ts'
import { asked, encode, type Frame, FrameReader, said } from './frames.ts'

/** Output that a command may be ahead of what the kernel has taken, a stream. */
const windowBytes = 256 * 1024

/** Deadlines, ms. Tests shorten them. */
export const standingTimings = {
  /** From the start of the box until the server says that it is ready. */
  readyMs: 30_000,
  /** While a command is open, the server is asked for a sign of life. */
  pingEveryMs: 5_000,
  /** Ticks without any frame until the server counts as hung; more than an intake, which stops it, may take. */
  pingMisses: 9,
  /** Beyond a command's own time limit, which the server holds. */
  graceMs: 60_000,
  /** From a kill to the end of the command. */
  killMs: 15_000,
}

export interface StandingConfig {
  provider: SandboxProvider
  clock: Clock
  /** Text of server.ts. */
  source: string
  timings?: Partial<typeof standingTimings>
}

const endedSchema = z.strictObject({
  exitCode: z.number().int().min(0).max(255).nullable(),
  signal: z
    .string()
    .regex(/^SIG[A-Z0-9]{1,10}$/)
    .nullable(),
  timedOut: z.boolean(),
  memoryKills: z.number().int().nonnegative().nullable(),
  stdoutBytes: z.number().int().nonnegative(),
  stderrBytes: z.number().int().nonnegative(),
})
const failedSchema = z.strictObject({ code: z.string().max(40), message: z.string().max(4000) })

interface Open {
  spec: CommandSpec
  sinks: CommandSinks
  /** What the server may still send of each stream. */
  credit: [number, number]
  /** Bytes of the two streams. */
  bytes: [number, number]
  memoryKills: number | null
  wasKilled: boolean
  timer: NodeJS.Timeout | undefined
  begin(): void
  resolve(end: CommandEnd): void
  reject(error: KernelError): void
}

/**
 * A command server in its box. What it says is the agent's word, so it is held to its form and to what it was granted;
 * where it breaks that, falls silent or ends, its box is killed and every open command ends as `unavailable`.
 */
export class CommandServer {
  readonly ended: Promise<void>
  readonly #box: Box
  readonly #timings: typeof standingTimings
  readonly #open = new Map<number, Open>()
  readonly #reader = new FrameReader()
  #last = 0
  #words = ''
  #fault: string | null = null
  #ready: () => void = () => {}
  #hasEnded = false
  #quietTicks = 0
  #pings: NodeJS.Timeout | undefined

  private constructor(box: Box, timings: typeof standingTimings) {
    this.#box = box
    this.#timings = timings
    box.stderr.on('data', (chunk: Buffer) => {
      this.#words = (this.#words + chunk.toString('latin1')).slice(-2000)
    })
    box.stderr.on('error', () => {})
    box.stdout.on('error', () => {})
    box.stdout.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.ended = box.exited.then((exit) => {
      this.#hasEnded = true
      clearInterval(this.#pings)
      const how = exit.outOfMemory
        ? 'it reached the memory limit'
        : (this.#fault ?? `${exit.signal ?? `exit code ${exit.exitCode}`}${this.#said()}`)
      const text = `the sandbox's command server ended (${how}): what this command has done is not known. The next command starts it anew`
      for (const open of this.#open.values()) {
        clearTimeout(open.timer)
        open.reject(new KernelError('unavailable', text))
      }
      this.#open.clear()
    })
  }

  static async start(config: StandingConfig, place: Omit<BoxSpec, 'argv'>): Promise<CommandServer> {
    const box = await config.provider.start({
      ...place,
      argv: ['/exodesk/bin/node', '--no-warnings', '--input-type=module-typescript', '-e', config.source],
    })
    const server = new CommandServer(box, { ...standingTimings, ...config.timings })
    let timer: NodeJS.Timeout | undefined
    const isReady = await Promise.race([
      new Promise<boolean>((resolve) => {
        server.#ready = () => resolve(true)
      }),
      server.ended.then(() => false),
      new Promise<boolean>((resolve) => {
        timer = setTimeout(() => resolve(false), server.#timings.readyMs)
      }),
    ])
    clearTimeout(timer)
    if (isReady) return server
    await box.kill()
    const exit = await box.exited
    const why = server.#fault ?? `${exit.outOfMemory ? 'out of memory' : `exit code ${exit.exitCode ?? exit.signal}`}`
    throw new KernelError('unavailable', `the sandbox's command server did not start (${why})${server.#said()}`)
  }

  /** @throws KernelError `unavailable`: it has ended. */
  start(spec: CommandSpec, sinks: CommandSinks, stdin: Buffer): RunningCommand {
    // Nobody would end a command that was not there when it did.
    if (this.#hasEnded) throw new KernelError('unavailable', `the sandbox's command server has ended: try again`)
    this.#last += 1
    const id = this.#last
    let begin: () => void = () => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const ended = new Promise<CommandEnd>((resolve, reject) => {
      const limit = spec.timeoutMs
      const late = (): void => void this.end('a command did not end at its time limit')
      const timer =
        limit === undefined ? undefined : setTimeout(late, Math.min(2 ** 31 - 1, limit + this.#timings.graceMs))
      const credit: [number, number] = [windowBytes, windowBytes]
      const memoryKills = this.#box.memoryKills?.() ?? null
      const open = { spec, sinks, credit, memoryKills, timer, begin, resolve, reject }
      this.#open.set(id, { ...open, bytes: [0, 0], wasKilled: false })
    })
    ended.catch(() => {})
    const { command, argv, cwd, env = {}, timeoutMs } = spec
    const { sentBytes = null, runawayBytes = null } = sinks
    const what = { command, argv, cwd, env, timeoutMs, credit: windowBytes, sentBytes, runawayBytes }
    const wanted = Buffer.from(JSON.stringify(what))
    const length = Buffer.alloc(4)
    length.writeUInt32BE(wanted.length)
    this.#tell(asked.run, id, Buffer.concat([length, wanted, stdin]))
    this.#watch()
    const started = Promise.race([begun, ended.then(() => {})])
    started.catch(() => {})
    return { started, ended, kill: () => this.#kill(id) }
  }

  async end(fault: string): Promise<void> {
    this.#fault ??= fault
    await this.#box.kill()
    await this.ended
  }

  #kill(id: number): void {
    const open = this.#open.get(id)
    if (open === undefined || open.wasKilled) return
    open.wasKilled = true
    clearTimeout(open.timer)
    open.timer = setTimeout(() => void this.end('a command could not be killed'), this.#timings.killMs)
    this.#tell(asked.kill, id, Buffer.alloc(0))
  }

  #tell(kind: number, id: number, payload: Buffer): void {
    this.#box.stdin.write(encode(kind, id, payload))
  }

  /** Counts ticks and not time, so that a stall of the kernel's own blames nobody. */
  #watch(): void {
    if (this.#pings !== undefined) return
    this.#quietTicks = 0
    this.#pings = setInterval(() => {
      if (this.#open.size === 0) {
        clearInterval(this.#pings)
        this.#pings = undefined
        return
      }
      this.#quietTicks += 1
      if (this.#quietTicks > this.#timings.pingMisses) void this.end('it gave no sign of life')
      else this.#tell(asked.ping, 0, Buffer.alloc(0))
    }, this.#timings.pingEveryMs)
  }

  #receive(chunk: Buffer): void {
    if (this.#fault !== null) return
    this.#quietTicks = 0
    try {
      for (const frame of this.#reader.push(chunk)) this.#take(frame)
    } catch (error) {
      void this.end(`it broke the form: ${(error as Error).message.slice(0, 200)}`)
    }
  }

  #take({ kind, command: id, payload }: Frame): void {
    if (kind === said.pong) return
    if (kind === said.ready) {
      this.#ready()
      return
    }
    const open = this.#open.get(id)
    if (open === undefined) throw new Error(`a frame of command ${id}, which is not open`)
    const json = (): unknown => JSON.parse(payload.toString('utf8'))
    switch (kind) {
      case said.started:
        open.begin()
        break
      case said.stdout:
        this.#output(id, open, 0, payload)
        break
      case said.stderr:
        this.#output(id, open, 1, payload)
        break
      case said.ended:
        this.#close(id, open, endedSchema.parse(json()))
        break
      case said.failed:
        this.#fail(id, open, failedSchema.parse(json()))
        break
      default:
        throw new Error(`a frame of kind ${kind}`)
    }
  }

  #output(id: number, open: Open, stream: 0 | 1, payload: Buffer): void {
    open.credit[stream] -= payload.length
    open.bytes[stream] += payload.length
    const { sentBytes = Number.POSITIVE_INFINITY } = open.sinks
    if (open.credit[stream] < 0 || open.bytes[stream] > sentBytes) throw new Error('more output than was granted')
    const taken = (stream === 0 ? open.sinks.stdout : open.sinks.stderr)(payload)
    const grant = (): void => {
      if (!this.#open.has(id)) return
      open.credit[stream] += payload.length
      const credit = Buffer.alloc(5)
      credit.writeUInt8(stream, 0)
      credit.writeUInt32BE(payload.length, 1)
      this.#tell(asked.credit, id, credit)
    }
    if (taken === undefined) grant()
    else taken.then(grant, (error: Error) => void this.end(`its output could not be kept: ${error.message}`))
  }

  #close(id: number, open: Open, end: z.infer<typeof endedSchema>): void {
    this.#open.delete(id)
    clearTimeout(open.timer)
    const { exitCode, signal, timedOut, memoryKills, stdoutBytes, stderrBytes } = end
    const known = this.#box.memoryKills?.() ?? null
    const kills = known === null || open.memoryKills === null ? (memoryKills ?? 0) : known - open.memoryKills
    // A shell that is told of its child's SIGKILL says 137.
    const wasCut = signal === 'SIGKILL' || exitCode === 137
    const outOfMemory = kills > 0 && wasCut && !timedOut && !open.wasKilled
    open.resolve({
      exitCode,
      signal: signal as NodeJS.Signals | null,
      timedOut,
      outOfMemory,
      wasKilled: open.wasKilled,
      stdoutBytes,
      stderrBytes,
    })
  }

  #fail(id: number, open: Open, { code, message }: z.infer<typeof failedSchema>): void {
    this.#open.delete(id)
    clearTimeout(open.timer)
    open.reject(startError(open.spec, code, message))
  }

  #said(): string {
    return this.#words.trim() === '' ? '' : `: ${this.#words.trim().slice(-500)}`
  }
}

function startError({ cwd }: CommandSpec, code: string, message: string): KernelError {
  if (message === 'cwd') {
    const what =
      { ENOTDIR: 'is not a folder', ENOENT: 'does not exist in the sandbox' }[code] ?? `cannot be used (${code})`
    return new KernelError('invalid', `cwd: ${JSON.stringify(cwd)} ${what}`)
  }
  if (code === 'E2BIG')
    return new KernelError('invalid', 'the command is too long: pass large text on stdin or in a file')
  if (code === 'EAGAIN' || code === 'ENOMEM') {
    const what = code === 'EAGAIN' ? 'processes' : 'memory'
    return new KernelError(
      'unavailable',
      `the command could not be started: the sandbox has no ${what} left. Wait for commands and jobs to end, or kill them`,
    )
  }
  return new KernelError('unavailable', `the command could not be started: ${message}`)
}
