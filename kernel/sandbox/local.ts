import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import { type Launch, LocalBox, launchError } from './box.ts'
import { type BoxCgroup, type CgroupPowers, openCgroups } from './cgroups.ts'
import { collect } from './collect.ts'
import { bwrapArguments, checkSpec } from './command.ts'
import { type Host, namespaceFix, prepareHost } from './host.ts'
import { resolveMounts } from './mounts.ts'
import { killOrphans, markerOf } from './orphans.ts'
import { profiles } from './profiles.ts'
import type { Box, BoxLimits, BoxSpec, ProfileName, ProviderReport, RunOutput, SandboxProvider } from './sandbox.ts'
import { localSnapshots } from './snapshots/local-snapshots.ts'

export interface LocalConfig {
  /** `DATA/boxes`: exists. Only folders below it are mounted. */
  boxesDir: string
  /** Host path of the Node 24 binary that boxes see at /exodesk/bin/node. */
  nodePath: string
  /** What the check profile sees on top; `at` lies at or below /exodesk/checker. */
  checkerMounts: { host: string; at: string }[]
  /** Further folders that may be mounted, read-only: pack programs and tests shipped with the app. */
  resourceDirs?: string[]
  /** Default: found on PATH. */
  bwrapPath?: string
  /** Smaller (or, on a large machine, larger) limits than the profile's own. */
  limits?: Partial<Record<ProfileName, Partial<BoxLimits>>>
  /** Default `auto`: what this process may use. */
  cgroups?: 'auto' | 'v1' | 'v2' | 'none'
  clock: Clock
}

/**
 * Boxes by bubblewrap on this machine. Everything a box may have is in its profile; each start is a new box with
 * namespaces of its own, and every process in it ends with its main process, with `kill`, and with this process.
 */
export function localProvider(config: LocalConfig): SandboxProvider {
  const boxesDir = realpathSync(config.boxesDir)
  const hash = createHash('sha256').update(boxesDir).digest('hex').slice(0, 12)
  const bases = [
    { given: resolve(config.boxesDir), real: boxesDir, writable: true },
    ...(config.resourceDirs ?? []).map((dir) => ({ given: resolve(dir), real: realpathSync(dir), writable: false })),
  ]
  for (const { at } of config.checkerMounts) {
    if (!/^\/exodesk\/checker(\/|$)/.test(at) || resolve(at) !== at) {
      throw new KernelError('invalid', `a checker folder must be mounted at or below /exodesk/checker, not at ${at}`)
    }
  }
  const cgroups = openCgroups(`exodesk-${hash}`, config.cgroups)
  const powers: CgroupPowers = cgroups?.powers ?? { memory: false, pids: false, freeze: false }
  const boxes = new Map<string, LocalBox>()
  const snapshots = localSnapshots([resolve(config.boxesDir), boxesDir], config.clock)
  const frozen = new Map<string, Promise<void>>()
  let host: Promise<Host> | undefined
  let report: Promise<ProviderReport> | undefined
  let isClosed = false
  let count = 0

  const ready = (): Promise<Host> => {
    host ??= prepareHost(config, boxesDir, powers)
    // A machine that was mended (bubblewrap installed) must not need a restart.
    host.catch(() => {
      host = undefined
    })
    return host
  }

  const start = async (spec: BoxSpec): Promise<LocalBox> => {
    checkSpec(spec)
    if (spec.state === undefined) return startBox(spec)
    const { state, ...rest } = spec
    const copy = await snapshots.materialise(state.place, state.snapshot)
    const remove = (): void => void copy.remove().catch(() => {})
    try {
      const box = await startBox({ ...rest, mounts: { ...spec.mounts, root: copy.root } })
      void box.exited.then(remove)
      return box
    } catch (error) {
      remove()
      throw error
    }
  }

  const startBox = async (spec: BoxSpec): Promise<LocalBox> => {
    const profile = profiles[spec.profile]
    if (profile === undefined) throw new KernelError('invalid', `there is no box profile "${spec.profile}"`)
    const { machine, bash, bwrap, seccompFile } = await ready()
    const mounts = await resolveMounts(profile, spec.mounts, bases, machine.asRoot)
    const limits = { ...profile.limits, ...config.limits?.[spec.profile] }
    const commandLine = bwrapArguments(machine, profile, limits, spec, mounts)
    while (frozen.has(spec.label)) await frozen.get(spec.label)
    // From here to the table without a pause: `freeze` and `close` see every box.
    if (isClosed) throw new KernelError('unavailable', 'the sandbox has been closed: the app is ending')
    count += 1
    const id = `${process.pid}-${count}-${Date.now().toString(36)}`
    const marker = markerOf(hash, spec.label, id)
    const box = launchBox(
      id,
      spec,
      { bash, bwrap, seccompFile, pipes: profile.shell, arguments: commandLine, marker },
      () => cgroups?.create(id, limits),
    )
    boxes.set(id, box)
    void box.exited.finally(() => boxes.delete(id))
    await box.started.catch(async (error: unknown) => {
      await box.exited
      throw error
    })
    return box
  }

  const run: SandboxProvider['run'] = async (spec, options = {}): Promise<RunOutput> => {
    if (options.signal?.aborted) throw new KernelError('cancelled', 'the command was cancelled')
    const box = await start(spec)
    const output = await collect(box, config.clock, options)
    if (box.setupFailed) {
      const [line = 'no reason given'] = output.stderr.toString('utf8').trim().split('\n')
      throw new KernelError('unavailable', `the box could not be made: ${line}`)
    }
    return output
  }

  const own = (label?: string): LocalBox[] =>
    [...boxes.values()].filter((box) => label === undefined || box.spec.label === label)

  const makeReport = async (): Promise<ProviderReport> => {
    try {
      const { detail, weaknesses } = await ready()
      const trial = await run({ profile: 'executor', label: 'report', mounts: {}, argv: ['true'], timeoutMs: 20_000 })
      if (trial.exitCode !== 0)
        throw new KernelError('unavailable', `a trial box failed: ${trial.stderr.toString('utf8')}`)
      const limits = cgroups?.detail ?? 'limits per process (no control group)'
      return { name: 'local', available: true, detail: [detail, limits, ...weaknesses].join(', ') }
    } catch (error) {
      report = undefined
      if (!(error instanceof KernelError)) throw error
      const fix = error.details?.fix ?? namespaceFix()
      return {
        name: 'local',
        available: false,
        detail: 'no local box',
        // A report gives what is wrong and what mends it apart.
        reason: typeof error.details?.reason === 'string' ? error.details.reason : error.message,
        ...(typeof fix === 'string' ? { fix } : {}),
      }
    }
  }

  const freeze: SandboxProvider['freeze'] = async (label) => {
    while (frozen.has(label)) await frozen.get(label)
    let release: () => void = () => {}
    frozen.set(label, new Promise((done) => (release = done)))
    const thaws: (() => void)[] = []
    const thaw = async (): Promise<void> => {
      for (const go of thaws.splice(0)) go()
      frozen.delete(label)
      release()
    }
    try {
      for (const box of own(label)) thaws.push(await box.freeze(powers.freeze))
      return { thaw }
    } catch (error) {
      await thaw()
      throw error
    }
  }

  /** With every box of the label stopped, and none beginning. */
  const stopped = async <T>(label: string, work: () => Promise<T>): Promise<T> => {
    const frozen = await freeze(label)
    try {
      return await work()
    } finally {
      await frozen.thaw()
    }
  }

  const killAll: SandboxProvider['killAll'] = async (label) => {
    const mine = own(label)
    await Promise.all(mine.map((box) => box.kill()))
    return mine.length + (await killOrphans({ hash, label, keep: new Set(boxes.keys()), cgroups }))
  }

  return {
    name: 'local',
    report() {
      report ??= makeReport()
      return report
    },
    start: (spec): Promise<Box> => start(spec),
    run,
    freeze,
    killAll,
    open: (place) => snapshots.open(place),
    snapshot: (place, name) => stopped(place.label, () => snapshots.take(place, name)),
    async restore(place, name) {
      if (!(await snapshots.list(place)).some((snapshot) => snapshot.name === name))
        throw new KernelError('not-found', `there is no snapshot ${name}`)
      await killAll(place.label)
      await stopped(place.label, () => snapshots.restore(place, name))
    },
    clone: (place, name, to) => snapshots.clone(place, name, to),
    snapshots: (place) => snapshots.list(place),
    forget: (place, name) => snapshots.forget(place, name),
    async destroy(place) {
      await killAll(place.label)
      await snapshots.destroy(place)
    },
    reap: () => killOrphans({ hash, keep: new Set(boxes.keys()), cgroups }),
    async close() {
      isClosed = true
      await Promise.all(own().map((box) => box.kill()))
    },
  }
}

function launchBox(id: string, spec: BoxSpec, launch: Launch, makeGroup: () => BoxCgroup | undefined): LocalBox {
  let group: BoxCgroup | undefined
  try {
    group = makeGroup()
    return new LocalBox(id, spec, launch, group ?? null)
  } catch (error) {
    group?.remove()
    throw launchError(error as NodeJS.ErrnoException)
  }
}
