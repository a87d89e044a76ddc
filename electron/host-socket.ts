// DATA/host.sock: how the command line and a second start find the host that holds a data directory.
import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import type { Kernel, KernelConfig } from '../kernel/kernel.ts'
import { serveOperatorSocket } from './operator-socket.ts'

/** What a host says of itself to who finds its socket. */
export interface HostFacts {
  host: KernelConfig['host']
  version: string
  pid: number
}

/** What a host does when it is asked for its desk: hands out a fresh one-time URL, shows its window, or has none. */
export type DeskAnswer = { url: string } | { shown: true } | { none: string }

export interface HostSocketOptions {
  dataDir: string
  operator: Kernel['operator']
  facts: HostFacts
  openDesk: () => DeskAnswer
}

export interface HostSocket {
  path: string
  close(): Promise<void>
}

/** Bytes that the shortest `sun_path` of our systems has room for (macOS: 104 with the closing zero). */
const longestPath = 100
const pathRecord = 'host.sock.path'

/**
 * Serves the operator contract, and two questions over HTTP, to this user alone. The caller holds the data directory's
 * lock: a socket file that is there already is of a host that died, and is replaced.
 */
export async function serveHostSocket(options: HostSocketOptions): Promise<HostSocket> {
  const { dataDir, operator, facts } = options
  const path = choosePath(dataDir)
  const isFile = process.platform !== 'win32'
  if (isFile) rmSync(path, { force: true })
  const server = createServer((request, response) => answer(request, response))
  const sockets = serveOperatorSocket(server, () => 'ours', operator, 'socket')
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  if (isFile) chmodSync(path, 0o600)

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const asked = `${request.method} ${request.url}`
    const body = asked === 'GET /host' ? facts : asked === 'POST /desk' ? options.openDesk() : null
    response.writeHead(body === null ? 404 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  return {
    path,
    close: () =>
      new Promise((resolve) => {
        sockets.close()
        server.close(() => {
          // The server has removed the socket file itself.
          rmSync(join(dataDir, pathRecord), { force: true })
          resolve()
        })
        server.closeAllConnections()
      }),
  }
}

/** Where the host of a data directory would listen, going by what is on the disk. */
export function findHostSocket(dataDir: string): string {
  if (process.platform === 'win32') return choosePath(dataDir)
  try {
    return readFileSync(join(dataDir, pathRecord), 'utf8')
  } catch {
    return join(dataDir, 'host.sock')
  }
}

function choosePath(dataDir: string): string {
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
