import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from './clock.ts'
import type { KernelResources } from './resources.ts'
import { type BaseImageSource, makeBaseImage } from './sandbox/docker/base-image.ts'
import { type DockerConfig, dockerProvider } from './sandbox/docker/provider.ts'
import { localProvider } from './sandbox/local.ts'
import { type ProbeResult, probeBoxes } from './sandbox/probes.ts'
import type { ProviderName, ProviderReport } from './sandbox/sandbox.ts'

export { type BaseImageSource, makeBaseImage }

export interface Examined {
  report: ProviderReport
  probes: ProbeResult[]
  /** Why the probes did not run where a box can be had all the same. */
  error: string | null
}

/**
 * What boxes prevent on this machine, by what a probe in each of them saw; needs no data directory and no kernel. One
 * answer for each provider, in order of preference.
 * @param only the one to look at; absent: every one.
 */
export async function probeSandbox(
  resources: Pick<KernelResources, 'node' | 'checker'>,
  docker?: Pick<DockerConfig, 'socketPath' | 'image' | 'runtime'>,
  only?: ProviderName,
): Promise<Examined[]> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'exodesk-probes-')))
  const boxesDir = join(base, 'boxes')
  await mkdir(boxesDir)
  const { node: nodePath, checker: checkerMounts } = resources
  const config = { boxesDir, nodePath, checkerMounts, clock: systemClock }
  const providers = [
    ...(docker === undefined ? [] : [dockerProvider({ ...config, ...docker })]),
    localProvider(config),
  ].filter(({ name }) => only === undefined || name === only)
  try {
    const examined: Examined[] = []
    for (const provider of providers) {
      const report = await provider.report()
      if (!report.available) {
        examined.push({ report, probes: [], error: null })
        continue
      }
      examined.push(
        await probeBoxes(provider, { boxesDir }).then(
          (probes) => ({ report, probes, error: null }),
          (error: Error) => ({ report, probes: [], error: error.message }),
        ),
      )
    }
    return examined
  } finally {
    await Promise.all(providers.map((provider) => provider.close()))
    await rm(base, { recursive: true, force: true })
  }
}
