import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { TreeFile } from '../sandbox/sandbox.ts'
import { compareTrees, diffTrees } from './changes.ts'
import { isLaid, lay } from './folder.ts'
import { cutHunks, keepHunks } from './hunks.ts'
import { type ManifestEntry, manifestOf, parseManifest } from './manifest.ts'
import type { Revisions } from './revisions.ts'

export interface RevisionsOptions {
  history: History
  /** DATA/boxes: folders below it may be mounted into boxes. */
  boxesDir: string
  /** Text of kernel/wire/executor.ts: types only. */
  wireSource: string
}

/** Whose blobs are revisions: what an executor stores under such a hash is none. No agent can have this name. */
const keeper = '(revisions)'
const diffBytes = 256 * 1024

const packageJson = `${JSON.stringify(
  { name: 'policy', private: true, type: 'module', imports: { '#wire': './wire.d.ts' } },
  null,
  2,
)}\n`

/** Revisions as blobs of `history`: the files, and the manifest, whose hash is the revision's. */
export function createRevisions({ history, boxesDir, wireSource }: RevisionsOptions): Revisions {
  const underWay = new Map<string, Promise<string>>()
  const has = (revision: string) => history.mayRead(keeper, revision)
  const kernelFiles = (): TreeFile[] => [
    { path: 'package.json', text: packageJson },
    { path: 'wire.d.ts', text: wireSource },
  ]

  /** History masks keys that the kernel knows: such a file could not be read back as it is. */
  async function putFile({ path, text }: TreeFile): Promise<void> {
    if ((await history.putBlob(text)) === createHash('sha256').update(text).digest('hex')) return
    throw new KernelError('invalid', `${path} holds a key that Exodesk knows: take it out and propose again`)
  }

  async function manifest(revision: string): Promise<ManifestEntry[]> {
    if (!(await has(revision))) throw new KernelError('not-found', `no revision ${revision}`)
    return parseManifest((await history.getBlob(revision)).toString('utf8'), revision)
  }

  async function read(revision: string): Promise<TreeFile[]> {
    return Promise.all(
      (await manifest(revision)).map(async ({ path, sha256 }) => ({
        path,
        text: (await history.getBlob(sha256)).toString('utf8'),
      })),
    )
  }

  async function layRevision(revision: string): Promise<string> {
    const files = [...(await read(revision)), ...kernelFiles()]
    const parent = join(boxesDir, 'revisions')
    const folder = join(parent, revision)
    await mkdir(parent, { recursive: true })
    if (!(await isLaid(folder, files))) await lay(folder, files, revision)
    if (!(await isLaid(folder, files))) {
      throw new KernelError('internal', `${folder} does not hold what was written to it: check the disk`)
    }
    return folder
  }

  return {
    async put(files) {
      const manifest = manifestOf(files)
      await Promise.all(files.map(putFile))
      await history.putBlob(manifest.text)
      await history.grantBlob(keeper, manifest.hash)
      return manifest.hash
    },
    has,
    read,
    hashes: async (revision) => new Map((await manifest(revision)).map(({ path, sha256 }) => [path, sha256])),
    materialise(revision) {
      const running = underWay.get(revision) ?? layRevision(revision).finally(() => underWay.delete(revision))
      underWay.set(revision, running)
      return running
    },
    kernelFiles,
    async changes(from, to) {
      const [before, after] = await Promise.all([read(from), read(to)])
      return compareTrees(before, after)
    },
    compare: compareTrees,
    cut: cutHunks,
    keep: keepHunks,
    diff: (from, to, maxBytes = diffBytes) => diffTrees(from, to, maxBytes),
  }
}
