// A real world process for the tests, with its own folder, and the agent's command beside it.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import readline from 'node:readline'
import type { Answer } from './state.ts'

const here = import.meta.dirname

export interface RunningWorld {
  child: ChildProcess
  /** One request on stdio; resolves with the answer line. */
  ask(op: string, rest?: object): Promise<Record<string, unknown>>
  /** SIGKILL; resolves once the process is gone. */
  kill(): Promise<void>
}

export interface WorldFolder {
  root: string
  socket: string
  env: Record<string, string>
  start(): RunningWorld
  /** The socket's answer to one keyed action; rejects when the line is lost. */
  act(key: string, args: string[]): Promise<Answer>
  /** Runs a program with `world` on its PATH. */
  run(file: string, args: string[]): Promise<{ code: number; stdout: string; stderr: string }>
  remove(): Promise<void>
}

export function makeWorldFolder(): WorldFolder {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'hollowmere-'))
  const socket = path.join(root, 'world.sock')
  const bin = path.join(root, 'bin')
  fs.mkdirSync(bin)
  // In a box the command's first line names the box's node; here the test's own node runs it.
  fs.writeFileSync(path.join(bin, 'world'), `#!/bin/sh\nexec '${process.execPath}' '${here}/bin/world' "$@"\n`, {
    mode: 0o755,
  })
  const env = {
    PATH: `${bin}:/usr/bin:/bin`,
    WORLD_SOCKET: socket,
    WORLD_JOURNAL: path.join(root, 'journal'),
    TESTS_DIR: root,
    LOGS_DIR: root,
  }
  const started: RunningWorld[] = []
  return {
    root,
    socket,
    env,
    start() {
      const world = startWorld(env)
      started.push(world)
      return world
    },
    act: (key, args) =>
      exchange(socket, `${JSON.stringify({ key, args })}\n`).then((line) => JSON.parse(line) as Answer),
    run: (file, args) =>
      new Promise((resolve) => {
        execFile(file, args, { env }, (error, stdout, stderr) => {
          resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr })
        })
      }),
    async remove() {
      await Promise.all(started.map((world) => world.kill()))
      fs.rmSync(root, { recursive: true, force: true })
    },
  }
}

function startWorld(env: Record<string, string>): RunningWorld {
  const child = spawn(process.execPath, [path.join(here, 'main.ts')], { env, stdio: 'pipe' })
  const waiting = new Map<number, (line: Record<string, unknown>) => void>()
  const gone = once(child, 'close')
  let complaint = ''
  child.stderr.on('data', (text) => {
    complaint += String(text)
  })
  readline.createInterface({ input: child.stdout }).on('line', (line) => {
    const answer = JSON.parse(line) as Record<string, unknown>
    waiting.get(answer.id as number)?.(answer)
  })
  let lastId = 0
  return {
    child,
    ask(op, rest = {}) {
      lastId += 1
      const id = lastId
      child.stdin.write(`${JSON.stringify({ id, op, ...rest })}\n`)
      const answered = new Promise<Record<string, unknown>>((resolve) => waiting.set(id, resolve))
      const died = gone.then(([code, signal]) => {
        throw new Error(`the world ended (${code ?? signal}) before it answered ${op}: ${complaint}`)
      })
      return Promise.race([answered, died])
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await gone
    },
  }
}

/** Sends bytes to a socket and resolves with all that comes back; rejects when nothing does. */
export function exchange(socketPath: string, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    let reply = ''
    const socket = net.connect(socketPath, () => socket.write(bytes))
    socket.setEncoding('utf8')
    socket.on('data', (text) => {
      reply += text
    })
    socket.on('error', (error) => {
      if (reply === '') reject(error)
    })
    socket.on('close', () => (reply === '' ? reject(new Error('no answer')) : resolve(reply)))
  })
}
