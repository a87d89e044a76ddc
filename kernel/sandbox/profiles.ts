import type { BoxLimits, BoxMounts, ProfileName } from './sandbox.ts'

/** A place at which a profile mounts one folder; nothing else of the host can be had. */
export interface Place {
  role: keyof BoxMounts
  at: string
  writable: boolean
  /** A folder inside the role's folder, made with this mode where it is missing. */
  part?: { name: string; mode: number }
}

/** All that a box of one profile may see and use. Constant: a caller chooses the profile, never its content. */
export interface Profile {
  name: ProfileName
  places: readonly Place[]
  /** Where the command starts, if that is mounted; else `/`. */
  cwd: string
  home: string
  path: string
  /** Runs commands of any kind, which may open /dev/stdin, /dev/stdout and /dev/stderr. */
  shell: boolean
  /** With the type checker at /exodesk/checker. */
  checker: boolean
  /** Size of /tmp where no folder is mounted there, and of /dev/shm, bytes. */
  tmpBytes: number
  limits: Readonly<BoxLimits>
}

/** The user that every command in a box runs as. */
export const boxUser = { uid: 65534, gid: 65534 } as const

const MiB = 1024 * 1024
const systemPath = '/exodesk/bin:/usr/local/bin:/usr/bin:/bin'

const workPlaces: readonly Place[] = [
  { role: 'root', at: '/task', writable: true, part: { name: 'task', mode: 0o755 } },
  { role: 'root', at: '/home/agent', writable: true, part: { name: 'home', mode: 0o755 } },
  { role: 'root', at: '/opt', writable: true, part: { name: 'opt', mode: 0o755 } },
  { role: 'root', at: '/tmp', writable: true, part: { name: 'tmp', mode: 0o1777 } },
]

const workLimits: BoxLimits = {
  memoryBytes: 4096 * MiB,
  pids: 512,
  nofile: 4096,
  fileBytes: 4096 * MiB,
  cpuSeconds: null,
}

const executor: Profile = {
  name: 'executor',
  places: [{ role: 'revision', at: '/revision', writable: false }],
  cwd: '/revision',
  home: '/tmp',
  path: systemPath,
  shell: false,
  checker: false,
  tmpBytes: 64 * MiB,
  limits: { memoryBytes: 512 * MiB, pids: 64, nofile: 256, fileBytes: 64 * MiB, cpuSeconds: null },
}

export const profiles: Readonly<Record<ProfileName, Profile>> = {
  executor,
  /** For unapproved trees, in boot checks and replays: what an executor has, and not a byte more. */
  boot: { ...executor, name: 'boot' },
  check: {
    name: 'check',
    places: [
      { role: 'revision', at: '/revision', writable: false },
      { role: 'policy', at: '/policy', writable: false },
    ],
    cwd: '/revision',
    home: '/tmp',
    path: systemPath,
    shell: false,
    checker: true,
    tmpBytes: 128 * MiB,
    limits: { memoryBytes: 2048 * MiB, pids: 128, nofile: 1024, fileBytes: 64 * MiB, cpuSeconds: 300 },
  },
  task: {
    name: 'task',
    places: [
      ...workPlaces,
      { role: 'policy', at: '/policy', writable: true },
      { role: 'socket', at: '/run/world', writable: false },
      { role: 'program', at: '/exodesk/pack', writable: false },
      { role: 'endpoints', at: '/run/endpoints', writable: false },
    ],
    cwd: '/task',
    home: '/home/agent',
    path: `/exodesk/pack/bin:${systemPath}`,
    shell: true,
    checker: false,
    tmpBytes: 256 * MiB,
    limits: workLimits,
  },
  world: {
    name: 'world',
    places: [
      { role: 'journal', at: '/world/journal', writable: true },
      { role: 'socket', at: '/run/world', writable: true },
      { role: 'program', at: '/world/program', writable: false },
    ],
    cwd: '/world/program',
    home: '/tmp',
    path: systemPath,
    shell: false,
    checker: false,
    tmpBytes: 64 * MiB,
    limits: { memoryBytes: 512 * MiB, pids: 64, nofile: 256, fileBytes: 256 * MiB, cpuSeconds: null },
  },
  verifier: {
    name: 'verifier',
    places: [
      ...workPlaces,
      { role: 'tests', at: '/tests', writable: false },
      { role: 'logs', at: '/logs/verifier', writable: true },
    ],
    cwd: '/task',
    home: '/home/agent',
    path: systemPath,
    shell: true,
    checker: false,
    tmpBytes: 256 * MiB,
    limits: { ...workLimits, cpuSeconds: 1800 },
  },
}
