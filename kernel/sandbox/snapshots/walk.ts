import { constants, lstatSync, readdirSync, readlinkSync } from 'node:fs'
import { chmod, type FileHandle, mkdtemp, open, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { KernelError } from '../../errors.ts'
import { escapePath } from '../tree.ts'

/** One thing in a tree that an agent wrote. Names and targets are bytes, here as latin1: any name is kept as it is. */
export interface Entry {
  type: 'file' | 'folder' | 'link'
  /** From the root, `/`-separated; the root itself is ''. */
  path: string
  /** Permission bits; set-user-id and set-group-id are not kept. */
  mode: number
  size: number
  mtimeMs: number
  /** Of a link. */
  target?: string
  /** Of a file: changes with its content. Whoever writes can set the time of change back, but not that of the inode's. */
  stamp?: string
  ctimeMs?: number
}

export interface WalkLimits {
  entries: number
  bytes: number
}

const depthMax = 100
const pathBytesMax = 3500
/** Entries between two breaks, in which the kernel does other things. */
const entriesAtOnce = 250
const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/**
 * Everything below a folder, parents first: regular files, folders and links; pipes, sockets and devices are left out. Each step
 * goes down from an open folder and follows no link, so that no swap of a name leads out of the tree, whoever writes meanwhile.
 *
 * @throws KernelError `invalid` over a limit, naming it.
 */
export async function walk(root: string, limits: WalkLimits): Promise<Entry[]> {
  const entries: Entry[] = []
  let bytes = 0
  const look = async (folder: FileHandle, path: string, depth: number): Promise<void> => {
    if (depth > depthMax) throw refuse(path, `lies more than ${depthMax} folders deep`)
    const at = `/proc/self/fd/${folder.fd}`
    for (const name of readdirSync(at, { encoding: 'buffer' })) {
      const step = child(at, name)
      const info = lstatSync(step, { bigint: true, throwIfNoEntry: false })
      if (info === undefined) continue
      const below = path === '' ? name.toString('latin1') : `${path}/${name.toString('latin1')}`
      if (below.length > pathBytesMax) throw refuse(below, `has a path of more than ${pathBytesMax} bytes`)
      const entry = { path: below, mode: Number(info.mode) & 0o1777, size: 0, mtimeMs: Number(info.mtimeMs) }
      if (info.isFile()) {
        const stamp = `${info.ino}:${info.size}:${info.mtimeNs}:${info.ctimeNs}`
        bytes += Number(info.size)
        entries.push({ ...entry, type: 'file', size: Number(info.size), stamp, ctimeMs: Number(info.ctimeMs) })
      } else if (info.isSymbolicLink()) {
        const target = readlinkSync(step, { encoding: 'buffer' }).toString('latin1')
        entries.push({ ...entry, type: 'link', target })
      } else if (info.isDirectory()) {
        entries.push({ ...entry, type: 'folder' })
        await enter(step, Number(info.mode), (opened) => look(opened, below, depth + 1))
      }
      if (entries.length > limits.entries || bytes > limits.bytes)
        throw new KernelError(
          'invalid',
          `the sandbox holds more than ${limits.entries} entries or ${limits.bytes} bytes`,
        )
      if (entries.length % entriesAtOnce === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await enter(Buffer.from(root), 0o755, (folder) => look(folder, '', 0))
  return entries
}

/** Opens a file of a tree, from the root down and through no link. @throws KernelError `invalid` where it is none any more. */
export async function openFile(root: string, entry: Entry): Promise<FileHandle> {
  const steps = entry.path.split('/')
  const descend = async (folder: FileHandle, at: number): Promise<FileHandle> => {
    const step = child(`/proc/self/fd/${folder.fd}`, Buffer.from(steps[at] ?? '', 'latin1'))
    if (at < steps.length - 1) return enter(step, 0o755, (next) => descend(next, at + 1))
    const file = await openReadable(step, entry.mode)
    if ((await file.stat()).isFile()) return file
    await file.close()
    throw refuse(entry.path, 'changed while it was read')
  }
  return enter(Buffer.from(root), 0o755, (folder) => descend(folder, 0))
}

/** Removes a tree whatever its names and modes: what is too deep for a path is taken apart first. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true })
  } catch {
    await takeApart(path)
  }
}

async function takeApart(path: string): Promise<void> {
  const trash = await mkdtemp(join(dirname(path), 'trash-'))
  await rename(path, join(trash, '0'))
  let last = 0
  for (let next = 0; next <= last; next += 1) {
    const folder = join(trash, String(next))
    await chmod(folder, 0o700)
    const handle = await open(folder, folderFlags)
    try {
      const at = `/proc/self/fd/${handle.fd}`
      for (const name of readdirSync(at, { encoding: 'buffer' })) {
        const step = child(at, name)
        if (!lstatSync(step).isDirectory()) {
          await unlink(step)
          continue
        }
        last += 1
        await chmod(step, 0o700)
        await rename(step, join(trash, String(last)))
      }
    } finally {
      await handle.close()
    }
    await rmdir(folder)
  }
  await rmdir(trash)
}

async function enter<T>(path: Buffer, mode: number, work: (folder: FileHandle) => Promise<T>): Promise<T> {
  const folder = await open(path, folderFlags).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code === 'ELOOP' || error.code === 'ENOTDIR')
      throw refuse(path.toString('latin1'), 'is no folder any more')
    if (error.code !== 'EACCES') throw error
    return unlocked(path, mode, () => open(path, folderFlags))
  })
  try {
    return await work(folder)
  } finally {
    await folder.close()
  }
}

async function openReadable(path: Buffer, mode: number): Promise<FileHandle> {
  // A pipe that took the file's place must not be waited for.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  return open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EACCES') return unlocked(path, mode, () => open(path, flags))
    if (error.code === 'ELOOP' || error.code === 'ENOENT' || error.code === 'ENXIO')
      throw refuse(path.toString('latin1'), 'changed while it was read')
    throw error
  })
}

/** As an ordinary user the kernel is the owner, whom the agent may have taken the right to read. */
async function unlocked<T>(path: Buffer, mode: number, work: () => Promise<T>): Promise<T> {
  if (lstatSync(path).isSymbolicLink()) throw refuse(path.toString('latin1'), 'is a link')
  await chmod(path, mode | 0o500)
  try {
    return await work()
  } finally {
    await chmod(path, mode)
  }
}

function child(folder: string, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), name])
}

function refuse(path: string, why: string): KernelError {
  return new KernelError('invalid', `the sandbox cannot be kept: ${escapePath(path).slice(0, 300)} ${why}`)
}
