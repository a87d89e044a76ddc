import { constants, existsSync } from 'node:fs'
import { chmod, copyFile, lchown, lutimes, mkdir, readdir, rename, symlink } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import type { Clock } from '../../clock.ts'
import { KernelError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { boxUser } from '../profiles.ts'
import { type Snapshot, type SnapshotLimits, snapshotLimits, type TaskPlace } from '../sandbox.ts'
import { type Kept, Manifests } from './manifests.ts'
import { Objects, syncFolder } from './objects.ts'
import { openFile, removeTree, walk } from './walk.ts'

/** A file that changed so shortly before is read again next time: its time of change may not tell the next change. */
const settledMs = 100
const atOnce = 16
const snapshotName = /^[A-Za-z0-9._-]{1,64}$/

export interface LocalSnapshots {
  /** Ends what a kill left half done: a restore that was decided is completed, anything else is undone. */
  open(place: TaskPlace): Promise<void>
  take(place: TaskPlace, name: string): Promise<Snapshot>
  restore(place: TaskPlace, name: string): Promise<void>
  /** A copy of a snapshot as the root of another task, which has none yet. */
  clone(place: TaskPlace, name: string, to: TaskPlace): Promise<void>
  list(place: TaskPlace): Promise<Snapshot[]>
  forget(place: TaskPlace, name: string): Promise<void>
  destroy(place: TaskPlace): Promise<void>
  /** A copy of a snapshot as the root of another box; gone with `remove`. */
  materialise(place: TaskPlace, name: string): Promise<{ root: string; remove(): Promise<void> }>
}

/**
 * Snapshots of task folders, below `snapshots/` beside each: contents by hash, so that what did not change is neither read
 * nor kept twice. Boxes are the caller's to stop.
 */
export function localSnapshots(
  /** As the caller writes it, and as it is. */
  boxesDirs: readonly string[],
  clock: Clock,
  limits: SnapshotLimits = snapshotLimits,
): LocalSnapshots {
  const isRoot = process.getuid?.() === 0
  const queues = new Map<string, Promise<unknown>>()
  let copies = 0

  function folders(place: TaskPlace) {
    const root = place.mounts.root
    if (root === undefined || resolve(root) !== root || !boxesDirs.some((dir) => root.startsWith(dir + sep)))
      throw new KernelError('invalid', 'a snapshot needs the root folder of a task below the boxes folder')
    const base = dirname(root)
    const dir = join(base, 'snapshots')
    return { base, root, dir, objects: new Objects(dir), manifests: new Manifests(dir) }
  }

  async function inTurn<T>(place: TaskPlace, work: () => Promise<T>): Promise<T> {
    const { base } = folders(place)
    const done = (queues.get(base) ?? Promise.resolve()).then(work).catch(explain)
    queues.set(
      base,
      done.catch(() => {}),
    )
    return done
  }

  async function collect(manifests: Manifests, objects: Objects): Promise<void> {
    const used = new Set<string>()
    for (const { name } of await manifests.list())
      for (const { hash } of await manifests.read(name)) if (hash !== undefined) used.add(hash)
    await objects.keepOnly(used)
  }

  async function needed(place: TaskPlace, name: string): Promise<Kept[]> {
    const { manifests, dir } = folders(place)
    if (!existsSync(dir) || !(await manifests.has(name))) throw noSnapshot(name)
    return manifests.read(name)
  }

  /** Whole, in a folder that no box sees yet. */
  async function lay(entries: readonly Kept[], objects: Objects, root: string): Promise<void> {
    await mkdir(root, { recursive: true })
    const at = (path: string): Buffer => Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, 'latin1')])
    const finish = async ({ type, path, mode, mtimeMs }: Kept): Promise<void> => {
      const target = at(path)
      if (isRoot) await lchown(target, boxUser.uid, boxUser.gid)
      if (type !== 'link') await chmod(target, mode)
      await lutimes(target, mtimeMs / 1000, mtimeMs / 1000)
    }
    for (const { type, path } of entries) if (type === 'folder') await mkdir(at(path), { mode: 0o700 })
    await each(entries, async (entry) => {
      if (entry.type === 'folder') return
      if (entry.type === 'link') await symlink(Buffer.from(entry.target ?? '', 'latin1'), at(entry.path))
      else await copyFile(objects.pathOf(entry.hash ?? ''), at(entry.path), constants.COPYFILE_FICLONE)
      await finish(entry)
    })
    // Last and from the inside: their modes may forbid what was just done, and doing it changed their times.
    for (const entry of [...entries].reverse()) if (entry.type === 'folder') await finish(entry)
  }

  return {
    async open(place) {
      const { base, root, dir, objects, manifests } = folders(place)
      await mkdir(dir, { recursive: true, mode: 0o700 })
      await objects.open()
      const next = join(base, 'root.next')
      const old = join(base, 'root.old')
      if (existsSync(next) && !existsSync(root)) await rename(next, root)
      for (const left of await readdir(base))
        if (/^(root\.(next|making|old)|trash-.*|states)$/.test(left)) await removeTree(join(base, left))
      if (existsSync(old)) await removeTree(old)
      await collect(manifests, objects)
    },

    take: (place, name) =>
      inTurn(place, async () => {
        if (!snapshotName.test(name))
          throw new KernelError('invalid', `a snapshot cannot be named ${JSON.stringify(name)}`)
        const { root, dir, objects, manifests } = folders(place)
        if (!existsSync(dir)) await mkdir(dir, { recursive: true, mode: 0o700 })
        await objects.open()
        const present = await manifests.list()
        const isNew = !present.some((snapshot) => snapshot.name === name)
        if (isNew && present.length >= limits.count)
          throw new KernelError('invalid', `a task keeps at most ${limits.count} snapshots`)
        const startedAt = clock.now()
        const last = present.at(-1)
        const known = new Map<string, Kept>()
        if (last !== undefined)
          for (const entry of await manifests.read(last.name)) if (entry.type === 'file') known.set(entry.path, entry)
        const entries: Kept[] = await walk(root, { entries: limits.entries, bytes: limits.stateBytes })
        let sizeBytes = 0
        await each(entries, async (entry) => {
          if (entry.type !== 'file') return
          const before = known.get(entry.path)
          if (before?.stamp !== undefined && before.stamp === entry.stamp && before.hash !== undefined) {
            entry.hash = before.hash
          } else {
            const file = await openFile(root, entry)
            try {
              const { hash, addedBytes } = await objects.put(file, entry.size)
              entry.hash = hash
              sizeBytes += addedBytes
            } finally {
              await file.close()
            }
          }
          if ((entry.ctimeMs ?? 0) > startedAt - settledMs) delete entry.stamp
          delete entry.ctimeMs
        })
        await objects.settle()
        failpoint('snapshot:before-manifest')
        const snapshot: Snapshot = { name, sizeBytes, at: startedAt }
        await manifests.write(snapshot, entries)
        failpoint('snapshot:after-manifest')
        if (!isNew) await collect(manifests, objects)
        return snapshot
      }),

    restore: (place, name) =>
      inTurn(place, async () => {
        const { base, root, objects } = folders(place)
        const entries = await needed(place, name)
        const [making, next, old] = ['making', 'next', 'old'].map((part) => join(base, `root.${part}`)) as [
          string,
          string,
          string,
        ]
        for (const left of [making, next, old]) await removeTree(left)
        await lay(entries, objects, making)
        failpoint('restore:laid')
        await rename(making, next)
        await syncFolder(base)
        failpoint('restore:decided')
        // A kill between the two leaves no root: then the next start puts the new one there.
        await rename(root, old)
        failpoint('restore:between')
        await rename(next, root)
        await syncFolder(base)
        failpoint('restore:done')
        await removeTree(old)
      }),

    clone: (place, name, to) =>
      inTurn(place, async () => {
        const entries = await needed(place, name)
        const { base, root } = folders(to)
        const making = join(base, 'root.making')
        if (existsSync(root)) throw new KernelError('conflict', `${root} is there already`)
        await removeTree(making)
        await lay(entries, folders(place).objects, making)
        await rename(making, root)
        await syncFolder(base)
      }),

    async list(place) {
      const { dir, manifests } = folders(place)
      return existsSync(dir) ? manifests.list() : []
    },

    forget: (place, name) =>
      inTurn(place, async () => {
        const { dir, manifests, objects } = folders(place)
        if (!existsSync(dir) || !(await manifests.has(name))) throw noSnapshot(name)
        await manifests.remove(name)
        await collect(manifests, objects)
      }),

    destroy: (place) =>
      inTurn(place, async () => {
        const { base, dir } = folders(place)
        if (!existsSync(base)) return
        await removeTree(dir)
        for (const left of await readdir(base))
          if (/^(root(\..*)?|states)$/.test(left)) await removeTree(join(base, left))
      }),

    materialise: (place, name) =>
      inTurn(place, async () => {
        const { base, objects } = folders(place)
        const entries = await needed(place, name)
        copies += 1
        const dir = join(base, 'states', `${process.pid}-${copies}`)
        const root = join(dir, 'root')
        await mkdir(dir, { recursive: true })
        await lay(entries, objects, root)
        return { root, remove: () => removeTree(dir) }
      }),
  }
}

/** Some at a time. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const item = items[next] as T
      next += 1
      await work(item)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

function noSnapshot(name: string): KernelError {
  return new KernelError('not-found', `there is no snapshot ${JSON.stringify(name)}`)
}

function explain(error: unknown): never {
  if (error instanceof KernelError) throw error
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT')
    throw new KernelError('unavailable', 'the disk is full: free some space and try again', { cause: error })
  throw new KernelError('unavailable', `the snapshot could not be kept or read: ${message}`, { cause: error })
}
