import { realpathSync } from 'node:fs'
import type { ResolvedMount } from '../mounts.ts'
import { boxUser, type Profile } from '../profiles.ts'
import type { BoxLimits, ProfileName } from '../sandbox.ts'
import type { ContainerCreateOptions, HostConfig } from './engine.ts'
import { dockerSeccomp } from './seccomp.ts'

/** What a container is made of beside its profile. */
export interface ContainerRequest {
  name: string
  /** By id, so that what was looked at is what runs. */
  imageId: string
  argv: string[]
  cwd: string
  environment: string[]
  labels: Record<string, string>
  profile: Profile
  limits: BoxLimits
  mounts: readonly ResolvedMount[]
  /** Its /tmp lies in the writable layer, and lasts as the layer does. */
  hasOwnTmp: boolean
  /** Its command is no first process: it neither reaps nor dies of every signal. */
  needsInit: boolean
}

export type Runtime = 'runc' | 'runsc'

/** What the engine's machine offers, of what a container is made with. */
export interface EngineFacts {
  runtime: Runtime
  cpus: number
}

/** Processors a profile may use; fewer where the machine has fewer. */
const cpus: Readonly<Record<ProfileName, number>> = { executor: 1, boot: 1, check: 2, task: 2, world: 1, verifier: 2 }
/** What is installed in the image lies in its root: these two change it, the others never. */
const writableRoot: readonly ProfileName[] = ['task', 'verifier']

const seccomp = dockerSeccomp()

/** What the image says of its own command, user, folder and health has no say. */
export function createOptions(facts: EngineFacts, request: ContainerRequest): ContainerCreateOptions {
  return {
    name: request.name,
    Image: request.imageId,
    Entrypoint: request.argv,
    Cmd: [],
    User: `${boxUser.uid}:${boxUser.gid}`,
    WorkingDir: request.cwd,
    Env: request.environment,
    Labels: request.labels,
    Hostname: 'exodesk',
    Healthcheck: { Test: ['NONE'] },
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    StdinOnce: true,
    Tty: false,
    HostConfig: hostConfig(facts, request),
  }
}

/**
 * All that a container of one profile may have: a constant, but for the folders that the profile has places for. Nothing
 * in it comes from a caller. It is applied again each time a container is made, whatever image it begins with.
 */
function hostConfig(
  facts: EngineFacts,
  { profile, limits, mounts, hasOwnTmp, needsInit }: ContainerRequest,
): HostConfig {
  const isMounted = (at: string): boolean => mounts.some((mount) => mount.at === at)
  return {
    Runtime: facts.runtime,
    NetworkMode: 'none',
    // Of the host's resolv.conf a container would have a copy.
    Dns: ['127.0.0.1'],
    DnsSearch: ['.'],
    DnsOptions: [],
    IpcMode: 'private',
    CgroupnsMode: 'private',
    PidMode: '',
    UTSMode: '',
    UsernsMode: '',
    Privileged: false,
    PublishAllPorts: false,
    AutoRemove: false,
    RestartPolicy: { Name: 'no' },
    LogConfig: { Type: 'none', Config: {} },
    CapAdd: [],
    CapDrop: ['ALL'],
    GroupAdd: [],
    SecurityOpt: ['no-new-privileges:true', ...(seccomp === null ? [] : [`seccomp=${seccomp}`])],
    Devices: [],
    DeviceRequests: [],
    VolumesFrom: [],
    Links: [],
    ExtraHosts: [],
    Init: needsInit,
    ReadonlyRootfs: !writableRoot.includes(profile.name),
    Memory: limits.memoryBytes,
    MemorySwap: limits.memoryBytes,
    OomKillDisable: false,
    // Goes before the kernel, and before the engine, where memory ends.
    OomScoreAdj: 500,
    PidsLimit: limits.pids,
    NanoCpus: Math.min(cpus[profile.name], facts.cpus) * 1e9,
    ShmSize: profile.tmpBytes,
    Ulimits: [
      ulimit('nofile', limits.nofile),
      ulimit('fsize', limits.fileBytes),
      ulimit('core', 0),
      ...(limits.cpuSeconds === null ? [] : [ulimit('cpu', limits.cpuSeconds)]),
    ],
    Tmpfs: hasOwnTmp || isMounted('/tmp') ? {} : { '/tmp': `rw,exec,nosuid,nodev,size=${profile.tmpBytes},mode=1777` },
    MaskedPaths: maskedPaths,
    ReadonlyPaths: readonlyPaths,
    Mounts: mounts.map(({ host, at: target, writable }) => ({
      Type: 'bind',
      Source: host,
      Target: target,
      ReadOnly: !writable,
      BindOptions: { Propagation: 'rprivate' },
    })),
  }
}

/** As Docker's own, and all of /sys but the box's own control group: what the machine is made of is nobody's business in a box. */
const maskedPaths = [
  ...['block', 'bus', 'class', 'dev', 'devices', 'firmware', 'hypervisor', 'kernel', 'module', 'power'].map(
    (name) => `/sys/${name}`,
  ),
  ...['bpf', 'btrfs', 'ext4', 'f2fs', 'fuse', 'pstore', 'resctrl', 'selinux', 'xfs'].map((name) => `/sys/fs/${name}`),
  ...['/proc/asound', '/proc/acpi', '/proc/kcore', '/proc/keys', '/proc/latency_stats', '/proc/timer_list'],
  ...['/proc/timer_stats', '/proc/sched_debug', '/proc/scsi', '/proc/interrupts'],
]
const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']

function ulimit(name: string, value: number): { Name: string; Soft: number; Hard: number } {
  return { Name: name, Soft: value, Hard: value }
}

/** What the kernel puts into every box of a profile: never writable. */
export function kernelMounts(
  { nodePath, checkerMounts }: { nodePath: string; checkerMounts: { host: string; at: string }[] },
  profile: Profile,
): ResolvedMount[] {
  const readOnly = ({ host, at }: { host: string; at: string }) => ({ host: realpathSync(host), at, writable: false })
  return [{ host: nodePath, at: '/exodesk/bin/node' }, ...(profile.checker ? checkerMounts : [])].map(readOnly)
}
