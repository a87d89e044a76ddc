import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
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

  const logFile = join(folder, 'log')

  async function start(): Promise<void> {
    const log = openSync(logFile, 'a')
    const started = spawn(
      '/usr/sbin/dockerd',
      [
        ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '--pidfile', join(folder, 'pid')],
        ...['--host', `unix://${socketPath}`, '--iptables=false', '--ip-forward=false', '--bridge=none', ...flags],
      ],
      { stdio: ['ignore', 'ignore', log] },
    )
    closeSync(log)
    child = started
    for (;;) {
      if (
        await docker.ping().then(
          () => true,
          () => false,
        )
      )
        return
      if (started.exitCode !== null) throw new Error(`dockerd ended: ${readFileSync(logFile, 'utf8').slice(-2000)}`)
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
      // One that is still ending would be taken for one to use.
      const file = join(folder, 'exec/containerd/containerd.pid')
      const pid = Number(await readFile(file, 'utf8').catch(() => '0'))
      while (pid > 0 && existsSync(`/proc/${pid}`)) await new Promise((resolve) => setTimeout(resolve, 20))
      await rm(file, { force: true })
      await start()
    },
    async close() {
      child?.kill('SIGCONT')
      child?.kill('SIGTERM')
      await ended()
      // One that was killed has left its mounts.
      const mounts = readFileSync('/proc/mounts', 'utf8')
        .split('\n')
        .map((line) => line.split(' ')[1] ?? '')
      for (const at of mounts.filter((path) => path.startsWith(`${folder}/`)).reverse()) spawnSync('umount', [at])
      await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
    },
  }
}
