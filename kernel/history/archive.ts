import { createHash } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { failpoint } from '../failpoints.ts'
import { archiveFile, archiveFolder } from '../store/archives.ts'
import { sha256 } from '../store/chain.ts'
import { renameFile } from '../store/files.ts'
import type { Appended } from '../store/messages.ts'
import type { Store } from '../store/store.ts'
import { draft } from '../wire/events.ts'
import { rowOf } from './drafts.ts'
import type { History } from './history.ts'

/** Bytes in one file, at most: one event, and one commit that empties so much. */
const fileBytes = 256 * 1024 * 1024

/**
 * The file is on disk, whole and under its name, before the commit that empties its blobs: killed in between, they are in
 * both places, and the next archive takes its name. @see History.archive
 */
export async function archiveBlobs(
  { store, dataDir, at }: { store: Store; dataDir: string; at: () => number },
  { before, minBytes }: { before: number; minBytes: number },
): ReturnType<History['archive']> {
  const upTo = await store.query('lastSeqBefore', before)
  const { hashes, number } = await store.query('archivable', upTo, minBytes, fileBytes)
  if (hashes.length === 0) return null
  mkdirSync(archiveFolder(dataDir), { recursive: true, mode: 0o700 })
  const file = `blobs-${String(number).padStart(6, '0')}`
  const { blobs, hash, sizeBytes } = await writeBlobs(store, archiveFile(dataDir, file), hashes)
  failpoint('archive:written')
  const event = rowOf(
    draft('blobs.archived', { file, hash, blobs: blobs.length, sizeBytes }, { actor: 'operator' }),
    at(),
  )
  const added = (await store.write({ op: 'archive', event, file, blobs })) as Appended
  failpoint('archive:committed')
  return { file: archiveFile(dataDir, file), blobs: blobs.length, sizeBytes, seq: added.firstSeq }
}

async function writeBlobs(store: Store, file: string, hashes: readonly string[]) {
  const next = `${file}.next`
  if (existsSync(next)) rmSync(next)
  const fd = openSync(next, 'wx', 0o600)
  const all = createHash('sha256')
  const blobs: { hash: string; offset: number; sizeBytes: number }[] = []
  let offset = 0
  try {
    for (const hash of hashes) {
      const bytes = await store.query('blob', hash)
      // One that is damaged stays where it is, as evidence.
      if (bytes === null || sha256(bytes) !== hash) continue
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
      all.update(bytes)
      blobs.push({ hash, offset, sizeBytes: bytes.length })
      offset += bytes.length
    }
    fsyncSync(fd)
  } catch (error) {
    rmSync(next, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
  renameFile(next, file)
  return { blobs, hash: all.digest('hex'), sizeBytes: offset }
}
