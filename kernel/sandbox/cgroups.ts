import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BoxLimits } from './sandbox.ts'

/** What control groups can do for boxes on this machine; the rest falls to rlimits and signals. */
export interface CgroupPowers {
  memory: boolean
  pids: boolean
  freeze: boolean
}

/** The control groups of one box, one folder per hierarchy in use. */
export interface BoxCgroup {
  /** A process joins by writing 0 to each of these. */
  readonly joinFiles: string[]
  processes(): number[]
  setFrozen(frozen: boolean): void
  isFrozen(): boolean
  /** How often the memory limit ended a process. */
  oomKills(): number
  /** Removes the folders; false while processes are left. */
  remove(): boolean
}

export interface Cgroups {
  readonly powers: CgroupPowers
  /** For the status strip: `cgroup v1 limits`. */
  readonly detail: string
  create(id: string, limits: BoxLimits): BoxCgroup
  /** Ids of the groups that exist, also those that an earlier kernel left. */
  ids(): string[]
  open(id: string): BoxCgroup
}

interface Hierarchy {
  kind: 'v1' | 'v2'
  /** This process's own folder in it: boxes become its children. */
  base: string
  powers: CgroupPowers
}

/**
 * The hierarchies in which this process may make groups: those of v1 for root, else a delegated folder of v2.
 *
 * @param prefix marks the groups of one data directory.
 * @param use `none`, or one version only, for machines with both (and tests).
 */
export function openCgroups(prefix: string, use: 'auto' | 'v1' | 'v2' | 'none' = 'auto'): Cgroups | null {
  if (use === 'none' || process.platform !== 'linux') return null
  const found = findHierarchies(`${prefix}.probe-${process.pid}`).filter(({ kind }) => use === 'auto' || kind === use)
  const chosen: Hierarchy[] = []
  const powers: CgroupPowers = { memory: false, pids: false, freeze: false }
  // One that can do most comes first; a hierarchy that adds nothing is left alone.
  found.sort((a, b) => countPowers(b.powers) - countPowers(a.powers))
  for (const hierarchy of found) {
    const adds = powerNames.filter((power) => hierarchy.powers[power] && !powers[power])
    if (adds.length === 0) continue
    for (const power of adds) powers[power] = true
    chosen.push({ ...hierarchy, powers: only(adds) })
  }
  if (chosen.length === 0) return null
  const limits = (['memory', 'pids'] as const).filter((power) => powers[power])
  return {
    powers,
    detail: `cgroup ${chosen[0]?.kind} ${limits.length > 0 ? `limits (${limits.join(', ')})` : 'freezer'}`,
    create(id, boxLimits) {
      const folders = chosen.map((hierarchy) => ({ ...hierarchy, folder: join(hierarchy.base, `${prefix}.${id}`) }))
      for (const { folder, kind, powers: used } of folders) {
        mkdirSync(folder)
        setLimits(folder, kind, used, boxLimits)
      }
      return group(folders)
    },
    ids() {
      const names = chosen.flatMap(({ base }) => readdirSync(base).filter((name) => name.startsWith(`${prefix}.`)))
      return [...new Set(names)].map((name) => name.slice(prefix.length + 1)).filter((id) => !id.startsWith('probe-'))
    },
    open: (id) => group(chosen.map((hierarchy) => ({ ...hierarchy, folder: join(hierarchy.base, `${prefix}.${id}`) }))),
  }
}

const powerNames = ['memory', 'pids', 'freeze'] as const

function countPowers(powers: CgroupPowers): number {
  return powerNames.filter((power) => powers[power]).length
}

function only(names: readonly (keyof CgroupPowers)[]): CgroupPowers {
  return { memory: names.includes('memory'), pids: names.includes('pids'), freeze: names.includes('freeze') }
}

function findHierarchies(probe: string): Hierarchy[] {
  const own = new Map(
    readLines('/proc/self/cgroup').map((line) => {
      const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
      return [controllers, path] as const
    }),
  )
  const hierarchies: Hierarchy[] = []
  for (const line of readLines('/proc/self/mounts')) {
    const [, mountPoint = '', type, options = ''] = line.split(' ')
    if (type !== 'cgroup' && type !== 'cgroup2') continue
    const controllers =
      type === 'cgroup2'
        ? ''
        : [...own.keys()].find((key) => key.split(',').some((c) => options.split(',').includes(c)))
    if (controllers === undefined) continue
    for (const base of [join(mountPoint, own.get(controllers) ?? '/'), mountPoint]) {
      const powers = tryGroup(base, probe)
      if (powers === null) continue
      hierarchies.push({ kind: type === 'cgroup2' ? 'v2' : 'v1', base, powers })
      break
    }
  }
  return hierarchies
}

/** Makes a group for a moment and looks at what it offers; null where none can be made. */
function tryGroup(base: string, name: string): CgroupPowers | null {
  const folder = join(base, name)
  try {
    // Fails unless the parent has no processes of its own or is the root: then this hierarchy only freezes.
    attempt(() => writeFileSync(join(base, 'cgroup.subtree_control'), '+memory +pids'))
    mkdirSync(folder)
  } catch {
    return null
  }
  try {
    const offers = new Set(readdirSync(folder))
    return {
      memory: offers.has('memory.max') || offers.has('memory.limit_in_bytes'),
      pids: offers.has('pids.max'),
      freeze: offers.has('cgroup.freeze') || offers.has('freezer.state'),
    }
  } finally {
    attempt(() => rmdirSync(folder))
  }
}

function setLimits(folder: string, kind: 'v1' | 'v2', powers: CgroupPowers, limits: BoxLimits): void {
  if (powers.pids) writeFileSync(join(folder, 'pids.max'), String(limits.pids))
  if (!powers.memory) return
  const bytes = String(limits.memoryBytes)
  if (kind === 'v1') {
    writeFileSync(join(folder, 'memory.limit_in_bytes'), bytes)
    // Absent where swap is not accounted for.
    attempt(() => writeFileSync(join(folder, 'memory.memsw.limit_in_bytes'), bytes))
  } else {
    writeFileSync(join(folder, 'memory.max'), bytes)
    attempt(() => writeFileSync(join(folder, 'memory.swap.max'), '0'))
    attempt(() => writeFileSync(join(folder, 'memory.oom.group'), '1'))
  }
}

function group(folders: (Hierarchy & { folder: string })[]): BoxCgroup {
  const freezer = folders.find(({ powers }) => powers.freeze)
  const memory = folders.find(({ powers }) => powers.memory)
  return {
    joinFiles: folders.map(({ folder }) => join(folder, 'cgroup.procs')),
    processes: () => [...new Set(folders.flatMap(({ folder }) => readLines(join(folder, 'cgroup.procs')).map(Number)))],
    setFrozen(frozen) {
      if (freezer === undefined) return
      const [file, value] =
        freezer.kind === 'v1' ? ['freezer.state', frozen ? 'FROZEN' : 'THAWED'] : ['cgroup.freeze', frozen ? '1' : '0']
      writeFileSync(join(freezer.folder, file), value)
    },
    isFrozen() {
      if (freezer === undefined) return false
      if (freezer.kind === 'v1') return readLines(join(freezer.folder, 'freezer.state'))[0] === 'FROZEN'
      return readLines(join(freezer.folder, 'cgroup.events')).includes('frozen 1')
    },
    oomKills() {
      if (memory === undefined) return 0
      const file = memory.kind === 'v1' ? 'memory.oom_control' : 'memory.events'
      const line = readLines(join(memory.folder, file)).find((text) => text.startsWith('oom_kill '))
      return Number(line?.split(' ')[1] ?? 0)
    },
    remove: () =>
      folders
        .map(({ folder }) => {
          try {
            rmdirSync(folder)
            return true
          } catch (error) {
            return (error as NodeJS.ErrnoException).code === 'ENOENT'
          }
        })
        .every(Boolean),
  }
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean)
  } catch {
    return []
  }
}

function attempt(action: () => void): void {
  try {
    action()
  } catch {
    // The caller looks at what came of it.
  }
}
