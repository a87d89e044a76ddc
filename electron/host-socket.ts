// DATA/host.sock: how the command line and a second start find the host that holds a data directory.
import { chmodSync, lstatSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Kernel } from '../kernel/kernel.ts'
import { serveOperatorSocket } from './operator-socket.ts'
import { chooseHostSocket, type DeskAnswer, forgetHostSocket, type HostFacts } from './socket-path.ts'

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

/**
 * Serves the operator contract, and two questions over HTTP, to this user alone. The caller holds the data directory's
 * lock: a socket file that is there already is of a host that died, and is replaced.
 */
export async function serveHostSocket(options: HostSocketOptions): Promise<HostSocket> {
  const { dataDir, operator, facts } = options
  const path = chooseHostSocket(dataDir)
  const isFile = process.platform !== 'win32'
  if (isFile) removeStale(path)
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
          forgetHostSocket(dataDir)
          resolve()
        })
        server.closeAllConnections()
      }),
  }
}

function removeStale(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`${path} is where the host listens, and a folder is in its place: move it away and start again`)
  rmSync(path, { force: true })
}
