import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from './clock.ts'
import type { KernelResources } from './resources.ts'
import { localProvider } from './sandbox/local.ts'
import { type ProbeResult, probeBoxes } from './sandbox/probes.ts'
import type { ProviderReport } from './sandbox/sandbox.ts'

/**
 * What boxes prevent on this machine, by what a probe in each of them saw; needs no data directory and no kernel.
 * `error` says why the probes did not run where a box can be had all the same.
 */
export async function probeSandbox(
  resources: Pick<KernelResources, 'node' | 'checker'>,
): Promise<{ report: ProviderReport; probes: ProbeResult[]; error: string | null }> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'exodesk-probes-')))
  const boxesDir = join(base, 'boxes')
  await mkdir(boxesDir)
  const { node: nodePath, checker: checkerMounts } = resources
  const provider = localProvider({ boxesDir, nodePath, checkerMounts, clock: systemClock })
  try {
    const report = await provider.report()
    if (!report.available) return { report, probes: [], error: null }
    try {
      return { report, probes: await probeBoxes(provider, { boxesDir }), error: null }
    } catch (error) {
      return { report, probes: [], error: (error as Error).message }
    }
  } finally {
    await provider.close()
    await rm(base, { recursive: true, force: true })
  }
}
