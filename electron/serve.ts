import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { hint } from './command-name.ts'
import { serveHeadless } from './headless-server.ts'
import type { Host } from './host.ts'
import { findRunningHost, type RunningHost } from './host-client.ts'
import type { DeskAnswer } from './socket-path.ts'

export const serveOptions = { port: { type: 'string' } } as const

export interface ServeOptions {
  dataDir: string
  port: number
  /** One object, `{"url"}`, instead of the URL alone. */
  json?: boolean
}

/**
 * Serves the desk on loopback until the process is told to stop, and prints its one-time URL on stdout. Where a host runs
 * on the data directory, that one is asked for a fresh URL (or to show its window) instead.
 * @returns the exit code: 0 when told to stop, 3 where it cannot be served here (says why on stderr).
 */
export async function serve({ dataDir, port, json = false }: ServeOptions): Promise<0 | 3> {
  const running = await findRunningHost(dataDir)
  if (running !== null) return askForDesk(running, dataDir, json)
  const folder = findRenderer()
  if (folder === undefined) {
    process.stderr.write('The desk is not built: run "npm run build".\n')
    return 3
  }
  let answer: () => DeskAnswer = () => ({ none: 'it is starting' })
  let host: Host
  try {
    const { openHost } = await import('./host.ts')
    host = await openHost('headless', dataDir, { openDesk: () => answer() })
  } catch (error) {
    process.stderr.write(`Exodesk cannot run: ${hint((error as Error).message)}\n`)
    return 3
  }
  const desk = await serveHeadless(folder, port).catch(async (error: NodeJS.ErrnoException) => {
    await host.close()
    process.stderr.write(`${portProblem(port, error)}\n`)
    return null
  })
  if (desk === null) return 3
  answer = () => ({ url: desk.freshUrl() })
  const { serveOperatorSocket } = await import('./operator-socket.ts')
  const operator = serveOperatorSocket(desk.server, desk.standing, host.kernel.operator, 'websocket')
  const { recovered } = await host.kernel.status()
  if (recovered !== null) process.stderr.write(`${recovered.summary}\n`)
  process.stderr.write(
    `Data: ${dataDir}. Ctrl-C ends Exodesk; a task that runs is kept and goes on at the next start.\nThe desk (this link works once; the same command prints another):\n`,
  )
  printUrl(desk.freshUrl(), json)

  await toldToStop()
  operator.close()
  await desk.close()
  await host.close()
  return 0
}

async function askForDesk(running: RunningHost, dataDir: string, json: boolean): Promise<0 | 3> {
  const answer = await running.openDesk()
  const { host, pid } = running.facts
  if ('url' in answer) {
    process.stderr.write(`Exodesk runs on ${dataDir} already (process ${pid}). A fresh link to it (it works once):\n`)
    printUrl(answer.url, json)
    return 0
  }
  if ('shown' in answer) {
    process.stderr.write(`Exodesk is open in a window already (process ${pid}); the window was brought to the front.\n`)
    return 0
  }
  process.stderr.write(
    `${dataDir} is held by a ${host} Exodesk (process ${pid}) that serves no desk: ${answer.none}. Stop it, or use another --data.\n`,
  )
  return 3
}

function portProblem(port: number, { code, message }: NodeJS.ErrnoException): string {
  const why =
    code === 'EADDRINUSE'
      ? 'another program listens there'
      : code === 'EACCES'
        ? 'this user may not listen there (below 1024 only root may)'
        : message
  return `The desk cannot be served on port ${port}: ${why}. Choose another with --port, or leave it out for one that is free`
}

function printUrl(url: string, json: boolean): void {
  process.stdout.write(`${json ? JSON.stringify({ url }) : url}\n`)
}

/** Resolves at the first Ctrl-C or SIGTERM. Told twice, the process does not wait for what is open. */
function toldToStop(): Promise<void> {
  return new Promise((resolve) => {
    let isTold = false
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => {
        if (isTold) process.exit(130)
        isTold = true
        resolve()
      })
  })
}

/** Beside the bundle in the product; when run from source, where the last build put it. */
function findRenderer(): string | undefined {
  return ['renderer', '../dist/renderer']
    .map((path) => join(import.meta.dirname, path))
    .find((folder) => existsSync(join(folder, 'index.html')))
}
