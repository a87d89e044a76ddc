import { constants } from 'node:fs'
import { lstat, mkdir, open } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { KernelError } from '../errors.ts'
import { boxUser, type Profile } from './profiles.ts'
import type { BoxMounts } from './sandbox.ts'

export interface ResolvedMount {
  host: string
  at: string
  writable: boolean
}

/** Folders that may be mounted from: as the caller writes them, and what they really are. */
export interface MountBase {
  given: string
  real: string
  /** Kernel resources are never writable. */
  writable: boolean
}

/**
 * The folders that a box mounts, each checked: it has a place in the profile, lies below a base, and no component on
 * the way to it is a link. As root, writable folders are given to the box's user and read-only ones must be readable by it.
 *
 * @throws KernelError `invalid` naming the role.
 */
export async function resolveMounts(
  profile: Profile,
  mounts: BoxMounts,
  bases: readonly MountBase[],
  asRoot: boolean,
): Promise<ResolvedMount[]> {
  const resolved: ResolvedMount[] = []
  for (const [role, path] of Object.entries(mounts) as [keyof BoxMounts, string | undefined][]) {
    if (path === undefined) continue
    const places = profile.places.filter((place) => place.role === role)
    if (places.length === 0) throw refuse(profile, role, 'this profile has no place for it')
    const writable = places.some((place) => place.writable)
    const folder = await checkedFolder(profile, role, path, bases, writable)
    for (const place of places) {
      const host = place.part === undefined ? folder : join(folder, place.part.name)
      if (place.part !== undefined) await mkdir(host, { mode: place.part.mode }).catch(ignoreExisting)
      if (asRoot) await prepareForBoxUser(profile, role, host, place.writable, place.part?.mode)
      resolved.push({ host, at: place.at, writable: place.writable })
    }
  }
  return resolved
}

async function checkedFolder(
  profile: Profile,
  role: string,
  path: string,
  bases: readonly MountBase[],
  writable: boolean,
): Promise<string> {
  if (typeof path !== 'string' || !isAbsolute(path) || resolve(path) !== path || path.includes('\0')) {
    throw refuse(profile, role, 'it must be an absolute path without `.`, `..` or a trailing slash')
  }
  const base = bases.find((candidate) => isBelow(path, candidate.given) || isBelow(path, candidate.real))
  if (base === undefined) throw refuse(profile, role, 'it lies outside the boxes folder of this data directory')
  if (writable && !base.writable) throw refuse(profile, role, 'a resource of the kernel is never mounted writable')
  const steps = relative(isBelow(path, base.given) ? base.given : base.real, path)
    .split(sep)
    .filter(Boolean)
  let at = base.real
  for (const step of steps) {
    at = join(at, step)
    const stats = await lstat(at).catch(() => null)
    if (stats === null) throw refuse(profile, role, `${at} does not exist`)
    if (!stats.isDirectory()) throw refuse(profile, role, `${at} is not a folder (links are not followed)`)
  }
  return at
}

function isBelow(path: string, base: string): boolean {
  return path === base || path.startsWith(base + sep)
}

async function prepareForBoxUser(profile: Profile, role: string, host: string, writable: boolean, mode?: number) {
  // The folder's parent is the kernel's alone, so what was checked above cannot be swapped; the flags say so again.
  const handle = await open(host, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    const stats = await handle.stat()
    if (writable) {
      if (stats.uid !== boxUser.uid || stats.gid !== boxUser.gid) await handle.chown(boxUser.uid, boxUser.gid)
      // mkdir's mode is cut by the umask.
      if (mode !== undefined && stats.uid !== boxUser.uid) await handle.chmod(mode)
    } else if (stats.uid !== boxUser.uid && (stats.mode & 0o005) !== 0o005) {
      throw refuse(profile, role, `${host} must be readable by others (chmod 755): the box runs as nobody`)
    }
  } finally {
    await handle.close()
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

function refuse(profile: Profile, role: string, why: string): KernelError {
  return new KernelError('invalid', `cannot mount "${role}" in a box of profile ${profile.name}: ${why}`)
}
