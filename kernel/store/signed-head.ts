import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { genesis } from './chain.ts'
import type { Head } from './messages.ts'

// What SQLite cannot know: how far history had come. Kept beside the database, so that a dropped tail, an older copy or
// a recomputed chain shows. The key lies in the data directory too (0600): who can read it there can also forge a head.

const headFile = (dataDir: string) => join(dataDir, 'head.json')
const keyFile = (dataDir: string) => join(dataDir, 'head.key')

/** Makes the key and the head of an empty history. Afterwards, that one of them is missing is a finding. */
export function startSignedHead(dataDir: string): void {
  if (readKey(dataDir) === null) replace(dataDir, keyFile(dataDir), `${randomBytes(32).toString('hex')}\n`)
  writeSignedHead(dataDir, { seq: 0, hash: genesis })
}

export function hasSignedHead(dataDir: string): boolean {
  return read(headFile(dataDir)) !== null
}

/** On disk, whole, when it returns. */
export function writeSignedHead(dataDir: string, head: Head): void {
  const key = readKey(dataDir)
  if (key === null) throw new Error(`${keyFile(dataDir)} is missing`)
  replace(dataDir, headFile(dataDir), `${JSON.stringify({ seq: head.seq, hash: head.hash, mac: macOf(key, head) })}\n`)
}

/** The head as it was last signed, or what is wrong with it. */
export function readSignedHead(dataDir: string): { head: Head } | { problem: string } {
  const key = readKey(dataDir)
  if (key === null) return { problem: `${keyFile(dataDir)} is missing, so the head of history cannot be checked` }
  const text = read(headFile(dataDir))
  if (text === null) return { problem: `${headFile(dataDir)} is missing, so the end of history cannot be checked` }
  const found = /^\{"seq":(\d{1,15}),"hash":"([0-9a-f]{64})","mac":"([0-9a-f]{64})"\}\n$/.exec(text)
  if (found === null) return { problem: `${headFile(dataDir)} is damaged` }
  const [seq, hash, mac] = [Number(found[1]), found[2] as string, found[3] as string]
  if (!timingSafeEqual(Buffer.from(macOf(key, { seq, hash })), Buffer.from(mac))) {
    return { problem: `the signature in ${headFile(dataDir)} is not ours` }
  }
  return { head: { seq, hash } }
}

function macOf(key: string, head: Head): string {
  return createHmac('sha256', Buffer.from(key, 'hex'))
    .update(`exodesk head 1\n${head.seq}\n${head.hash}\n`)
    .digest('hex')
}

function readKey(dataDir: string): string | null {
  const key = read(keyFile(dataDir))?.trim() ?? null
  return key !== null && /^[0-9a-f]{64}$/.test(key) ? key : null
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function replace(dataDir: string, file: string, text: string): void {
  const next = `${file}.next`
  const fd = openSync(next, 'w', 0o600)
  try {
    writeSync(fd, text)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(next, file)
  syncFolder(dataDir)
}

function syncFolder(folder: string): void {
  // Windows has no such call for folders; its rename is journalled.
  if (process.platform === 'win32') return
  const fd = openSync(folder, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
