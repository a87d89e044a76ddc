import type { BoxSpec } from '../sandbox.ts'
import { removeContainer } from './container-box.ts'
import { type Container, type Engine, isCode } from './engine.ts'

/** Whose a container is: found again by a later kernel, and told apart from what that one started. */
export interface Owner {
  /** Of the data directory. */
  hash: string
  /** Of this kernel: process and start. */
  generation: string
}

/** A box ends with its command; a task's container holds the state of a task. */
export type ContainerKind = 'box' | 'task'

export const labelNames = {
  data: 'exodesk.data',
  generation: 'exodesk.generation',
  kind: 'exodesk.kind',
  label: 'exodesk.label',
  profile: 'exodesk.profile',
  /** Of an image: the snapshot that it is. */
  snapshot: 'exodesk.snapshot',
  at: 'exodesk.at',
  /** The image that a task began with. */
  base: 'exodesk.base',
} as const

export function labelsOf(
  owner: Owner,
  kind: ContainerKind,
  { label, profile }: Pick<BoxSpec, 'label' | 'profile'>,
): Record<string, string> {
  return {
    [labelNames.data]: owner.hash,
    [labelNames.generation]: owner.generation,
    [labelNames.kind]: kind,
    [labelNames.label]: label,
    [labelNames.profile]: profile,
  }
}

/** All containers of this data directory, or of one label of it, running or not. */
export async function containersOf(engine: Engine, owner: Owner, kind: ContainerKind, label?: string) {
  const wanted = [`${labelNames.data}=${owner.hash}`, `${labelNames.kind}=${kind}`]
  if (label !== undefined) wanted.push(`${labelNames.label}=${label}`)
  const filters = JSON.stringify({ label: wanted })
  return engine.call('list boxes', (stop) => engine.docker.listContainers({ all: true, filters, ...stop }))
}

/** Removes the boxes of earlier kernels on this data directory, all or those of one label. @returns how many ran. */
export async function killOrphans(
  engine: Engine,
  owner: Owner,
  keep: ReadonlyMap<string, { container: Container }>,
  label?: string,
): Promise<number> {
  const mine = new Set([...keep.values()].map((box) => box.container.id))
  const orphans = (await containersOf(engine, owner, 'box', label)).filter(
    ({ Id, Labels }) => !mine.has(Id) && Labels[labelNames.generation] !== owner.generation,
  )
  for (const { Id } of orphans) await removeContainer(engine, engine.docker.getContainer(Id))
  return orphans.filter(({ State }) => State !== 'created' && State !== 'exited').length
}

/** Stops every process of a container; returns what lets them go on. One that is not running has none. */
export async function pauseContainer(engine: Engine, container: Container): Promise<() => Promise<void>> {
  const unlessEnded = (error: unknown): void => {
    if (!isCode(error, 'conflict') && !isCode(error, 'not-found')) throw error
  }
  let isPaused = true
  await engine
    .call('pause a box', (stop) => container.pause(stop))
    .catch((error: unknown) => {
      unlessEnded(error)
      isPaused = false
    })
  return async () => {
    if (!isPaused) return
    isPaused = false
    await engine
      .call('let a box go on', (stop) => container.unpause(stop))
      .catch(async (error: unknown) => {
        const state = await engine.call('look at a box', (stop) => container.inspect(stop)).catch(() => null)
        // It was killed meanwhile, which lets it go on too.
        if (state?.State.Paused === true) throw error
      })
  }
}
