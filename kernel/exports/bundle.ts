import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { extract, pack } from 'tar-stream'
import { z } from 'zod'
import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import type { History } from '../history/history.ts'
import { verifyDataDir } from '../history/verify-only.ts'
import { renameFile, syncFolder, syncPath } from '../store/files.ts'
import { markImported } from '../store/imported.ts'
import { migrate } from '../store/migrations.ts'
import { startSignedHead, writeSignedHead } from '../store/signed-head.ts'
import { openForWriting } from '../store/sqlite.ts'
import { count, sha256 } from '../wire/ids.ts'

// A bundle is a tar under gzip: manifest.json, then the database and its archives, each named there with its hash. The
// key that signs the head of history stays where it is: who imports a bundle signs with a key of their own.

const manifestName = 'manifest.json'
const databaseName = 'history.db'
const archiveName = /^archive\/blobs-\d{6}$/
const manifestBytes = 1024 * 1024

const manifestSchema = z.strictObject({
  format: z.literal('exodesk-bundle'),
  version: z.literal(1),
  program: z.string().max(64),
  exportedAt: z.number(),
  head: z.strictObject({ seq: count.min(1), hash: sha256 }),
  files: z
    .array(z.strictObject({ name: z.string().max(64), sizeBytes: count, hash: sha256 }))
    .min(1)
    .max(100_000),
})
export type Manifest = z.infer<typeof manifestSchema>

/** Writes the whole of history, as it is at one moment, to `out`. @param folder A new one beside it, gone afterwards. */
export async function writeBundle(parts: {
  history: History
  out: string
  folder: string
  program: string
  at: number
  /** Looks through what is about to leave, and refuses it. */
  check: (upTo: number) => Promise<void>
}): Promise<{ events: number }> {
  const { history, out, folder, program, at } = parts
  const { seq } = await history.backUp(folder)
  try {
    const event = await history.get({ agent: null }, seq)
    if (event === null) throw new KernelError('conflict', 'history is empty: there is nothing to bundle')
    await parts.check(seq)
    const archives = join(folder, 'archive')
    const names = [
      databaseName,
      ...(existsSync(archives) ? readdirSync(archives).map((name) => `archive/${name}`) : []),
    ].filter((name) => name === databaseName || archiveName.test(name))
    const files = await Promise.all(
      names.map(async (name) => {
        const path = join(folder, name)
        return { name, sizeBytes: statSync(path).size, hash: await hashOf(path) }
      }),
    )
    const head = { seq, hash: event.hash }
    const manifest: Manifest = { format: 'exodesk-bundle', version: 1, program, exportedAt: at, head, files }
    const tar = pack()
    const written = pipeline(tar, createGzip({ level: 6 }), createWriteStream(out, { flags: 'wx', mode: 0o600 }))
    const mtime = new Date(at)
    const filled = (async () => {
      tar.entry({ name: manifestName, mode: 0o600, mtime }, `${JSON.stringify(manifest, null, 2)}\n`)
      for (const { name, sizeBytes: size } of files)
        await pipeline(createReadStream(join(folder, name)), tar.entry({ name, size, mode: 0o600, mtime }))
      tar.finalize()
    })()
    await Promise.all([written, filled.catch((error) => tar.destroy(error as Error))])
    syncPath(out)
    return { events: seq }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Takes a bundle apart into a new folder that is a data directory to be read only, and verifies all of it there. The
 * folder has its name once it has held. @throws KernelError `invalid` (no bundle, or a damaged one), `conflict`, `unavailable`.
 */
export async function importBundle(options: {
  file: string
  folder: string
  version: string
  at: number
  writerUrl?: URL | string
}): Promise<{ folder: string; events: number; head: string; exportedAt: number }> {
  const { file, folder, version, at } = options
  if (!existsSync(file)) throw new KernelError('not-found', `there is no file ${file}`)
  if (existsSync(folder)) throw new KernelError('conflict', `${folder} exists already: name a new folder`)
  const part = `${folder}.part`
  rmSync(part, { recursive: true, force: true })
  mkdirSync(part, { recursive: true, mode: 0o700 })
  try {
    const manifest = await unpack(file, part)
    // One of an older version gets the schema of this one; its events stay as they are, and are held to the head below.
    const db = openForWriting(join(part, databaseName))
    try {
      migrate(db, version)
    } finally {
      db.close()
    }
    startSignedHead(part)
    writeSignedHead(part, manifest.head)
    const { writerUrl } = options
    const report = await verifyDataDir({ dataDir: part, version, ...(writerUrl === undefined ? {} : { writerUrl }) })
    if (!report.ok) throw damaged(file, report.problem ?? 'its history does not verify')
    if (report.head?.hash !== manifest.head.hash)
      throw damaged(file, `its history ends with another event than ${manifest.head.seq}, which it names`)
    markImported(part, { from: basename(file), at, head: manifest.head, exportedAt: manifest.exportedAt })
    for (const name of readdirSync(part)) if (name.startsWith(`${databaseName}.`)) rmSync(join(part, name))
    syncFolder(part)
    failpoint('import:verified')
    renameFile(part, folder)
    return { folder, events: report.events, head: manifest.head.hash, exportedAt: manifest.exportedAt }
  } catch (error) {
    rmSync(part, { recursive: true, force: true })
    throw error
  }
}

/** Only what the manifest names, in the sizes that it names, and with the hashes. */
async function unpack(file: string, folder: string): Promise<Manifest> {
  const parser = extract()
  let manifest: Manifest | null = null
  const seen = new Map<string, string>()
  const source = createReadStream(file)
  const reading = pipeline(source, createGunzip(), parser)
  reading.catch(() => undefined)
  try {
    for await (const entry of parser) {
      const { name, type, size = 0 } = entry.header
      if (manifest === null) {
        if (name !== manifestName || size > manifestBytes) throw damaged(file, 'it does not begin with a manifest')
        manifest = manifestOf(file, await textOf(entry as AsyncIterable<Buffer>))
        continue
      }
      const known = manifest.files.find((each) => each.name === name)
      const isName = name === databaseName || archiveName.test(name)
      if (type !== 'file' || !isName || known === undefined || seen.has(name) || known.sizeBytes !== size)
        throw damaged(file, `it holds ${JSON.stringify(name.slice(0, 100))}, which its manifest does not name so`)
      if (name !== databaseName) mkdirSync(join(folder, 'archive'), { recursive: true, mode: 0o700 })
      const digest = createHash('sha256')
      const path = join(folder, name)
      await pipeline(
        entry as unknown as NodeJS.ReadableStream,
        new Transform({
          transform(chunk: Buffer, _encoding, done) {
            digest.update(chunk)
            done(null, chunk)
          },
        }),
        createWriteStream(path, { flags: 'wx', mode: 0o600 }),
      )
      syncPath(path)
      seen.set(name, digest.digest('hex'))
    }
    await reading
  } catch (error) {
    if (error instanceof KernelError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOSPC') throw new KernelError('unavailable', `the disk is full: make room and import ${file} again`)
    throw damaged(file, message)
  } finally {
    source.destroy()
    parser.destroy()
  }
  if (manifest === null) throw damaged(file, 'it is empty')
  for (const { name, hash } of manifest.files)
    if (seen.get(name) !== hash) throw damaged(file, seen.has(name) ? `${name} was changed` : `${name} is missing`)
  if (!seen.has(databaseName)) throw damaged(file, 'it has no history')
  return manifest
}

function manifestOf(file: string, text: string): Manifest {
  try {
    return manifestSchema.parse(JSON.parse(text))
  } catch {
    throw damaged(file, 'its manifest is not one that this version reads')
  }
}

async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = []
  for await (const chunk of chunks) parts.push(chunk)
  return Buffer.concat(parts).toString('utf8')
}

async function hashOf(path: string): Promise<string> {
  const digest = createHash('sha256')
  for await (const chunk of createReadStream(path)) digest.update(chunk as Buffer)
  return digest.digest('hex')
}

function damaged(file: string, why: string): KernelError {
  return new KernelError('invalid', `${file} is no whole bundle: ${why}. Have it exported again`)
}
