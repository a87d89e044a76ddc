import { chmod, lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TreeFile } from '../sandbox/sandbox.ts'

/**
 * Whether a folder holds these files and nothing else, unchanged, unlinked and unwritable. What cannot be read is not it.
 */
export async function isLaid(folder: string, files: readonly TreeFile[]): Promise<boolean> {
  const wanted = new Map(files.map(({ path, text }) => [path, text]))
  const folders = new Set(files.flatMap(({ path }) => foldersOf(path)))
  try {
    if (!(await isReadOnlyFolder(folder))) return false
    const found = await readdir(folder, { recursive: true, withFileTypes: true })
    if (found.length !== wanted.size + folders.size) return false
    for (const entry of found) {
      const file = join(entry.parentPath, entry.name)
      const path = file.slice(folder.length + 1).replaceAll('\\', '/')
      if (folders.has(path)) {
        if (!(await isReadOnlyFolder(file))) return false
        continue
      }
      const stat = await lstat(file)
      if (!stat.isFile() || stat.nlink !== 1 || isWritable(stat.mode)) return false
      const text = wanted.get(path)
      if (text === undefined || !(await readFile(file)).equals(Buffer.from(text))) return false
    }
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'EACCES') return false
    throw error
  }
}

/**
 * Puts the files at `folder`, folders 0555 and files 0444, in place of whatever is there. A reader sees the old or the
 * new folder, whole; after a crash at any point too.
 */
export async function lay(folder: string, files: readonly TreeFile[], tag: string): Promise<void> {
  const next = join(dirname(folder), `.next-${tag}`)
  const old = join(dirname(folder), `.old-${tag}`)
  await removeTree(next)
  await removeTree(old)
  await mkdir(next, { recursive: true, mode: 0o755 })
  const folders = [...new Set(files.flatMap(({ path }) => foldersOf(path)))].sort()
  for (const path of folders) await mkdir(join(next, path), { mode: 0o755 })
  for (const { path, text } of files) await writeDurably(join(next, path), text)
  // The deepest first: nothing can be made in a folder that is closed already.
  for (const path of [...folders.reverse(), '.']) {
    await chmod(join(next, path), 0o555)
    await syncFolder(join(next, path))
  }
  if (await exists(folder)) await rename(folder, old)
  await rename(next, folder)
  await syncFolder(dirname(folder))
  await removeTree(old)
}

async function writeDurably(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', 0o444)
  try {
    await handle.writeFile(text)
    // Whatever the process's umask took away.
    await handle.chmod(0o444)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function removeTree(folder: string): Promise<void> {
  if (!(await exists(folder))) return
  if ((await lstat(folder)).isDirectory()) {
    // A closed folder lets nothing in it be removed.
    await chmod(folder, 0o755)
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) await removeTree(join(folder, entry.name))
    }
  }
  await rm(folder, { recursive: true, force: true })
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

async function isReadOnlyFolder(folder: string): Promise<boolean> {
  const stat = await lstat(folder)
  return stat.isDirectory() && !isWritable(stat.mode)
}

function isWritable(mode: number): boolean {
  // Windows knows no write bit for folders.
  return process.platform !== 'win32' && (mode & 0o222) !== 0
}

/** Every folder above a path, from the top. */
function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}
