import { KernelError } from '../../errors.ts'
import type { Engine } from './engine.ts'
import type { EngineFacts, Runtime } from './host-config.ts'
import { engineVersion } from './version.ts'

export interface EngineReport extends EngineFacts {
  /** The base image, pinned for as long as the provider lives. */
  imageId: string
  /** `docker 20.10.24, runc 1.1.5`. */
  detail: string
  /** What is known against this engine; for the report. */
  weaknesses: string[]
}

export const buildImageFix = 'exodesk doctor --build-base-image'

/**
 * Asks an engine what it is, and for the base image by name.
 * @throws KernelError `unavailable` with `details.fix` where no box can be had from it.
 */
export async function lookAtEngine(engine: Engine, image: string, runtime: Runtime): Promise<EngineReport> {
  const [version, info] = await Promise.all([
    engine.call('say its version', () => engine.docker.version()),
    engine.call('say what it is', () => engine.docker.info() as Promise<EngineInfo>),
  ])
  if (info.OSType !== undefined && info.OSType !== 'linux') throw missing('the Docker engine runs no Linux containers')
  if (!Object.keys(info.Runtimes ?? {}).includes(runtime))
    throw missing(
      `the Docker engine offers no runtime ${runtime}`,
      `dockerd --add-runtime ${runtime}=$(command -v ${runtime})`,
    )
  if (!(info.SecurityOptions ?? []).some((option) => option.includes('name=seccomp')))
    throw missing('the Docker engine cannot filter system calls (no seccomp)')
  if (info.MemoryLimit === false || info.PidsLimit === false)
    throw missing('the Docker engine cannot limit memory or processes (no control groups)')
  const imageId = await findImage(engine, image)
  const { detail, weaknesses } = engineVersion(version, runtime)
  return { runtime, cpus: info.NCPU ?? 1, imageId, detail, weaknesses }
}

interface EngineInfo {
  OSType?: string
  Runtimes?: Record<string, unknown>
  SecurityOptions?: string[]
  MemoryLimit?: boolean
  PidsLimit?: boolean
  NCPU?: number
}

async function findImage(engine: Engine, image: string): Promise<string> {
  try {
    const found = await engine.call('look at an image', () => engine.docker.getImage(image).inspect())
    return found.Id
  } catch (error) {
    if ((error as KernelError).code !== 'not-found') throw error
    throw missing(`the Docker engine has no image ${image}`, buildImageFix)
  }
}

export function missing(reason: string, fix?: string): KernelError {
  return new KernelError('unavailable', fix === undefined ? reason : `${reason}. To mend it: ${fix}`, {
    details: { reason, ...(fix === undefined ? {} : { fix }) },
  })
}
