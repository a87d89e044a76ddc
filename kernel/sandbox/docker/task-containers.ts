import { KernelError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import type { ResolvedMount } from '../mounts.ts'
import { profiles } from '../profiles.ts'
import type { Snapshot, TaskPlace } from '../sandbox.ts'
import { removeContainer } from './container-box.ts'
import { type Container, type Engine, isCode } from './engine.ts'
import { firstState } from './fill.ts'
import type { ContainerRequest } from './host-config.ts'
import type { SnapshotImages } from './images.ts'
import { containersOf, labelNames, labelsOf, type Owner } from './owner.ts'
import { standingCommand, type TaskContainer } from './task-container.ts'

/** What the provider lends: it knows the engine's facts, the limits and what may be mounted. */
export interface TaskParts {
  engine: Engine
  owner: Owner
  images: SnapshotImages
  mounts(place: TaskPlace): Promise<ResolvedMount[]>
  /** Of the image that a new task begins with. */
  imageId(place: TaskPlace): Promise<string>
  create(request: Omit<ContainerRequest, 'limits' | 'environment'>): Promise<Container>
  standing(label: string, container: Container): TaskContainer
}

export interface TaskContainers {
  get(label: string): TaskContainer | undefined
  open(place: TaskPlace): Promise<void>
  snapshot(place: TaskPlace, name: string): Promise<Snapshot>
  restore(place: TaskPlace, name: string): Promise<void>
  clone(place: TaskPlace, name: string, to: TaskPlace): Promise<void>
  destroy(place: TaskPlace): Promise<void>
  /** Ends what runs in the containers of earlier kernels, and keeps their state. @returns how many ran. */
  fence(label?: string): Promise<number>
  close(): Promise<void>
}

/**
 * The container of a task has a name by which it is found again. One that is being made has another, which says how far it
 * may be trusted: `.filling` is not whole yet, `.restored` is, and takes the place of what was.
 */
export function taskContainers(parts: TaskParts): TaskContainers {
  const { engine, owner, images } = parts
  const open = new Map<string, TaskContainer>()
  const nameOf = (label: string, state: '' | '.filling' | '.restored' = ''): string =>
    `exodesk-${owner.hash}.task.${label}${state}`

  async function find(name: string): Promise<Container | null> {
    try {
      const { Id } = await engine.call('look for the container of a task', (stop) =>
        engine.docker.getContainer(name).inspect(stop),
      )
      return engine.docker.getContainer(Id)
    } catch (error) {
      if (isCode(error, 'not-found')) return null
      throw error
    }
  }

  async function rename(container: Container, name: string): Promise<void> {
    await engine.call('rename the container of a task', (stop) => container.rename({ name, ...stop }))
  }

  async function make(place: TaskPlace, imageId: string, state: '.filling' | '.restored'): Promise<Container> {
    return parts.create({
      name: nameOf(place.label, state),
      imageId,
      argv: standingCommand,
      cwd: '/',
      labels: {
        ...labelsOf(owner, 'task', { label: place.label, profile: 'task' }),
        [labelNames.base]: await baseOf(place),
      },
      profile: profiles.task,
      mounts: await parts.mounts(place),
      hasOwnTmp: true,
      needsInit: false,
    })
  }

  /** The image that the task began with, whatever it was restored from since. */
  async function baseOf(place: TaskPlace): Promise<string> {
    const found = await find(nameOf(place.label))
    if (found === null) return parts.imageId(place)
    const { Config } = await engine.call('look at a container', (stop) => found.inspect(stop))
    return Config.Labels[labelNames.base] ?? parts.imageId(place)
  }

  async function makeFirst(place: TaskPlace): Promise<Container> {
    const container = await make(place, await parts.imageId(place), '.filling')
    failpoint('docker:open-made')
    // It has never run, so there is nobody in it who could lead the engine astray.
    await engine.call(
      'fill the container of a task',
      (stop) => container.putArchive(firstState(place.mounts.root), { path: '/', ...stop }),
      'long',
    )
    failpoint('docker:open-filled')
    await rename(container, nameOf(place.label))
    return container
  }

  /** What a kill in the middle of making or restoring one has left. */
  async function settle(label: string): Promise<Container | null> {
    const filling = await find(nameOf(label, '.filling'))
    if (filling !== null) await removeContainer(engine, filling)
    const found = await find(nameOf(label))
    const restored = await find(nameOf(label, '.restored'))
    if (restored === null) return found
    if (found !== null) {
      await removeContainer(engine, restored)
      return found
    }
    await rename(restored, nameOf(label))
    return restored
  }

  function need(place: TaskPlace): TaskContainer {
    const task = open.get(place.label)
    if (task === undefined) throw new KernelError('unavailable', `the sandbox of "${place.label}" is not open`)
    return task
  }

  /** Another set of folders (an endpoint was consented to) needs another container, with the same state. */
  async function hasMounts(container: Container, place: TaskPlace): Promise<boolean> {
    const { Mounts = [] } = await engine
      .call('look at a container', (stop) => container.inspect(stop))
      .then(({ HostConfig }) => HostConfig as { Mounts?: { Target: string; Source: string }[] })
    const wanted = (await parts.mounts(place)).map(({ at, host }) => `${at} ${host}`)
    return (
      Mounts.map(({ Target, Source }) => `${Target} ${Source}`)
        .sort()
        .join('\n') === wanted.sort().join('\n')
    )
  }

  async function replace(place: TaskPlace, imageId: string): Promise<void> {
    const stray = await find(nameOf(place.label, '.restored'))
    if (stray !== null) await removeContainer(engine, stray)
    const next = await make(place, imageId, '.restored')
    failpoint('docker:restore-made')
    const before = await find(nameOf(place.label))
    if (before !== null) await removeContainer(engine, before)
    failpoint('docker:restore-removed')
    await rename(next, nameOf(place.label))
    await takeUp(place, next)
  }

  async function takeUp(place: TaskPlace, container: Container): Promise<void> {
    const task = parts.standing(place.label, container)
    open.set(place.label, task)
    await task.ready()
  }

  async function fence(label?: string): Promise<number> {
    const found = await containersOf(engine, owner, 'task', label)
    const running = found.filter(({ State, Labels }) => {
      const mine = open.get(Labels[labelNames.label] ?? '')
      return State !== 'created' && State !== 'exited' && mine === undefined
    })
    for (const { Id } of running) await parts.standing('', engine.docker.getContainer(Id)).end()
    return running.length
  }

  return {
    get: (label) => open.get(label),
    async open(place) {
      if (open.has(place.label)) return
      const found = await settle(place.label)
      if (found === null) return takeUp(place, await makeFirst(place))
      await fence(place.label)
      if (await hasMounts(found, place)) return takeUp(place, found)
      const { Id } = await engine.call('commit the container of a task', (stop) => found.commit(stop), 'long')
      await replace(place, Id)
    },
    async snapshot(place, name) {
      const { container } = need(place)
      return images.keep(place, name, container, await baseOf(place))
    },
    async restore(place, name) {
      const imageId = await images.idOf(place, name)
      await open.get(place.label)?.end()
      open.delete(place.label)
      await replace(place, imageId)
    },
    async clone(place, name, to) {
      if ((await settle(to.label)) !== null)
        throw new KernelError('conflict', `there is a sandbox of "${to.label}" already`)
      const container = await make(to, await images.idOf(place, name), '.filling')
      await rename(container, nameOf(to.label))
      await takeUp(to, container)
    },
    async destroy(place) {
      open.delete(place.label)
      for (const { Id } of await containersOf(engine, owner, 'task', place.label))
        await removeContainer(engine, engine.docker.getContainer(Id))
      await images.forgetAll(place)
    },
    fence,
    async close() {
      const all = [...open.values()]
      open.clear()
      await Promise.all(all.map((task) => task.end().catch(() => {})))
    },
  }
}
