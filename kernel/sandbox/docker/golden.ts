import type { HostConfig } from './engine.ts'

/** What an engine's defaults are is left out; everything else that a container has shows. */
export function plain(config: object, boxesDir: string): Record<string, unknown> {
  const text = JSON.stringify(config, (key, value: unknown) => {
    if (key === 'SecurityOpt') return (value as string[]).map((option) => option.replace(/^(seccomp=).*$/s, '$1'))
    return value
  })
  const kept = JSON.parse(text.replaceAll(boxesDir, 'BOXES').replaceAll(process.execPath, 'NODE')) as HostConfig
  const mounts = (kept.Mounts ?? []).map(({ Source, Target, ReadOnly, ...rest }) => {
    const isUsual = JSON.stringify(rest) === '{"Type":"bind","BindOptions":{"Propagation":"rprivate"}}'
    return `${Source} ${Target} ${ReadOnly ? 'ro' : 'rw'}${isUsual ? '' : JSON.stringify(rest)}`
  })
  const all = {
    ...kept,
    Mounts: mounts,
    MaskedPaths: kept.MaskedPaths?.length,
    ReadonlyPaths: kept.ReadonlyPaths?.length,
  }
  return Object.fromEntries(
    Object.entries(all).filter(
      ([, value]) => value && !['[]', '{}', '[0,0]'].includes(JSON.stringify(value)) && value !== 'default',
    ),
  )
}

const GiB = 1024 ** 3
const MiB = 1024 ** 2

function golden(of: {
  memory: number
  pids: number
  nofile: number
  fileBytes: number
  cpus: number
  tmpBytes: number
  more: Record<string, unknown>
  mounts: string[]
  cpuSeconds?: number
}): Record<string, unknown> {
  const limit = (Name: string, value: number) => ({ Name, Hard: value, Soft: value })
  return {
    Runtime: 'runc',
    NetworkMode: 'none',
    Dns: ['127.0.0.1'],
    DnsSearch: ['.'],
    IpcMode: 'private',
    CgroupnsMode: 'private',
    LogConfig: { Type: 'none', Config: {} },
    RestartPolicy: { Name: 'no', MaximumRetryCount: 0 },
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges:true', 'seccomp='],
    OomScoreAdj: 500,
    MaskedPaths: 29,
    ReadonlyPaths: 5,
    Memory: of.memory,
    MemorySwap: of.memory,
    PidsLimit: of.pids,
    NanoCpus: of.cpus * 1e9,
    ShmSize: of.tmpBytes,
    Ulimits: [
      limit('nofile', of.nofile),
      limit('fsize', of.fileBytes),
      limit('core', 0),
      ...(of.cpuSeconds === undefined ? [] : [limit('cpu', of.cpuSeconds)]),
    ],
    Mounts: ['NODE /exodesk/bin/node ro', ...of.mounts],
    ...of.more,
  }
}

const tmp = (bytes: number) => ({ Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,size=${bytes},mode=1777` } })
const fixed = { Init: true, ReadonlyRootfs: true }
const small = { memory: 512 * MiB, pids: 64, nofile: 256, cpus: 1, tmpBytes: 64 * MiB }
const work = { memory: 4 * GiB, pids: 512, nofile: 4096, fileBytes: 4 * GiB, cpus: 2, tmpBytes: 256 * MiB }

/** What a container of each profile must be, to the letter. Written out beside the code, not derived from it. */
export const goldenHostConfig: Readonly<Record<string, Record<string, unknown>>> = {
  executor: golden({
    ...{ ...small, fileBytes: 64 * MiB, more: { ...fixed, ...tmp(64 * MiB) } },
    mounts: ['BOXES/revision /revision ro'],
  }),
  boot: golden({
    ...{ ...small, fileBytes: 64 * MiB, more: { ...fixed, ...tmp(64 * MiB) } },
    mounts: ['BOXES/revision /revision ro'],
  }),
  check: golden({
    ...{ memory: 2 * GiB, pids: 128, nofile: 1024, fileBytes: 64 * MiB, cpus: 2, tmpBytes: 128 * MiB, cpuSeconds: 300 },
    more: { ...fixed, ...tmp(128 * MiB) },
    mounts: ['BOXES/revision /revision ro', 'BOXES/policy /policy ro'],
  }),
  world: golden({
    ...{ ...small, fileBytes: 256 * MiB, more: { ...fixed, ...tmp(64 * MiB) } },
    mounts: ['BOXES/journal /world/journal rw', 'BOXES/socket /run/world rw', 'BOXES/program /world/program ro'],
  }),
  /** The standing container: its state lies in its own root. */
  task: golden({ ...work, more: {}, mounts: ['BOXES/policy /policy rw'] }),
  verifier: golden({
    ...{ ...work, cpuSeconds: 1800, more: { Init: true, ...tmp(256 * MiB) } },
    mounts: ['BOXES/tests /tests ro', 'BOXES/logs /logs/verifier rw'],
  }),
}
