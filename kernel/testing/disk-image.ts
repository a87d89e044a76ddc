import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DiskCall } from './disk-trace.ts'

/** As disks write: a power loss tears a write between sectors. */
const sector = 512

type Change = { offset: number; bytes: Buffer } | { size: number }

interface Inode {
  /** On the platter. */
  content: Buffer
  /** Since the last sync, in order. */
  pending: Change[]
  isFolder: boolean
}

type NameChange = { set: string; inode: Inode } | { unset: string } | { from: string; to: string }

/**
 * The disk as a power loss leaves it. Without a sync nothing is promised: each write since may be there, be gone, or be
 * torn, in any order; changes of names since the folder's last sync are there up to any one of them, in order.
 */
export class Disk {
  /** Names that are on the platter. */
  readonly #durable = new Map<string, Inode>()
  /** As the program sees them. */
  readonly #names = new Map<string, Inode>()
  #changes: NameChange[] = []

  apply(call: DiskCall): void {
    switch (call.call) {
      case 'create':
        this.#change({ set: call.path, inode: { content: Buffer.alloc(0), pending: [], isFolder: false } })
        return
      case 'folder':
        this.#change({ set: call.path, inode: { content: Buffer.alloc(0), pending: [], isFolder: true } })
        return
      case 'write':
        this.#inode(call.path)?.pending.push({ offset: call.offset, bytes: call.bytes })
        return
      case 'truncate':
        this.#inode(call.path)?.pending.push({ size: call.size })
        return
      case 'sync':
        this.#sync(call.path)
        return
      case 'rename':
        this.#change({ from: call.from, to: call.to })
        return
      case 'remove':
        this.#change({ unset: call.path })
        return
      case 'said':
    }
  }

  /** Writes one possible outcome below `folder`. @param random gives numbers from 0 up to 1. */
  image(folder: string, random: () => number): void {
    const names = new Map(this.#durable)
    const kept = Math.floor(random() * (this.#changes.length + 1))
    for (const change of this.#changes.slice(0, kept)) applyChange(names, change)
    mkdirSync(folder, { recursive: true })
    for (const [path, inode] of names) if (inode.isFolder) mkdirSync(join(folder, path), { recursive: true })
    for (const [path, inode] of names) {
      if (inode.isFolder) continue
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), outcome(inode, random))
    }
  }

  #inode(path: string): Inode | undefined {
    return this.#names.get(path)
  }

  #change(change: NameChange): void {
    applyChange(this.#names, change)
    this.#changes.push(change)
  }

  #sync(path: string): void {
    const inode = this.#names.get(path)
    if (inode !== undefined && !inode.isFolder) {
      inode.content = applied(inode.content, inode.pending)
      inode.pending = []
      return
    }
    // A folder: names in it are safe. Earlier changes elsewhere went into the same journal before them.
    const last = this.#changes.findLastIndex((change) => namesOf(change).some((name) => folderOf(name) === path))
    for (const change of this.#changes.slice(0, last + 1)) applyChange(this.#durable, change)
    this.#changes = this.#changes.slice(last + 1)
  }
}

function applyChange(names: Map<string, Inode>, change: NameChange): void {
  if ('set' in change) names.set(change.set, change.inode)
  else if ('unset' in change) names.delete(change.unset)
  else {
    for (const [path, inode] of [...names]) {
      if (path !== change.from && !path.startsWith(`${change.from}/`)) continue
      names.delete(path)
      names.set(change.to + path.slice(change.from.length), inode)
    }
  }
}

function outcome(inode: Inode, random: () => number): Buffer {
  // Some losses keep all, or nothing, of what was under way; most keep some.
  const mood = random()
  if (mood < 0.15) return inode.content
  const kept = inode.pending.flatMap((change): Change[] => {
    if (mood > 0.85) return [change]
    const fate = random()
    if ('size' in change) return fate < 0.5 ? [change] : []
    if (fate < 0.4) return [change]
    return fate < 0.7 ? torn(change, random) : []
  })
  return applied(inode.content, kept)
}

/** Some of its sectors. */
function torn({ offset, bytes }: { offset: number; bytes: Buffer }, random: () => number): Change[] {
  const parts: Change[] = []
  const isPrefix = random() < 0.5
  const end = Math.floor(random() * bytes.length)
  for (let at = 0; at < bytes.length; ) {
    const step = Math.min(bytes.length - at, sector - ((offset + at) % sector))
    if (isPrefix ? at < end : random() < 0.5) parts.push({ offset: offset + at, bytes: bytes.subarray(at, at + step) })
    at += step
  }
  return parts
}

function applied(content: Buffer, changes: readonly Change[]): Buffer {
  const ends = changes.map((change) => ('size' in change ? change.size : change.offset + change.bytes.length))
  const result = Buffer.alloc(Math.max(content.length, ...ends))
  content.copy(result)
  let length = content.length
  for (const change of changes) {
    if ('size' in change) {
      if (change.size < length) result.fill(0, change.size, length)
      length = change.size
    } else {
      change.bytes.copy(result, change.offset)
      length = Math.max(length, change.offset + change.bytes.length)
    }
  }
  return result.subarray(0, length)
}

function namesOf(change: NameChange): string[] {
  if ('set' in change) return [change.set]
  return 'unset' in change ? [change.unset] : [change.from, change.to]
}

function folderOf(path: string): string {
  const folder = dirname(path)
  return folder === '.' ? '' : folder
}
