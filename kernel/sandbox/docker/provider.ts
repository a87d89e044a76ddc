import { createHash, randomBytes } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Clock } from '../../clock.ts'
import { KernelError } from '../../errors.ts'
import { collect } from '../collect.ts'
import { checkLabel, checkSpec, environment } from '../command.ts'
import { type ResolvedMount, resolveMounts } from '../mounts.ts'
import { type Profile, profiles } from '../profiles.ts'
import type { Box, BoxLimits, BoxMounts, BoxSpec, ProfileName, ProviderReport, SandboxProvider } from '../sandbox.ts'
import { ContainerBox } from './container-box.ts'
import { type Container, type EngineDeadlines, isEngineLost, openEngine } from './engine.ts'
import { buildImageFix, type EngineReport, lookAtEngine, missing } from './facts.ts'
import { type ContainerRequest, createOptions, kernelMounts, type Runtime } from './host-config.ts'
import { snapshotImages } from './images.ts'
import { createLost } from './lost.ts'
import { killOrphans, labelsOf, type Owner, pauseContainer } from './owner.ts'
import { packImage } from './pack-image.ts'
import { TaskContainer } from './task-container.ts'
import { taskContainers } from './task-containers.ts'

export interface DockerConfig {
  /** Of the engine: whoever may write to it is root on its machine, so nothing else in the kernel knows it. */
  socketPath: string
  boxesDir: string
  nodePath: string
  checkerMounts: { host: string; at: string }[]
  resourceDirs?: string[]
  /** Default `exodesk/base:local`. */
  image?: string
  /** Default runc. `runsc` (gVisor) only where it was asked for. */
  runtime?: Runtime
  limits?: Partial<Record<ProfileName, Partial<BoxLimits>>>
  deadlines?: EngineDeadlines
  /** Layers of a snapshot from which it is made into one. Default 100; an engine refuses more than about 124. */
  flattenLayers?: number
  clock: Clock
}

/** How long a report that no box can be had is kept, ms. */
const badReportMs = 10_000
export const defaultImage = 'exodesk/base:local'

/**
 * Boxes by a Docker engine: each a container of one profile, made from a constant. An engine that goes away ends its boxes
 * for the kernel at once; what runs on in them is killed before anything else is started there.
 */
export function dockerProvider(config: DockerConfig): SandboxProvider {
  const engine = openEngine(config.socketPath, config.deadlines)
  const boxesDir = realpathSync(config.boxesDir)
  const owner: Owner = {
    hash: createHash('sha256').update(boxesDir).digest('hex').slice(0, 12),
    generation: `${process.pid}-${randomBytes(4).toString('hex')}`,
  }
  const bases = [
    { given: resolve(config.boxesDir), real: boxesDir, writable: true },
    ...(config.resourceDirs ?? []).map((dir) => ({ given: resolve(dir), real: realpathSync(dir), writable: false })),
  ]
  const boxes = new Map<string, ContainerBox>()
  const frozen = new Map<string, Promise<void>>()
  const lost = createLost(engine)
  let facts: Promise<EngineReport> | undefined
  let report: Promise<ProviderReport> | undefined
  let reaped: Promise<number> | undefined
  let isClosed = false
  let count = 0

  const ready = (): Promise<EngineReport> => {
    facts ??= lookAtEngine(engine, config.image ?? defaultImage, config.runtime ?? 'runc')
    // An engine that was started, or given its image, must not need a restart of the app.
    facts.catch(() => {
      facts = undefined
    })
    return facts
  }

  const requireOpen = (): void => {
    if (isClosed) throw new KernelError('unavailable', 'the sandbox has been closed: the app is ending')
  }

  const limitsOf = (name: ProfileName): BoxLimits => ({ ...profiles[name].limits, ...config.limits?.[name] })
  const mountsOf = async (profile: Profile, mounts: BoxMounts): Promise<ResolvedMount[]> => [
    ...kernelMounts(config, profile),
    ...(await resolveMounts(profile, mounts, bases, process.getuid?.() === 0)),
  ]

  /** @throws KernelError; a container that may have been made all the same is given up, and removed later. */
  const create = async (request: ContainerRequest): Promise<Container> => {
    const options = createOptions(await ready(), request)
    try {
      return await engine.call('make a box', (stop) => engine.docker.createContainer({ ...options, ...stop }))
    } catch (error) {
      if (isEngineLost(error)) lost.add(request.name)
      throw error
    }
  }

  const images = snapshotImages(engine, owner, config.clock, config.flattenLayers)
  const tasks = taskContainers({
    engine,
    owner,
    images,
    mounts: (place) => mountsOf(profiles.task, { ...place.mounts, root: undefined }),
    imageId: async ({ image }) => {
      const { imageId } = await ready()
      return image === undefined ? imageId : packImage(engine, image)
    },
    create: (request) => create({ ...request, limits: limitsOf('task'), environment: environment(profiles.task, {}) }),
    standing: (label, container) => new TaskContainer(engine, config.clock, owner.generation, label, container),
  })

  /** What earlier kernels left, once; an engine may come back after the app has started. */
  const endEarlier = async (): Promise<number> => {
    const ended = (await killOrphans(engine, owner, boxes)) + (await tasks.fence())
    await images.collect()
    return ended
  }

  /** Nothing new is started beside what is to be dead. */
  const fence = async (): Promise<void> => {
    await lost.fence()
    reaped ??= endEarlier()
    reaped.catch(() => {
      reaped = undefined
    })
    await reaped
  }

  const start = async (spec: BoxSpec): Promise<Box> => {
    checkSpec(spec)
    const profile = profiles[spec.profile]
    if (profile === undefined) throw new KernelError('invalid', `there is no box profile "${spec.profile}"`)
    const variables = environment(profile, spec)
    await ready()
    while (frozen.has(spec.label)) await frozen.get(spec.label)
    await fence()
    requireOpen()
    const task = spec.profile === 'task' && spec.mounts.root !== undefined ? tasks.get(spec.label) : undefined
    if (task !== undefined) return task.start(spec, variables, spec.cwd ?? profile.cwd)
    return startContainer(spec, profile, variables)
  }

  const startContainer = async (spec: BoxSpec, profile: Profile, variables: string[]): Promise<ContainerBox> => {
    const mounts = await mountsOf(profile, spec.mounts)
    const { state } = spec
    const imageId = state === undefined ? (await ready()).imageId : await images.idOf(state.place, state.snapshot)
    count += 1
    const id = `${owner.generation}-${count}`
    const name = `exodesk-${owner.hash}.${id}`
    const isMounted = (at: string): boolean => state !== undefined || mounts.some((mount) => mount.at === at)
    const container = await create({
      name,
      imageId,
      argv: spec.argv,
      cwd: spec.cwd ?? (isMounted(profile.cwd) ? profile.cwd : '/'),
      environment: variables,
      labels: labelsOf(owner, 'box', spec),
      profile,
      limits: limitsOf(spec.profile),
      mounts,
      hasOwnTmp: state !== undefined,
      needsInit: true,
    })
    try {
      const box = await ContainerBox.start(engine, id, spec, container)
      boxes.set(id, box)
      void box.exited.then(() => {
        if (box.isLost) lost.add(name)
        boxes.delete(id)
      })
      if (isClosed) await box.kill()
      return box
    } catch (error) {
      if (isEngineLost(error)) lost.add(name)
      throw error
    }
  }

  const run: SandboxProvider['run'] = async (spec, options = {}) => {
    if (options.signal?.aborted) throw new KernelError('cancelled', 'the command was cancelled')
    const output = await collect(await start(spec), config.clock, options)
    // So the engine says that a command could not be started in a container, on the command's own stream.
    if (
      output.exitCode === 126 &&
      output.stdout.subarray(0, 24).toString('latin1').startsWith('OCI runtime exec failed')
    )
      throw new KernelError(
        'unavailable',
        `the box could not be made: ${output.stdout.toString('utf8').trim().slice(0, 500)}`,
      )
    return output
  }

  const own = (label?: string): ContainerBox[] =>
    [...boxes.values()].filter((box) => label === undefined || box.spec.label === label)

  const makeReport = async (): Promise<ProviderReport> => {
    try {
      const { detail, weaknesses } = await ready()
      const argv = ['/exodesk/bin/node', '-e', '0']
      const trial = await run({ profile: 'executor', label: 'report', mounts: {}, argv, timeoutMs: 60_000 })
      if (trial.exitCode !== 0)
        throw missing(`a trial box failed: ${trial.stderr.toString('utf8').trim().slice(0, 300)}`, buildImageFix)
      return { name: 'docker', available: true, detail: [detail, ...weaknesses].join(', ') }
    } catch (error) {
      // Asked again after a while, so that a machine that was mended needs no restart.
      setTimeout(() => {
        report = undefined
      }, badReportMs).unref()
      if (!(error instanceof KernelError)) throw error
      const { reason = error.message, fix } = (error.details ?? {}) as { reason?: string; fix?: string }
      const engineAnswers = !isEngineLost(error)
      const detail = engineAnswers ? 'the Docker engine cannot be used' : 'no Docker engine'
      return { name: 'docker', available: false, detail, reason, engineAnswers, ...(fix === undefined ? {} : { fix }) }
    }
  }

  return {
    name: 'docker',
    report() {
      report ??= makeReport()
      return report
    },
    start,
    run,
    async freeze(label) {
      while (frozen.has(label)) await frozen.get(label)
      let release: () => void = () => {}
      frozen.set(label, new Promise((done) => (release = done)))
      const thaws: (() => Promise<void>)[] = []
      const thaw = async (): Promise<void> => {
        for (const go of thaws.splice(0)) await go()
        frozen.delete(label)
        release()
      }
      try {
        const task = tasks.get(label)
        if (task !== undefined) thaws.push(await task.pause())
        for (const box of own(label)) thaws.push(await pauseContainer(engine, box.container))
        return { thaw }
      } catch (error) {
        await thaw()
        throw error
      }
    },
    async killAll(label) {
      const mine = own(label)
      await Promise.all(mine.map((box) => box.kill()))
      // Where no engine answers, what an earlier kernel left is ended when one does.
      const earlier = async (): Promise<number> =>
        (tasks.get(label) === undefined ? await tasks.fence(label) : 0) +
        (await killOrphans(engine, owner, boxes, label))
      const inTask = (await tasks.get(label)?.end()) ?? 0
      return mine.length + inTask + (await earlier().catch(unlessLost))
    },
    async open(place) {
      checkLabel(place.label)
      await fence()
      requireOpen()
      await tasks.open(place)
    },
    snapshot: tasks.snapshot,
    async restore(place, name) {
      await fence()
      await tasks.restore(place, name)
    },
    async clone(place, name, to) {
      checkLabel(to.label)
      await fence()
      requireOpen()
      await tasks.clone(place, name, to)
    },
    snapshots: images.list,
    forget: images.forget,
    destroy: tasks.destroy,
    reap: () => {
      reaped ??= endEarlier()
      return reaped
    },
    async close() {
      isClosed = true
      await Promise.all([...own().map((box) => box.kill()), tasks.close()])
      lost.close()
    },
  }
}

function unlessLost(error: unknown): number {
  if (isEngineLost(error)) return 0
  throw error
}
