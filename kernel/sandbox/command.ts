import { readFileSync } from 'node:fs'
import { KernelError } from '../errors.ts'
import type { ResolvedMount } from './mounts.ts'
import { boxUser, type Profile } from './profiles.ts'
import type { BoxLimits, BoxSpec } from './sandbox.ts'

/** What a box's command line takes from the machine rather than from the profile. */
export interface Machine {
  asRoot: boolean
  /** /bin, /lib and so on: a link on most systems, a folder on others. */
  systemFolders: { at: string; link: string | null }[]
  /** Our own /etc: passwd, group, hosts, nsswitch.conf. */
  etcDir: string
  nodePath: string
  checkerMounts: { host: string; at: string }[]
  hasSeccomp: boolean
  /** Limits that no control group holds, so that rlimits must. */
  rlimit: { memory: boolean; pids: boolean }
}

export const etcFiles: Readonly<Record<string, string>> = {
  passwd: 'root:x:0:0:root:/nonexistent:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n',
  group: 'root:x:0:\nnogroup:x:65534:\n',
  hosts: '127.0.0.1 localhost\n::1 localhost\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
}

/** The arguments of bubblewrap, the box's own command included. Descriptors: 3 status, 4 system-call filter. */
export function bwrapArguments(
  machine: Machine,
  profile: Profile,
  limits: BoxLimits,
  spec: BoxSpec,
  mounts: readonly ResolvedMount[],
): string[] {
  const isMounted = (at: string): boolean => mounts.some((mount) => mount.at === at)
  const readOnly = (host: string, at: string): string[] => ['--ro-bind', host, at]
  const tmpfs = (at: string): string[] => ['--perms', '1777', '--size', String(profile.tmpBytes), '--tmpfs', at]
  return [
    ...['--unshare-net', '--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup-try'],
    ...(machine.asRoot
      ? ['--cap-drop', 'ALL', ...rootCapabilities.flatMap((name) => ['--cap-add', name])]
      : ['--unshare-user', '--disable-userns', '--uid', String(boxUser.uid), '--gid', String(boxUser.gid)]),
    ...['--new-session', '--die-with-parent', '--hostname', 'exodesk', '--json-status-fd', '3'],
    ...(machine.hasSeccomp ? ['--seccomp', '4'] : []),
    ...['--clearenv', '--setenv', 'PATH', '/usr/bin:/bin'],
    ...parentFolders(machine, profile, mounts).flatMap((at) => ['--dir', at]),
    ...readOnly('/usr', '/usr'),
    ...machine.systemFolders.flatMap(({ at, link }) => (link === null ? readOnly(at, at) : ['--symlink', link, at])),
    ...[
      '--ro-bind-try',
      '/etc/alternatives',
      '/etc/alternatives',
      '--ro-bind-try',
      '/etc/ld.so.cache',
      '/etc/ld.so.cache',
    ],
    ...Object.keys(etcFiles).flatMap((name) => readOnly(`${machine.etcDir}/${name}`, `/etc/${name}`)),
    ...['--proc', '/proc', '--dev', '/dev', ...tmpfs('/dev/shm')],
    ...(isMounted('/tmp') ? [] : tmpfs('/tmp')),
    ...readOnly(machine.nodePath, '/exodesk/bin/node'),
    ...(profile.checker ? machine.checkerMounts.flatMap(({ host, at }) => readOnly(host, at)) : []),
    ...mounts.flatMap(({ host, at, writable }) => [writable ? '--bind' : '--ro-bind', host, at]),
    // Both are tmpfs of the box's user otherwise: room outside every limit.
    ...['--remount-ro', '/dev', '--remount-ro', '/'],
    ...['--chdir', spec.cwd ?? (isMounted(profile.cwd) ? profile.cwd : '/')],
    ...['--', ...limitArguments(limits, machine.rlimit)],
    ...(machine.asRoot ? dropRoot : []),
    // Last, so that no variable of the caller's (LD_PRELOAD) reaches a program that still may change its user.
    ...['/usr/bin/env', '-i', '--', ...environment(profile, spec), ...spec.argv],
  ]
}

/** Made beforehand: bubblewrap would make them for its own user alone. */
function parentFolders(machine: Machine, profile: Profile, mounts: readonly ResolvedMount[]): string[] {
  const parents = new Set(['/etc', '/exodesk', '/exodesk/bin'])
  for (const { at } of [...mounts, ...(profile.checker ? machine.checkerMounts : [])]) {
    const steps = at.split('/').slice(1, -1)
    for (const index of steps.keys()) parents.add(`/${steps.slice(0, index + 1).join('/')}`)
  }
  return [...parents]
}

// As root there is no user namespace (it would only rename uid 0), so the command drops to nobody itself.
const rootCapabilities = ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP']
const dropRoot = [
  ...['/usr/bin/setpriv', '--reuid', String(boxUser.uid), '--regid', String(boxUser.gid), '--clear-groups'],
  ...['--inh-caps=-all', '--bounding-set=-all', '--no-new-privs', '--'],
]

/** V8 reserves it at start, mostly unused, as data of the process. */
const v8CodeRangeBytes = 512 * 1024 * 1024

function limitArguments(limits: BoxLimits, rlimit: Machine['rlimit']): string[] {
  const wanted: [flag: string, name: string, value: number | null][] = [
    ['nofile', 'Max open files', limits.nofile],
    ['fsize', 'Max file size', limits.fileBytes],
    ['core', 'Max core file size', 0],
    ['cpu', 'Max cpu time', limits.cpuSeconds],
    // Not the address space: V8 and Go reserve far more of it than they use.
    ['data', 'Max data size', rlimit.memory ? limits.memoryBytes + v8CodeRangeBytes : null],
    // Counted within the box's user namespace since Linux 5.14.
    ['nproc', 'Max processes', rlimit.pids ? limits.pids : null],
  ]
  return [
    '/usr/bin/prlimit',
    ...wanted.flatMap(([flag, name, value]) =>
      value === null ? [] : [`--${flag}=${Math.min(value, hardLimit(name))}`],
    ),
    '--',
  ]
}

let ownLimits: string[] | undefined

/** A hard limit of this process: a box's cannot be higher. */
function hardLimit(name: string): number {
  ownLimits ??= readFileSync('/proc/self/limits', 'utf8').split('\n')
  const line = ownLimits.find((text) => text.startsWith(name)) ?? ''
  const hard = line.slice(name.length).trim().split(/\s+/)[1]
  return hard === undefined || hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard)
}

/** Of the box's own command, as `NAME=value`. @throws KernelError `invalid`. */
export function environment(profile: Profile, spec: Pick<BoxSpec, 'env'>): string[] {
  const variables = { PATH: profile.path, HOME: profile.home, LANG: 'C.UTF-8', TERM: 'dumb', ...spec.env }
  return Object.entries(variables).map(([name, value]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || typeof value !== 'string' || value.includes('\0')) {
      throw new KernelError('invalid', `environment variable ${JSON.stringify(name)} cannot be set in a box`)
    }
    return `${name}=${value}`
  })
}

/** @throws KernelError `invalid`. */
export function checkLabel(label: string): void {
  if (!/^[A-Za-z0-9._-]{1,120}$/.test(label))
    throw new KernelError('invalid', 'a box cannot be started: its label must be 1 to 120 of A-Z a-z 0-9 . _ -')
}

/** @throws KernelError `invalid` for a spec that no provider could start. */
export function checkSpec(spec: BoxSpec): void {
  const refuse = (what: string): KernelError => new KernelError('invalid', `a box cannot be started: ${what}`)
  checkLabel(spec.label)
  const [command] = spec.argv
  if (command === undefined || command === '' || command.includes('=')) throw refuse('it needs a command without "="')
  if (spec.argv.some((argument) => argument.includes('\0'))) throw refuse('an argument holds a NUL character')
  if (spec.state !== undefined && (spec.profile !== 'verifier' || spec.mounts.root !== undefined))
    throw refuse('only a verifier begins with a snapshot, and then it has no other root')
  const { cwd, timeoutMs } = spec
  if (cwd !== undefined && (!cwd.startsWith('/') || cwd.includes('\0'))) throw refuse('cwd must be an absolute path')
  if (timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs < 2 ** 31)) throw refuse('timeoutMs is out of range')
}
