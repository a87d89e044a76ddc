import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Dockerode from 'dockerode'

/** Why a test cannot have an engine of its own here, or null. */
export const noPrivateEngine =
  process.getuid?.() !== 0 ? 'only root starts an engine' : existsSync('/usr/sbin/dockerd') ? null : 'no dockerd here'

export interface PrivateEngine {
  socketPath: string
  signal(name: NodeJS.Signals): void
  start(): Promise<void>
  close(): Promise<void>
}

/** An engine that a test may kill and stop: own data, own socket, no network. The base image comes from the shared one. */
export async function privateEngine(sharedSocket: string, flags: string[] = []): Promise<PrivateEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'exodesk-dockerd-'))
  const socketPath = join(folder, 'docker.sock')
  const docker = new Dockerode({ socketPath })
  let child: ChildProcess | null = null

  async function start(): Promise<void> {
    const started = spawn(
      '/usr/sbin/dockerd',
      [
        ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '--pidfile', join(folder, 'pid')],
        ...['--host', `unix://${socketPath}`, '--iptables=false', '--ip-forward=false', '--bridge=none', ...flags],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    child = started
    let words = ''
    started.stderr?.on('data', (chunk) => (words = (words + chunk).slice(-4000)))
    for (;;) {
      if (
        await docker.ping().then(
          () => true,
          () => false,
        )
      )
        return
      if (started.exitCode !== null) throw new Error(`dockerd ended: ${words}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  await start()
  const image = await new Dockerode({ socketPath: sharedSocket }).getImage('exodesk/base:local').get()
  await new Promise<void>((resolve, reject) => {
    docker.loadImage(image, {}, (error, answer) => {
      if (error) return reject(error)
      answer?.on('data', () => {})
      answer?.on('end', () => resolve())
    })
  })
  const ended = (): Promise<void> =>
    new Promise((resolve) => {
      if (child === null || child.exitCode !== null || child.signalCode !== null) resolve()
      else child.once('exit', () => resolve())
    })
  return {
    socketPath,
    signal: (name) => void child?.kill(name),
    start: async () => {
      await ended()
      await start()
    },
    async close() {
      child?.kill('SIGCONT')
      child?.kill('SIGTERM')
      await ended()
      await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
    },
  }
}
