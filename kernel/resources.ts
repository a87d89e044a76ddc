import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { KernelError } from './errors.ts'
import type { TreeFile } from './sandbox/sandbox.ts'

/** What ships with the app, by host path. */
export interface KernelResources {
  /** Node 24, for boxes. */
  node: string
  /** Type checker and its libraries, for the check box. */
  checker: { host: string; at: string }[]
  /** Entry of the store's threads; absent: from source. */
  writer?: string
  /** Folder of the starting policy. */
  seed: string
  /** File whose text is written as wire.d.ts beside every revision. */
  wire: string
  /** The program that runs commands inside a task sandbox, as text for Node. */
  commandServer: string
  /** Folder that relative packs are looked up in, and the folder of bundled ones. */
  packsRoot: string
  packs: string
}

/** The starting policy as a tree; its tests are not part of it. */
export async function readSeed(dir: string): Promise<TreeFile[]> {
  const files: TreeFile[] = []
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = relative(dir, join(entry.parentPath, entry.name)).split(sep).join('/')
    if (!entry.isFile() || path.startsWith('tests/') || path === 'tsconfig.json' || !/\.(ts|md)$/.test(path)) continue
    files.push({ path, text: await readFile(join(dir, path), 'utf8') })
  }
  if (!files.some((file) => file.path === 'main.ts'))
    throw new KernelError('internal', `the starting policy at ${dir} has no main.ts`)
  return files.sort((a, b) => (a.path < b.path ? -1 : 1))
}
