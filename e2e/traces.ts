// Looks for a secret in everything that a program left behind, in every form that it may have taken there.
import { copyFileSync, existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { brotliDecompressSync, constants, inflateRawSync, inflateSync, unzipSync, zstdDecompressSync } from 'node:zlib'

export interface Trace {
  where: string
  form: string
}

/** Longest that one compressed stream is followed. */
const mostBytes = 64 * 1024 * 1024
const depthMax = 3

/** Every form of the secret as bytes. A base64 text has three, by where in it the secret begins. */
export function formsOf(secret: string): Map<string, Buffer> {
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  const forms = new Map<string, Buffer>([
    ['plain', bytes],
    ['reversed', Buffer.from([...secret].reverse().join(''))],
    ['utf-16le', Buffer.from(secret, 'utf16le')],
    ['utf-16be', Buffer.from(secret, 'utf16le').swap16()],
    ['hex', Buffer.from(hex)],
    ['HEX', Buffer.from(hex.toUpperCase())],
    ['url', Buffer.from(encodeURIComponent(secret))],
    ['url, every character', Buffer.from(hex.replaceAll(/../g, '%$&'))],
    ['json', Buffer.from(JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/'))],
    ['json, every character', Buffer.from([...secret].map((c) => `\\u00${c.charCodeAt(0).toString(16)}`).join(''))],
  ])
  for (const shift of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    // The characters at both ends share bits with their neighbours.
    const inside = encoded.slice(shift === 0 ? 0 : shift + 1, -1)
    forms.set(`base64 +${shift}`, Buffer.from(inside))
    forms.set(`base64url +${shift}`, Buffer.from(inside.replaceAll('+', '-').replaceAll('/', '_')))
  }
  return forms
}

/** Where the secret stands in these bytes, compressed streams within them included. */
export function searchBytes(bytes: Buffer, secret: string, where: string): Trace[] {
  return search(bytes, formsOf(secret), where, 0)
}

/** The same over a file or all files below a folder, by their names too; databases also row by row. */
export function searchPaths(paths: readonly string[], secret: string): { traces: Trace[]; files: number } {
  const forms = formsOf(secret)
  const traces: Trace[] = []
  let files = 0
  const visit = (path: string): void => {
    traces.push(...search(Buffer.from(path), forms, `the name ${path}`, depthMax))
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat?.isDirectory()) for (const name of readdirSync(path)) visit(join(path, name))
    if (!stat?.isFile()) return
    const bytes = readIfThere(path)
    if (bytes === null) return
    files += 1
    traces.push(...search(bytes, forms, path, 0))
    if (bytes.subarray(0, 15).toString() === 'SQLite format 3') traces.push(...searchDatabase(path, forms))
  }
  for (const path of paths) visit(path)
  return { traces, files }
}

/** What still runs makes and removes files while they are searched. */
function readIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** A value that does not fit into its page is scattered over the file: only the database puts it together. */
function searchDatabase(path: string, forms: Map<string, Buffer>): Trace[] {
  try {
    return searchRows(path, path, forms)
  } catch (error) {
    if (!/locked/.test((error as Error).message)) throw error
  }
  // Another process keeps it to itself (a browser its profile): a copy is free.
  const folder = mkdtempSync(join(tmpdir(), 'exodesk-copy-'))
  try {
    for (const suffix of ['', '-wal', '-journal'])
      if (existsSync(path + suffix)) copyFileSync(path + suffix, join(folder, `copy${suffix}`))
    return searchRows(join(folder, 'copy'), path, forms)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function searchRows(file: string, path: string, forms: Map<string, Buffer>): Trace[] {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    // What a virtual table holds is in ordinary tables of its own.
    const tables = database
      .prepare("select name from sqlite_schema where type = 'table' and sql not like 'create virtual%'")
      .all()
    return tables.flatMap(({ name }) => {
      const rows = database.prepare(`select * from "${name}"`)
      rows.setReadBigInts(true)
      return [...rows.iterate()].flatMap((row) =>
        Object.entries(row).flatMap(([column, value]) => {
          if (typeof value !== 'string' && !(value instanceof Uint8Array)) return []
          return search(Buffer.from(value as string), forms, `${path}: ${name}.${column}`, 0)
        }),
      )
    })
  } finally {
    database.close()
  }
}

function search(bytes: Buffer, forms: Map<string, Buffer>, where: string, depth: number): Trace[] {
  const traces = [...forms].filter(([, form]) => bytes.includes(form)).map(([form]) => ({ where, form }))
  if (depth >= depthMax) return traces
  for (const { at, name, plain } of streamsIn(bytes))
    traces.push(...search(plain, forms, `${where} > ${name} at ${at}`, depth + 1))
  return traces
}

const options = { maxOutputLength: mostBytes, finishFlush: constants.Z_SYNC_FLUSH }
const magics: {
  name: string
  magic: number[]
  skip?: (bytes: Buffer, at: number) => number
  open(from: Buffer): Buffer
}[] = [
  { name: 'gzip', magic: [0x1f, 0x8b, 0x08], open: (from) => unzipSync(from, options) },
  {
    name: 'zstd',
    magic: [0x28, 0xb5, 0x2f, 0xfd],
    open: (from) => zstdDecompressSync(from, { maxOutputLength: mostBytes }),
  },
  ...[0x01, 0x5e, 0x9c, 0xda].map((level) => ({
    name: 'zlib',
    magic: [0x78, level],
    open: (from: Buffer) => inflateSync(from, options),
  })),
  {
    name: 'zip entry',
    magic: [0x50, 0x4b, 0x03, 0x04],
    skip: (bytes, at) => (at + 30 <= bytes.length ? 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28) : 0),
    open: (from) => inflateRawSync(from, options),
  },
]

/** What begins like a compressed stream and is one. Brotli and raw deflate have no mark: they are tried from the start alone. */
function* streamsIn(bytes: Buffer): Generator<{ at: number; name: string; plain: Buffer }> {
  for (const { name, magic, skip, open } of magics) {
    const mark = Buffer.from(magic)
    for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + 1)) {
      const plain = attempt(() => open(bytes.subarray(at + (skip?.(bytes, at) ?? 0))))
      if (plain !== null && plain.length > 0) yield { at, name, plain }
    }
  }
  for (const [name, open] of [
    ['brotli', brotliDecompressSync],
    ['deflate', inflateRawSync],
  ] as const) {
    const plain = attempt(() => open(bytes, { maxOutputLength: mostBytes }))
    if (plain !== null && plain.length > 0) yield { at: 0, name, plain }
  }
}

function attempt(open: () => Buffer): Buffer | null {
  try {
    return open()
  } catch {
    return null
  }
}
