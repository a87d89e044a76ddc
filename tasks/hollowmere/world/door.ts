// The agent's side: a unix socket that takes one JSON line a connection, {key, args}, and answers {text, code}.
import fs from 'node:fs'
import net from 'node:net'
import type { World } from './world.ts'

/** Longest request, bytes. */
const lineLimit = 4096
/** Connections at once; the oldest gives way to a newcomer. */
const connectionLimit = 32
/** A connection that says nothing for so long is closed, ms. */
const idleMs = 5_000

/** Serves until the process ends. Nothing that a client sends can end it. */
export function openDoor(world: World, socketPath: string, onReady: () => void): void {
  // A socket file left by a killed process would make listen fail.
  fs.rmSync(socketPath, { force: true })
  const open = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    const [oldest] = open
    if (open.size >= connectionLimit) oldest?.destroy()
    open.add(socket)
    let received = Buffer.alloc(0)
    socket.setTimeout(idleMs, () => socket.destroy())
    socket.on('error', () => socket.destroy())
    socket.on('close', () => open.delete(socket))
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      const end = received.indexOf(0x0a)
      if (end < 0 && received.length <= lineLimit) return
      socket.removeAllListeners('data')
      socket.resume()
      socket.end(`${answerTo(world, end < 0 || end > lineLimit ? null : received.toString('utf8', 0, end))}\n`)
    })
  })
  server.listen(socketPath, () => {
    // The sandbox's user is not the world's user.
    fs.chmodSync(socketPath, 0o666)
    onReady()
  })
}

function answerTo(world: World, line: string | null): string {
  const request = line === null ? null : readRequest(line)
  if (!request) {
    return JSON.stringify({ text: 'Send one line: {"key": "unique", "args": ["look"]}, at most 4096 bytes.', code: 2 })
  }
  try {
    return JSON.stringify(world.act(request.key, request.args))
  } catch (error) {
    return JSON.stringify({ text: `The world could not do that: ${(error as Error).message}.`, code: 3 })
  }
}

function readRequest(line: string): { key: string; args: string[] } | null {
  try {
    const { key, args } = JSON.parse(line) as { key?: unknown; args?: unknown }
    if (typeof key !== 'string' || key === '' || key.length > 64 || !Array.isArray(args) || args.length > 8) return null
    if (!args.every((word): word is string => typeof word === 'string' && word.length <= 64)) return null
    return { key, args }
  } catch {
    return null
  }
}
