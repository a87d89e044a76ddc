import { type Desk, findRunningHost, type RunningHost } from '../host-client.ts'
import { Ended, type ExitCode, exitCode } from './command.ts'

export interface OpenDesk {
  desk: Desk
  /** False: a running host serves this, and goes on when the command ends. */
  isOwn: boolean
  dataDir: string
  /** Resolves when a host that served this is gone; never for an own one. */
  lost: Promise<void>
  /** An own host: tasks are interrupted and go on at the next start. */
  close(): Promise<void>
}

/** How long a host that has the lock may take until it answers: it recovers first. */
const startingMs = 20_000
const pauseMs = 200

/**
 * The desk of a data directory: of the host that holds it, else of one opened here for the duration of a command.
 * @param options.proceed whether tasks that were not over go on in a host opened here.
 * @throws Ended `cannotRun` where the directory is held by something that does not answer, or cannot be opened.
 */
export async function openDesk(dataDir: string, options: { proceed: boolean }): Promise<OpenDesk> {
  const deadline = performance.now() + startingMs
  for (;;) {
    const running = await findRunningHost(dataDir)
    if (running !== null) return attach(dataDir, running)
    try {
      return await openOwn(dataDir, options)
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      if (code !== 'conflict' || performance.now() > deadline) throw new Ended(exitCode.cannotRun, message)
    }
    // Somebody has the lock and does not listen yet: another host that starts.
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

/** @throws Ended `doesNotHold` where no host holds the data directory: then nothing runs that could be spoken to. */
export async function openRunningDesk(dataDir: string, whatFor: string): Promise<OpenDesk> {
  const running = await findRunningHost(dataDir)
  if (running === null)
    throw new Ended(
      exitCode.doesNotHold,
      `nothing runs on ${dataDir}, so there is nothing to ${whatFor}: "exodesk resume TASK" or "exodesk serve" goes on with it`,
    )
  return attach(dataDir, running)
}

/** Policy commands never set tasks going: a host opened for one leaves them for the next run. */
export async function withDesk(dataDir: string, work: (open: OpenDesk) => Promise<ExitCode>): Promise<ExitCode> {
  const open = await openDesk(dataDir, { proceed: false })
  try {
    return await work(open)
  } finally {
    await open.close()
  }
}

async function attach(dataDir: string, running: RunningHost): Promise<OpenDesk> {
  const { desk, lost, close } = await running.connect()
  return {
    desk,
    isOwn: false,
    dataDir,
    lost,
    async close() {
      close()
    },
  }
}

async function openOwn(dataDir: string, { proceed }: { proceed: boolean }): Promise<OpenDesk> {
  // The kernel is loaded only by who needs one: a command that speaks to a running host answers at once.
  const [{ openHost }, { createRouterClient }] = await Promise.all([import('../host.ts'), import('@orpc/server')])
  const host = await openHost('cli', dataDir, { proceed })
  return {
    desk: createRouterClient(host.kernel.operator, { context: { via: 'socket' as const } }),
    isOwn: true,
    dataDir,
    lost: new Promise(() => {}),
    close: () => host.close(),
  }
}
