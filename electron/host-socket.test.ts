import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, lstatSync } from 'node:fs'
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Kernel } from '../kernel/kernel.ts'
import { findRunningHost } from './host-client.ts'
import { type HostSocket, serveHostSocket } from './host-socket.ts'
import { type DeskAnswer, findHostSocket } from './socket-path.ts'

const noProcedures = {} as unknown as Kernel['operator']

describe('the socket of a host', () => {
  let dir: string
  const open: HostSocket[] = []
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'host-socket-'))
  })
  afterEach(async () => {
    for (const socket of open.splice(0)) await socket.close()
    await rm(dir, { recursive: true })
  })

  async function serve(dataDir: string, answer: DeskAnswer = { none: 'nothing' }): Promise<HostSocket> {
    const facts = { host: 'headless', version: '1.2.3', pid: 42 } as const
    const socket = await serveHostSocket({ dataDir, operator: noProcedures, facts, openDesk: () => answer })
    open.push(socket)
    return socket
  }

  it('is open to its user alone, says who listens, and is gone afterwards', async () => {
    const socket = await serve(dir)
    expect(socket.path).toBe(join(dir, 'host.sock'))
    expect((await stat(socket.path)).mode & 0o777).toBe(0o600)
    expect((await findRunningHost(dir))?.facts).toEqual({ host: 'headless', version: '1.2.3', pid: 42 })
    await open.pop()?.close()
    expect(existsSync(socket.path)).toBe(false)
    expect(await findRunningHost(dir)).toBeNull()
  })

  it('hands on what the host does when it is asked for its desk', async () => {
    await serve(dir, { url: 'http://127.0.0.1:1/?token=x' })
    expect(await (await findRunningHost(dir))?.openDesk()).toEqual({ url: 'http://127.0.0.1:1/?token=x' })
  })

  it('replaces the file of a host that was killed, which nobody takes for a host', async () => {
    const path = join(dir, 'host.sock')
    const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => console.log('listening'))`
    const dying = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(dying.stdout, 'data')
    dying.kill('SIGKILL')
    await once(dying, 'exit')
    expect(lstatSync(path).isSocket()).toBe(true)
    expect(await findRunningHost(dir)).toBeNull()
    await serve(dir)
    expect((await findRunningHost(dir))?.facts.pid).toBe(42)
  })

  it('takes nothing away that is a folder', async () => {
    await mkdir(join(dir, 'host.sock'))
    await expect(serve(dir)).rejects.toThrow(/a folder is in its place: move it away/)
    expect((await stat(join(dir, 'host.sock'))).isDirectory()).toBe(true)
  })

  it('is found where the data directory is too deep for a socket address', async () => {
    const deep = join(dir, 'd'.repeat(80), 'e'.repeat(40))
    await mkdir(deep, { recursive: true })
    const socket = await serve(deep)
    expect(Buffer.byteLength(socket.path)).toBeLessThanOrEqual(100)
    expect(findHostSocket(deep)).toBe(socket.path)
    expect((await findRunningHost(deep))?.facts.pid).toBe(42)
    const folder = await stat(join(socket.path, '..'))
    expect(folder.mode & 0o077).toBe(0)
    await open.pop()?.close()
    expect(await findRunningHost(deep)).toBeNull()
  })

  it('is not there where no host has been, nor where the folder is missing', async () => {
    expect(await findRunningHost(dir)).toBeNull()
    expect(await findRunningHost(join(dir, 'none'))).toBeNull()
  })

  it('does not hang on something that listens and is no host', async () => {
    const server = createServer((socket) => socket.resume().end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'))
    server.listen(join(dir, 'host.sock'))
    await once(server, 'listening')
    await expect(findRunningHost(dir)).rejects.toThrow(/answered 404/)
    await new Promise((resolve) => server.close(resolve))
  })
})
