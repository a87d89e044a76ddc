import { chmod, copyFile, lchown, lstat, mkdir, readdir, readlink, symlink } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { KernelError } from '../errors.ts'

export interface CopyOptions {
  /** `keep`: as links, with the same text, never followed. `refuse`: one is an error. */
  links: 'keep' | 'refuse'
  /** All files together; a sparse one counts in full, since its copy may be. */
  maxBytes: number
  maxEntries: number
  /** Uid and gid of every copy; null: of this process. */
  owner: number | null
  /** Whether every box may read the copy, whatever the modes of the original. Else modes are kept. */
  isPublic: boolean
  /** Names in the folder itself that are left out. */
  without?: readonly string[]
}

/**
 * Copies a folder that nothing writes to meanwhile. Regular files, folders and links only: pipes, sockets and devices
 * are left out, and no link is followed.
 * @throws KernelError `invalid` where it is over a limit or holds a link that is refused; `what` names it.
 */
export async function copyFolder(what: string, from: string, to: string, options: CopyOptions): Promise<void> {
  // All of it is looked at before any of it is copied: a limit that fills the disk first is none.
  await survey(what, from, options)
  const { owner, isPublic, without = [] } = options
  const copy = async (source: string, target: string, leftOut: readonly string[]): Promise<void> => {
    const info = await lstat(source)
    if (info.isSymbolicLink()) {
      await symlink(await readlink(source), target)
    } else if (info.isFile()) {
      await copyFile(source, target)
    } else if (info.isDirectory()) {
      await mkdir(target, { recursive: true, mode: 0o700 | (info.mode & 0o777) })
      for (const name of await readdir(source)) {
        if (!leftOut.includes(name)) await copy(join(source, name), join(target, name), [])
      }
    } else return
    if (isPublic && !info.isSymbolicLink())
      await chmod(target, info.isDirectory() || (info.mode & 0o100) !== 0 ? 0o755 : 0o644)
    if (owner !== null) await lchown(target, owner, owner)
  }
  await copy(from, to, without)
}

async function survey(what: string, from: string, { links, maxBytes, maxEntries }: CopyOptions): Promise<void> {
  let bytes = 0
  let entries = 0
  const look = async (path: string): Promise<void> => {
    const info = await lstat(path)
    entries += 1
    if (info.isFile()) bytes += info.size
    if (bytes > maxBytes || entries > maxEntries)
      throw new KernelError('invalid', `${what} is larger than ${maxBytes} bytes or ${maxEntries} entries`)
    if (info.isSymbolicLink() && links === 'refuse')
      throw new KernelError('invalid', `${what} holds a link, ${relative(from, path)}: put the file itself there`)
    if (info.isDirectory()) for (const name of await readdir(path)) await look(join(path, name))
  }
  await look(from)
}
