import { type Kernel, type KernelConfig, openKernel, passphraseSealer, type Sealer } from '../kernel/kernel.ts'
import { hint } from './command-name.ts'
import { keepMemoryOutOfCoreDumps } from './core-dumps.ts'
import { makeDataDir } from './data-dir.ts'
import { dockerEngine } from './docker-engine.ts'
import { serveHostSocket } from './host-socket.ts'
import { passphraseFromFile } from './passphrase.ts'
import { redactOutput } from './redacted-output.ts'
import { contract, hostResources, version } from './resources.ts'
import { simulatorProcess } from './simulator.ts'
import type { DeskAnswer } from './socket-path.ts'

export interface Host {
  kernel: Kernel
  /** Interrupts what runs, at the latest after 5 s; tasks go on at the next start. */
  close(): Promise<void>
}

/** Running tasks get 5 s, everything else the rest: what a box still holds then is ended at the next start. */
const closeMs = 8_000

export interface HostOptions {
  /** What is done when a second start, or the command line, asks this host for its desk. */
  openDesk?: () => DeskAnswer
  /** False: tasks that were not over stay as they are. */
  proceed?: boolean
  /** What can seal keys besides a passphrase, and before it. */
  sealers?: readonly Sealer[]
}

/**
 * Opens the kernel on `dataDir` with what ships beside this code, and answers on the directory's socket. The same in every
 * host; only `kind` differs. The directory is for its user alone.
 * @throws KernelError `conflict` where another host holds the directory; others say what to do.
 */
export async function openHost(kind: KernelConfig['host'], dataDir: string, options: HostOptions = {}): Promise<Host> {
  makeDataDir(dataDir)
  // The closed door is the directory. In it, boxes that run as nobody must be able to read what is mounted for them,
  // and what a box makes must not depend on how its user's shell is set up.
  process.umask(0o022)
  keepMemoryOutOfCoreDumps()
  const passphrase = passphraseSealer()
  const given = passphraseFromFile()
  if (given !== undefined) passphrase.give?.(given)
  const resources = hostResources()
  const simulator = simulatorProcess(resources.node, resources.simulator, thinkMs(kind))
  const kernel = await openKernel({
    dataDir,
    host: kind,
    version: version(),
    contract: contract(),
    env: { ...process.env },
    resources,
    simulator,
    hint,
    sealers: [...(options.sealers ?? []), passphrase],
    ...dockerEngine(process.env),
    ...(options.proceed === undefined ? {} : { proceed: options.proceed }),
  })
  const showAgain = redactOutput(kernel.redact)
  const socket = await serveHostSocket({
    dataDir,
    operator: kernel.operator,
    facts: { host: kind, version: version(), pid: process.pid },
    openDesk: options.openDesk ?? (() => ({ none: 'it is a command that will end by itself' })),
  }).catch(async (error: unknown) => {
    await kernel.close()
    showAgain()
    throw error
  })
  return {
    kernel,
    async close() {
      const late = setTimeout(() => {
        process.stderr.write('Something does not end in time and is left: all that was acknowledged is on disk.\n')
        process.exit(0)
      }, closeMs)
      await socket.close()
      await kernel.close()
      simulator.stop()
      showAgain()
      clearTimeout(late)
    },
  }
}

/** In a desk the simulated model takes its time, so that a person can follow and decide; a script's does not. */
function thinkMs(kind: KernelConfig['host']): number {
  const given = process.env.EXODESK_SIMULATOR_THINK_MS
  if (given !== undefined) return Number(given)
  return kind === 'cli' ? 0 : 700
}
