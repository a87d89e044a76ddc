import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kernel, type KernelConfig, openKernel } from '../kernel/kernel.ts'
import { findResources } from './resources.ts'
import { simulatorProcess } from './simulator.ts'

export interface Host {
  kernel: Kernel
  close(): Promise<void>
}

/** Opens the kernel on `dataDir` with what ships beside this code. The same in every host; only `kind` differs. */
export async function openHost(kind: KernelConfig['host'], dataDir: string): Promise<Host> {
  const resources = findResources(import.meta.dirname)
  const simulator = simulatorProcess(resources.node, resources.simulator)
  const kernel = await openKernel({
    dataDir,
    host: kind,
    version: version(),
    env: { ...process.env },
    resources,
    simulator,
  })
  return {
    kernel,
    async close() {
      await kernel.close()
      simulator.stop()
    },
  }
}

export function version(): string {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')).version
}
