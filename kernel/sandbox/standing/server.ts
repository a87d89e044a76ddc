// Long because: it runs alone in a box, as one text handed to Node, so it can import nothing of ours.
/**
 * The command server: runs the commands of one task sandbox inside it, so that a command costs a fork and not a box.
 * It lives beside the agent, who can stop it, read it and speak in its place: the kernel believes nothing that it says
 * beyond the form (see `server-frames.ts`, which this repeats).
 *
 * A frame, both ways: u32 length of what follows · u8 kind · u32 command · payload. It ends with its stdin.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  closeSync,
  existsSync,
  constants as fs,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const asked = { run: 1, credit: 2, kill: 3, ping: 4 } as const
const said = { ready: 1, stdout: 2, stderr: 3, ended: 4, failed: 5, pong: 6, started: 7 } as const
const chunkBytes = 64 * 1024
/** Killed before the server when memory is short. */
const commandOomScore = '500'
/** In the environment of every command: whose a process is that has left its tree. */
const mark = 'EXODESK_COMMAND'

interface Wanted {
  /** For bash where there is one, else sh; or an argv. */
  command?: string
  argv?: string[]
  cwd: string
  env: Record<string, string>
  timeoutMs?: number
  /** Bytes of each stream that are sent without a further grant. */
  credit: number
  /** Bytes of each stream that are wanted at all: the rest is counted, up to `runawayBytes`. */
  sentBytes: number | null
  runawayBytes: number | null
}

interface Command {
  id: number
  child: ChildProcess
  streams: Stream[]
  timedOut: boolean
  isOver: boolean
  memoryKills: number | null
}

// As a socket and not as process.stdout, whose writes would block this loop.
const out = new Socket({ fd: 1, readable: false, writable: true })
out.on('error', () => process.exit(0))

const commands = new Map<number, Command>()

function say(kind: number, id: number, payload: Buffer): void {
  const header = Buffer.alloc(9)
  header.writeUInt32BE(5 + payload.length, 0)
  header.writeUInt8(kind, 4)
  header.writeUInt32BE(id, 5)
  out.write(Buffer.concat([header, payload]))
}

const sayObject = (kind: number, id: number, value: object): void => say(kind, id, Buffer.from(JSON.stringify(value)))

// ---- streams: pipes with a name, since Node's own are sockets, which a shell cannot open as /dev/stdout ----------------

const pipes: string[] = []
let pipesFolder: string | null = null
let pipesMade = 0
let isMaking = false

function makePipes(): Promise<void> {
  if (isMaking) return Promise.resolve()
  isMaking = true
  return new Promise((resolve) => {
    const done = (): void => {
      isMaking = false
      resolve()
    }
    try {
      pipesFolder ??= mkdtempSync(existsSync('/dev/shm') ? '/dev/shm/.exodesk-' : '/tmp/.exodesk-')
      const names = Array.from({ length: 96 }, () => `${pipesFolder}/${++pipesMade}`)
      const child = spawn('/usr/bin/mkfifo', ['-m', '600', ...names], { stdio: 'ignore', env: {} })
      own.add(child.pid ?? 0)
      child.once('error', done)
      child.once('exit', (code) => {
        own.delete(child.pid ?? 0)
        if (code === 0) pipes.push(...names)
        done()
      })
    } catch {
      done()
    }
  })
}

/** Both ends of a fresh pipe; null where none can be made, and Node's sockets must do. */
function openPipe(): { read: number; write: number } | null {
  const name = pipes.pop()
  if (pipes.length < 24) void makePipes()
  if (name === undefined) return null
  let both: number | undefined
  try {
    // Whoever opens one end of a pipe waits for the other; who opens both does not.
    both = openSync(name, fs.O_RDWR | fs.O_NONBLOCK)
    const read = openSync(name, fs.O_RDONLY)
    return { read, write: openSync(name, fs.O_WRONLY) }
  } catch {
    return null
  } finally {
    if (both !== undefined) closeSync(both)
    try {
      unlinkSync(name)
    } catch {
      // The agent may have removed it.
    }
  }
}

/** The stdin of a command as a file without a name: a shell that opens /dev/stdin finds it from its beginning. */
function openInput(bytes: Buffer): number {
  if (bytes.length === 0) return openSync('/dev/null', fs.O_RDONLY)
  pipesMade += 1
  const name = `${pipesFolder ?? '/tmp'}/.stdin-${process.pid}-${pipesMade}`
  writeFileSync(name, bytes, { mode: 0o600, flag: 'wx' })
  try {
    return openSync(name, fs.O_RDONLY)
  } finally {
    unlinkSync(name)
  }
}

/** One output of a command, sent no further than the kernel has granted. */
class Stream {
  /** Resolves once nobody writes to it any more and all of it was sent. */
  readonly closed: Promise<void>
  bytes = 0
  readonly #source: Socket
  readonly #say: (part: Buffer) => void
  #credit: number
  #wanted: number
  #waiting: Buffer[] = []
  #onSent: () => void = () => {}

  constructor(source: Socket, { credit, sentBytes }: Wanted, send: (part: Buffer) => void, onBytes: () => void) {
    this.#source = source
    this.#say = send
    this.#credit = credit
    this.#wanted = sentBytes ?? Number.POSITIVE_INFINITY
    this.closed = new Promise((resolve) => {
      source.on('data', (chunk: Buffer) => {
        this.bytes += chunk.length
        onBytes()
        this.#send(chunk)
      })
      source.on('error', () => {})
      source.once('close', () => {
        this.#onSent = resolve
        if (this.isDrained) resolve()
      })
    })
  }

  grant(bytes: number): void {
    this.#credit += bytes
    for (const chunk of this.#waiting.splice(0)) this.#send(chunk)
    if (!this.isDrained) return
    this.#source.resume()
    this.#onSent()
  }

  get isDrained(): boolean {
    return this.#waiting.length === 0
  }

  destroy(): void {
    this.#source.destroy()
  }

  #send(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0 && this.#wanted > 0 && this.#credit > 0) {
      const part = rest.subarray(0, Math.min(chunkBytes, this.#credit, this.#wanted))
      this.#credit -= part.length
      this.#wanted -= part.length
      rest = rest.subarray(part.length)
      this.#say(part)
    }
    if (rest.length === 0 || this.#wanted === 0) return
    this.#waiting.push(rest)
    this.#source.pause()
  }
}

// ---- processes ----------------------------------------------------------------------------------------------------

interface Stat {
  pid: number
  parent: number
  state: string
}

/** Our children that are no commands. */
const own = new Set<number>()

function stats(): Map<number, Stat> {
  const found = new Map<number, Stat>()
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    try {
      const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
      found.set(pid, { pid, state: fields[0] ?? '', parent: Number(fields[1]) })
    } catch {
      // It has ended meanwhile.
    }
  }
  return found
}

function markOf(pid: number): number | null {
  try {
    const entry = readFileSync(`/proc/${pid}/environ`, 'latin1')
      .split('\0')
      .find((text) => text.startsWith(`${mark}=`))
    return entry === undefined ? null : Number(entry.slice(mark.length + 1))
  } catch {
    return null
  }
}

/**
 * Processes that no running command has: what is left of those that are over. A process that left its command's tree (its
 * parent is then the first process) is its command's as long as it bears the mark.
 */
function strays(): Stat[] {
  const all = stats()
  const roots = new Set([...commands.values()].filter(({ isOver }) => !isOver).map(({ child }) => child.pid))
  const ours = new Set<number>()
  for (let pid: number | undefined = process.pid; pid !== undefined && pid !== 0; pid = all.get(pid)?.parent)
    ours.add(pid)
  return [...all.values()].filter((stat) => {
    if (ours.has(stat.pid) || stat.state === 'Z' || stat.state === 'X') return false
    for (let at: Stat | undefined = stat; at !== undefined; at = all.get(at.parent)) {
      if (roots.has(at.pid) || own.has(at.pid)) return false
      if (at.parent === process.pid || at.parent === 1) break
      // Put into this namespace from outside: not ours to end.
      if (at.parent === 0) return false
    }
    const command = commands.get(markOf(stat.pid) ?? -1)
    return command === undefined || command.isOver
  })
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended meanwhile.
  }
}

let sweeping: Promise<void> = Promise.resolve()

/** Ends every stray. Stopped first: one that forks without end is otherwise never caught. */
function sweep(): Promise<void> {
  sweeping = sweeping.then(async () => {
    for (let attempt = 0; attempt < 400; attempt += 1) {
      const found = strays()
      if (found.length === 0) return
      const running = found.filter(({ state }) => state !== 'T' && state !== 't')
      // Every other time killed outright, lest one that somebody lets go on again holds us up.
      if (running.length > 0 && attempt % 8 !== 7) for (const { pid } of running) signal(pid, 'SIGSTOP')
      else for (const { pid } of found) signal(pid, 'SIGKILL')
      await pause(attempt < 50 ? 1 : 10)
    }
    process.stderr.write('processes of an ended command could not be ended\n')
    process.exit(70)
  })
  return sweeping
}

/** How often the memory limit has ended a process here, where the control group can be seen. */
function memoryKills(): number | null {
  for (const file of ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control']) {
    try {
      const count = /^oom_kill (\d+)$/m.exec(readFileSync(file, 'latin1'))?.[1]
      if (count !== undefined) return Number(count)
    } catch {
      // Not shown in this box.
    }
  }
  return null
}

// ---- commands -------------------------------------------------------------------------------------------------------

function folderProblem(path: string): string | null {
  try {
    return statSync(path).isDirectory() ? null : 'ENOTDIR'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'ENOENT'
  }
}

function run(id: number, wanted: Wanted, stdin: Buffer): void {
  const fail = (code: string, message: string): void => sayObject(said.failed, id, { code, message })
  const problem = folderProblem(wanted.cwd)
  if (problem !== null) {
    fail(problem, 'cwd')
    return
  }
  const shell = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh'
  const [file, ...argv] = wanted.argv ?? [shell, '-c', wanted.command ?? '']
  const memory = memoryKills()
  const outputs = [openPipe(), openPipe()]
  const handed: number[] = []
  let child: ChildProcess | null = null
  try {
    handed.push(openInput(stdin))
    const [input] = handed
    const [stdout, stderr] = outputs.map((pipe) => pipe?.write ?? ('pipe' as const))
    const env = { ...process.env, ...wanted.env, [mark]: String(id) }
    child = spawn(file ?? '', argv, { cwd: wanted.cwd, env, stdio: [input, stdout, stderr], detached: true })
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (!commands.has(id)) fail(error.code ?? '', error.message)
    })
  } catch (error) {
    fail((error as NodeJS.ErrnoException).code ?? '', (error as Error).message)
  } finally {
    for (const pipe of outputs) if (pipe !== null) handed.push(pipe.write)
    // The command's own ends are its alone from here.
    for (const fd of handed) closeSync(fd)
  }
  if (child?.pid === undefined) {
    for (const pipe of outputs) if (pipe !== null) closeSync(pipe.read)
    return
  }
  try {
    writeFileSync(`/proc/${child.pid}/oom_score_adj`, commandOomScore)
  } catch {
    // It has ended already, or this machine has no such file.
  }
  const { runawayBytes } = wanted
  const streams = [child.stdout, child.stderr].map((node, index) => {
    const pipe = outputs[index]
    const source = pipe ? new Socket({ fd: pipe.read, readable: true, writable: false }) : (node as Socket)
    const kind = index === 0 ? said.stdout : said.stderr
    const stream: Stream = new Stream(
      source,
      wanted,
      (part) => say(kind, id, part),
      () => {
        if (runawayBytes !== null && stream.bytes > runawayBytes && !command.isOver) void end(command)
      },
    )
    return stream
  })
  const command: Command = { id, child, streams, timedOut: false, isOver: false, memoryKills: memory }
  commands.set(id, command)
  say(said.started, id, Buffer.alloc(0))
  const limit = wanted.timeoutMs
  const timer =
    limit === undefined
      ? undefined
      : setTimeout(() => {
          command.timedOut = !command.isOver
          void end(command)
        }, limit)
  child.once('exit', (exitCode, name) => {
    clearTimeout(timer)
    void ended(command, exitCode, name)
  })
}

/** Ends the whole tree of a command. */
function end(command: Command): Promise<void> {
  command.isOver = true
  return sweep()
}

async function ended(command: Command, exitCode: number | null, signalName: string | null): Promise<void> {
  await end(command)
  const closed = Promise.all(command.streams.map((stream) => stream.closed))
  for (;;) {
    // Nobody can hold the other end any more but who was handed it by the command.
    const isClosed = await Promise.race([closed.then(() => true), pause(2_000, false)])
    if (isClosed) break
    if (command.streams.every((stream) => stream.isDrained)) for (const stream of command.streams) stream.destroy()
  }
  commands.delete(command.id)
  const now = memoryKills()
  const kills = now === null || command.memoryKills === null ? null : now - command.memoryKills
  const [stdoutBytes, stderrBytes] = command.streams.map(({ bytes }) => bytes)
  const { timedOut } = command
  const told = { exitCode, signal: signalName, timedOut, memoryKills: kills, stdoutBytes, stderrBytes }
  sayObject(said.ended, command.id, told)
}

// ---- frames in ------------------------------------------------------------------------------------------------------

function receive(kind: number, id: number, payload: Buffer): void {
  const command = commands.get(id)
  switch (kind) {
    case asked.run: {
      const stdinFrom = 4 + payload.readUInt32BE(0)
      const wanted = JSON.parse(payload.toString('utf8', 4, stdinFrom)) as Wanted
      run(id, wanted, payload.subarray(stdinFrom))
      break
    }
    case asked.credit:
      command?.streams[payload.readUInt8(0)]?.grant(payload.readUInt32BE(1))
      break
    case asked.kill:
      if (command !== undefined) void end(command)
      break
    case asked.ping:
      say(said.pong, id, Buffer.alloc(0))
  }
}

let parts: Buffer[] = []
let held = 0
process.stdin.on('data', (chunk: Buffer) => {
  parts.push(chunk)
  held += chunk.length
  for (let all: Buffer | null = null; held >= 4; ) {
    all ??= Buffer.concat(parts)
    const length = all.readUInt32BE(0)
    if (held < 4 + length) {
      parts = [all]
      break
    }
    receive(all.readUInt8(4), all.readUInt32BE(5), all.subarray(9, 4 + length))
    all = all.subarray(4 + length)
    held = all.length
    parts = [all]
  }
})
process.stdin.on('end', () => process.exit(0))
process.on('exit', () => {
  if (pipesFolder !== null) rmSync(pipesFolder, { recursive: true, force: true })
})

void makePipes().then(() => say(said.ready, 0, Buffer.alloc(0)))
