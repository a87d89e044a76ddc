import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hint } from './command-name.ts'
import { type DeskFile, plain, readDeskFile, securityHeaders } from './desk-files.ts'
import type { Standing } from './operator-socket.ts'

const usedUp =
  hint(`This page of Exodesk is not open to this browser: the link was used already, or is of an earlier start.
Run "npm start" (or "exodesk serve") again, also while Exodesk runs: it prints a fresh link.`)

export interface HeadlessDesk {
  /** A new URL that opens the desk once: the token in it is spent by the first visit. Earlier ones that were not used stay good. */
  freshUrl(): string
  server: Server
  /** Who sends a request, an upgrade too. */
  standing(request: IncomingMessage): Standing
  close(): Promise<void>
}

/**
 * Serves the desk on loopback alone. A visitor shows the one-time token and gets a cookie for as long as this process
 * lives; a request with a foreign Host (DNS rebinding), a foreign Origin, or neither token nor cookie gets nothing.
 */
export async function serveHeadless(rendererFolder: string, port = 0): Promise<HeadlessDesk> {
  const tokens = new Set<string>()
  const pass = randomBytes(24).toString('base64url')
  const server = createServer((request, response) => {
    void answer(request).then(({ status, headers, body }) => {
      response.writeHead(status, headers).end(request.method === 'HEAD' ? undefined : body)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const origin = `http://${host}`
  const cookie = `exodesk-${host.split(':')[1]}`

  async function answer(request: IncomingMessage): Promise<DeskFile> {
    if (!isOurs(request)) return plain(403, 'This address serves the desk on loopback only.')
    if (request.method !== 'GET' && request.method !== 'HEAD') return plain(405, 'GET only')
    const url = new URL(request.url ?? '/', origin)
    const shown = url.searchParams.get('token')
    // A HEAD is somebody's preview of the link, not a visit.
    const token = shown === null || request.method !== 'GET' ? undefined : [...tokens].find((one) => isSame(shown, one))
    if (token !== undefined) {
      tokens.delete(token)
      const setCookie = `${cookie}=${pass}; Path=/; HttpOnly; SameSite=Strict`
      const headers = { ...securityHeaders, location: '/', 'set-cookie': setCookie }
      return { status: 303, headers, body: Buffer.alloc(0) }
    }
    if (!hasPass(request)) return plain(401, usedUp)
    return readDeskFile(rendererFolder, url.pathname)
  }

  function isOurs(request: IncomingMessage): boolean {
    const from = request.headers.origin
    return request.headers.host === host && (from === undefined || from === origin)
  }

  function hasPass(request: IncomingMessage): boolean {
    const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
    return pairs.some(([name, value]) => name === cookie && value !== undefined && isSame(value, pass))
  }

  return {
    freshUrl() {
      const token = randomBytes(24).toString('base64url')
      tokens.add(token)
      return `${origin}/?token=${token}`
    },
    server,
    standing(request) {
      if (request.headers.origin !== origin || !isOurs(request)) return 'foreign'
      return hasPass(request) ? 'ours' : 'stranger'
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function isSame(shown: string, expected: string): boolean {
  const a = Buffer.from(shown)
  const b = Buffer.from(expected)
  return a.length === b.length && timingSafeEqual(a, b)
}
