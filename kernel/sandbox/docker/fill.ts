import { createReadStream, existsSync } from 'node:fs'
import { lstat, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Pack, pack } from 'tar-stream'
import { boxUser, profiles } from '../profiles.ts'

/**
 * The first state of a task as one archive: the folders of `root` at their places, owned by the box's user. `root` is what
 * the kernel itself has laid; regular files, folders and links (as links) only, and nothing is followed.
 */
export function firstState(root: string | undefined): NodeJS.ReadableStream {
  const archive = pack()
  const whole = async (): Promise<void> => {
    for (const { role, at, part } of profiles.task.places) {
      if (role !== 'root' || part === undefined) continue
      const name = at.slice(1)
      archive.entry({ name, type: 'directory', mode: part.mode, ...owner })
      const folder = root === undefined ? null : join(root, part.name)
      if (folder !== null && existsSync(folder)) await addFolder(archive, folder, name)
    }
    archive.finalize()
  }
  whole().catch((error: Error) => archive.destroy(error))
  return archive as unknown as NodeJS.ReadableStream
}

const owner = { uid: boxUser.uid, gid: boxUser.gid }

async function addFolder(archive: Pack, folder: string, name: string): Promise<void> {
  for (const entry of (await readdir(folder)).sort()) {
    const path = join(folder, entry)
    const info = await lstat(path)
    const header = { name: `${name}/${entry}`, mode: info.mode & 0o777, mtime: info.mtime, ...owner }
    if (info.isSymbolicLink()) archive.entry({ ...header, type: 'symlink', linkname: await readlink(path) })
    else if (info.isDirectory()) {
      archive.entry({ ...header, type: 'directory' })
      await addFolder(archive, path, header.name)
    } else if (info.isFile()) {
      await pipeline(createReadStream(path), archive.entry({ ...header, size: info.size }))
    }
  }
}
