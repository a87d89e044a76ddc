import { KernelError } from '../../errors.ts'
import { drain } from './drain.ts'
import { type Engine, isCode } from './engine.ts'

/**
 * The id of the image that a pack names: one that the engine has, else one that a registry gives it.
 * @throws KernelError `unavailable` (it cannot be had, or it keeps state where no snapshot reaches).
 */
export async function packImage(engine: Engine, name: string): Promise<string> {
  const look = () => engine.call('look at an image', () => engine.docker.getImage(name).inspect())
  const found = await look().catch(async (error: unknown) => {
    if (!isCode(error, 'not-found')) throw error
    await pullImage(engine, name).catch((cause: Error) => {
      throw new KernelError(
        'unavailable',
        `the pack's image ${name} is not here and cannot be pulled: ${cause.message}. Load it by hand (docker load, docker import)`,
        { cause },
      )
    })
    return look()
  })
  const volumes = Object.keys(found.Config?.Volumes ?? {})
  if (volumes.length > 0)
    throw new KernelError(
      'unavailable',
      `the pack's image ${name} keeps ${volumes.join(', ')} in volumes of its own, which no snapshot holds: use one without`,
    )
  return found.Id
}

/** @throws KernelError `unavailable`: no registry answers, or it has no such image. */
export async function pullImage(engine: Engine, name: string): Promise<void> {
  await engine.call('pull an image', async (stop) => drain(await engine.docker.pull(name, stop)), 'long')
}
