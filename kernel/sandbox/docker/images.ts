import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Clock } from '../../clock.ts'
import { KernelError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { type Snapshot, snapshotLimits, type TaskPlace } from '../sandbox.ts'
import { removeContainer } from './container-box.ts'
import { drain } from './drain.ts'
import { type Container, type Engine, isCode } from './engine.ts'
import { labelNames, type Owner } from './owner.ts'

/** An engine refuses a container over about 124 layers; a chain of restored snapshots grows by one each time. */
const layersMax = 100

export interface SnapshotImages {
  /** @throws KernelError `not-found`. */
  idOf(place: TaskPlace, name: string): Promise<string>
  keep(place: TaskPlace, name: string, container: Container, baseId: string): Promise<Snapshot>
  list(place: TaskPlace): Promise<Snapshot[]>
  forget(place: TaskPlace, name: string): Promise<void>
  forgetAll(place: TaskPlace): Promise<void>
  /** Removes what a kill has left without a name. */
  collect(): Promise<void>
}

/** Snapshots are images, whose labels say whose they are; the name that makes one a snapshot is given last. */
export function snapshotImages(engine: Engine, owner: Owner, clock: Clock, flattenAt = layersMax): SnapshotImages {
  const { docker } = engine
  const repo = `exodesk/state-${owner.hash}`
  /** Of a length and form that every engine takes. */
  const tagOf = (label: string, name: string): string =>
    createHash('sha256').update(`${label}\0${name}`).digest('hex').slice(0, 40)
  const imageNamed = (place: TaskPlace, name: string) => docker.getImage(`${repo}:${tagOf(place.label, name)}`)

  async function rows(label?: string) {
    const wanted = [`${labelNames.data}=${owner.hash}`]
    if (label !== undefined) wanted.push(`${labelNames.label}=${label}`)
    const filters = JSON.stringify({ label: wanted })
    return engine.call('list images', (stop) => docker.listImages({ filters, ...stop }))
  }

  async function list(place: TaskPlace): Promise<Snapshot[]> {
    const found: Snapshot[] = []
    for (const { Id, Labels, RepoTags, Created } of await rows(place.label)) {
      const name = Labels?.[labelNames.snapshot]
      if (name === undefined || !RepoTags?.includes(`${repo}:${tagOf(place.label, name)}`)) continue
      found.push({ name, sizeBytes: await ownBytes(Id), at: Number(Labels[labelNames.at] ?? Created * 1000) })
    }
    return found.sort((a, b) => a.at - b.at)
  }

  /** Of its last layer: the others belong to earlier snapshots, or to the image that the task began with. */
  async function ownBytes(id: string): Promise<number> {
    const layers = (await engine.call('look at an image', () => docker.getImage(id).history())) as { Size: number }[]
    return layers[0]?.Size ?? 0
  }

  async function keep(place: TaskPlace, name: string, container: Container, baseId: string): Promise<Snapshot> {
    checkName(name)
    const kept = await list(place)
    if (kept.length >= snapshotLimits.count && !kept.some((snapshot) => snapshot.name === name))
      throw new KernelError('invalid', `at most ${snapshotLimits.count} snapshots are kept: forget one first`)
    await checkSize(container, baseId)
    const at = clock.now()
    const labels = {
      [labelNames.data]: owner.hash,
      [labelNames.label]: place.label,
      [labelNames.snapshot]: name,
      [labelNames.at]: String(at),
    }
    // Without a name it is not a snapshot yet.
    const { Id } = await engine.call(
      'commit the container of a task',
      (stop) =>
        container.commit({ _query: { container: container.id, pause: true }, _body: { Labels: labels }, ...stop }),
      'long',
    )
    failpoint('docker:snapshot-committed')
    const before = await imageNamed(place, name)
      .inspect()
      .then(
        (image) => image.Id,
        () => null,
      )
    const layers = (await engine.call('look at an image', () => docker.getImage(Id).inspect())).RootFS?.Layers ?? []
    if (layers.length >= flattenAt) {
      await flatten(Id, labels, tagOf(place.label, name))
    } else {
      await engine.call('name an image', (stop) =>
        docker.getImage(Id).tag({ repo, tag: tagOf(place.label, name), ...stop }),
      )
    }
    failpoint('docker:snapshot-named')
    for (const old of [before, layers.length >= flattenAt ? Id : null]) if (old !== null) await removeUnnamed(old)
    const now = await engine.call('look at an image', () => imageNamed(place, name).inspect())
    return { name, sizeBytes: await ownBytes(now.Id), at }
  }

  async function checkSize(container: Container, baseId: string): Promise<void> {
    const [state, base] = await Promise.all([
      engine.call(
        'measure the state of a task',
        (stop) => container.inspect({ size: true, ...stop } as object),
        'long',
      ),
      engine.call('look at an image', () => docker.getImage(baseId).inspect()),
    ])
    const { SizeRootFs = 0 } = state as { SizeRootFs?: number }
    const stateBytes = SizeRootFs - base.Size
    if (stateBytes > snapshotLimits.stateBytes)
      throw new KernelError(
        'invalid',
        `the state takes ${stateBytes} bytes; a snapshot holds at most ${snapshotLimits.stateBytes}: remove what is not needed`,
      )
  }

  /** The same files in one layer. What the image says besides is left behind: a box takes none of it. */
  async function flatten(id: string, labels: Record<string, string>, tag: string): Promise<void> {
    const container = await engine.call('make a container to export', (stop) =>
      docker.createContainer({
        Image: id,
        Entrypoint: ['true'],
        NetworkDisabled: true,
        Labels: exportLabels(),
        ...stop,
      }),
    )
    try {
      const files = (await engine.call('export a snapshot', (stop) => container.export(stop), 'long')) as Readable
      const changes = `LABEL ${Object.entries(labels)
        .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
        .join(' ')}`
      await engine.call(
        'import a snapshot',
        async (stop) => drain(await docker.importImage(files, { repo, tag, changes, ...stop } as object)),
        'long',
      )
    } finally {
      await removeContainer(engine, container).catch(() => {})
    }
  }

  /** Found as a box of this kernel, so that a later one removes it. */
  const exportLabels = () => ({
    [labelNames.data]: owner.hash,
    [labelNames.generation]: owner.generation,
    [labelNames.kind]: 'box',
    [labelNames.label]: 'export',
  })

  async function removeUnnamed(id: string): Promise<void> {
    try {
      const { RepoTags } = await engine.call('look at an image', () => docker.getImage(id).inspect())
      if ((RepoTags ?? []).length === 0)
        await engine.call('remove an image', (stop) => docker.getImage(id).remove(stop), 'long')
    } catch (error) {
      // Others build on it, or a container does: it goes with them.
      if (!isCode(error, 'conflict') && !isCode(error, 'not-found')) throw error
    }
  }

  async function forget(place: TaskPlace, name: string): Promise<void> {
    await engine
      .call('remove a snapshot', (stop) => imageNamed(place, name).remove({ force: true, ...stop }), 'long')
      .catch((error: unknown) => {
        if (!isCode(error, 'not-found')) throw error
        throw notFound(name)
      })
  }

  return {
    async idOf(place, name) {
      try {
        return (await engine.call('look at a snapshot', () => imageNamed(place, name).inspect())).Id
      } catch (error) {
        if (isCode(error, 'not-found')) throw notFound(name)
        throw error
      }
    },
    keep,
    list,
    forget,
    async forgetAll(place) {
      for (const { name } of await list(place)) await forget(place, name)
      for (const { Id } of await rows(place.label)) await removeUnnamed(Id)
    },
    async collect() {
      for (const { Id } of await rows()) await removeUnnamed(Id)
    },
  }
}

function notFound(name: string): KernelError {
  return new KernelError('not-found', `there is no snapshot ${JSON.stringify(name)}`)
}

function checkName(name: string): void {
  if (!/^[\p{L}\p{N}._-][\p{L}\p{N} ._-]{0,63}$/u.test(name))
    throw new KernelError('invalid', 'a snapshot needs a name of 1 to 64 letters, digits, blanks and . _ -')
}
