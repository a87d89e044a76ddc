// Where the host of a data directory listens, and what is asked of it there: known to both sides.
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import type { KernelConfig } from '../kernel/kernel.ts'

/** Larger than any call of the operator contract and any answer. */
export const maxPayloadBytes = 16 * 1024 * 1024

/** What a host says of itself to who finds its socket. */
export interface HostFacts {
  host: KernelConfig['host']
  version: string
  pid: number
}

/** What a host does when it is asked for its desk: hands out a fresh one-time URL, shows its window, or has none. */
export type DeskAnswer = { url: string } | { shown: true } | { none: string }

/** Bytes that the shortest `sun_path` of our systems has room for (macOS: 104 with the closing zero). */
const longestPath = 100
const pathRecord = 'host.sock.path'

/** Where the host of a data directory would listen, going by what is on the disk. */
export function findHostSocket(dataDir: string): string {
  if (process.platform === 'win32') return chooseHostSocket(dataDir)
  try {
    return readFileSync(join(dataDir, pathRecord), 'utf8')
  } catch {
    return join(dataDir, 'host.sock')
  }
}

/** Where a host that holds the directory's lock is to listen; written down in it where that is elsewhere. */
export function chooseHostSocket(dataDir: string): string {
  const name = createHash('sha256').update(realOrSame(dataDir)).digest('hex').slice(0, 24)
  if (process.platform === 'win32') return `\\\\.\\pipe\\exodesk-${name}`
  const path = join(dataDir, 'host.sock')
  if (Buffer.byteLength(path) <= longestPath) {
    rmSync(join(dataDir, pathRecord), { force: true })
    return path
  }
  // Too deep for a socket's address: it lies elsewhere, in a folder of this user alone, and the data directory says where.
  const elsewhere = join(privateFolder(), `${name}.sock`)
  writeFileSync(join(dataDir, pathRecord), elsewhere, { mode: 0o600 })
  return elsewhere
}

/** @throws Error where somebody else made the folder: what is in it would not be private. */
function privateFolder(): string {
  const { uid } = userInfo()
  const folder = join(process.env.XDG_RUNTIME_DIR || tmpdir(), `exodesk-${uid}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0)
    throw new Error(
      `${folder} is not a private folder of this user, and ${dirname(folder)} is where the socket must go: ` +
        'remove it, or use a data directory with a shorter path',
    )
  return folder
}

function realOrSame(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** Forgets where a socket that lay elsewhere was. */
export function forgetHostSocket(dataDir: string): void {
  rmSync(join(dataDir, pathRecord), { force: true })
}
