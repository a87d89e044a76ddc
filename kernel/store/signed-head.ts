import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { genesis } from './chain.ts'
import { readText, replaceFile } from './files.ts'
import type { Head } from './messages.ts'

// What SQLite cannot know: how far history had come. Kept beside the database, so that a dropped tail, an older copy or
// a recomputed chain shows. The key lies in the data directory too (0600): who can read it there can also forge a head.

const headFile = (dataDir: string) => join(dataDir, 'head.json')
const keyFile = (dataDir: string) => join(dataDir, 'head.key')
const noteFile = (dataDir: string) => join(dataDir, 'head.last')

/** Makes the key and the head of an empty history. Afterwards, that one of them is missing is a finding. */
export function startSignedHead(dataDir: string): void {
  if (readKey(dataDir) === null) replaceFile(keyFile(dataDir), `${randomBytes(32).toString('hex')}\n`)
  writeSignedHead(dataDir, { seq: 0, hash: genesis })
}

export function hasSignedHead(dataDir: string): boolean {
  return readText(headFile(dataDir)) !== null
}

/** On disk, whole, when it returns. */
export function writeSignedHead(dataDir: string, head: Head): void {
  const key = readKey(dataDir)
  if (key === null) throw new Error(`${keyFile(dataDir)} is missing or damaged`)
  replaceFile(headFile(dataDir), signedText(key, head))
}

/**
 * Notes the head after each commit, without waiting for the disk: a commit that the write-ahead log loses to a damaged
 * byte is missed all the same. It comes after its commit, so it is never ahead of what is durable.
 */
export function createHeadNote(dataDir: string): { write(head: Head): void; close(): void } {
  const key = readKey(dataDir)
  if (key === null) throw new Error(`${keyFile(dataDir)} is missing or damaged`)
  // Not truncated: what stands there stays until the first write, which is longer or as long.
  const fd = openSync(noteFile(dataDir), 'a', 0o600)
  closeSync(fd)
  const own = openSync(noteFile(dataDir), 'r+', 0o600)
  return {
    // Padded: a shorter seq after a longer one would leave the longer one's end.
    write: (head) => void writeSync(own, signedText(key, head).padEnd(noteBytes, ' '), 0),
    close: () => closeSync(own),
  }
}

const noteBytes = 256

export interface SignedHeads {
  /** As it was last signed, or what is wrong with it. */
  head: { head: Head } | { problem: string }
  /** Of the last commit that was noted; null: none, or not to be read. */
  last: Head | null
}

export function readSignedHeads(dataDir: string): SignedHeads {
  try {
    return readBoth(dataDir)
  } catch (error) {
    return {
      head: { problem: `the signed head cannot be read: ${(error as Error).message}; it must be a file` },
      last: null,
    }
  }
}

function readBoth(dataDir: string): SignedHeads {
  const key = readKey(dataDir)
  if (key === null) {
    return {
      head: { problem: `${keyFile(dataDir)} is missing or damaged, so the head of history cannot be checked` },
      last: null,
    }
  }
  const text = readText(headFile(dataDir))
  if (text === null) {
    return {
      head: { problem: `${headFile(dataDir)} is missing, so the end of history cannot be checked` },
      last: null,
    }
  }
  const note = parse(readText(noteFile(dataDir))?.trimEnd().concat('\n') ?? '')
  const last = note !== null && isOurs(key, note) ? { seq: note.seq, hash: note.hash } : null
  const found = parse(text)
  if (found === null) return { head: { problem: `${headFile(dataDir)} is damaged` }, last }
  if (!isOurs(key, found)) return { head: { problem: `the signature in ${headFile(dataDir)} is not ours` }, last }
  return { head: { head: { seq: found.seq, hash: found.hash } }, last }
}

type Signed = Head & { mac: string }

function signedText(key: string, head: Head): string {
  return `${JSON.stringify({ seq: head.seq, hash: head.hash, mac: macOf(key, head) })}\n`
}

function parse(text: string): Signed | null {
  const found = /^\{"seq":(\d{1,15}),"hash":"([0-9a-f]{64})","mac":"([0-9a-f]{64})"\}\n$/.exec(text)
  return found === null ? null : { seq: Number(found[1]), hash: found[2] as string, mac: found[3] as string }
}

function isOurs(key: string, { seq, hash, mac }: Signed): boolean {
  return timingSafeEqual(Buffer.from(macOf(key, { seq, hash })), Buffer.from(mac))
}

function macOf(key: string, head: Head): string {
  return createHmac('sha256', Buffer.from(key, 'hex'))
    .update(`exodesk head 1\n${head.seq}\n${head.hash}\n`)
    .digest('hex')
}

function readKey(dataDir: string): string | null {
  const key = readText(keyFile(dataDir))?.trim() ?? null
  return key !== null && /^[0-9a-f]{64}$/.test(key) ? key : null
}
