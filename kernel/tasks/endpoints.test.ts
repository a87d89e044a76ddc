import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { type AddressInfo, connect, createServer, Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../clock.ts'
import type { EventData } from '../wire/events.ts'
import { consented, endpointEnv, endpointNote, endpointsSchema, targetOf } from './endpoint-address.ts'
import { createEndpoints, type Endpoints, type EndpointsSpec } from './endpoints.ts'

let dir: string
let services: Server[]
let opened: Endpoints[]
let uses: EventData<'endpoint.used'>[]
let answers: (string | null)[]
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'endpoints-'))
  services = []
  opened = []
  uses = []
  answers = []
})
afterEach(async () => {
  for (const one of opened) await one.close()
  for (const one of services) one.close()
  rmSync(dir, { recursive: true, force: true })
})

async function serve(onConnection: (socket: Socket) => void, host = '127.0.0.1'): Promise<string> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {})
    onConnection(socket)
  })
  services.push(server)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return `${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`
}

async function open(address: string, more: Partial<EndpointsSpec> = {}): Promise<{ at: string; endpoints: Endpoints }> {
  const folder = more.dir ?? join(dir, 'sockets')
  const endpoints = createEndpoints({
    dir: folder,
    endpoints: [{ name: 'game', address }],
    clock: systemClock,
    used: async (use) => uses.push(use),
    answers: (_endpoint, why) => answers.push(why),
    ...more,
  })
  opened.push(endpoints)
  await endpoints.open()
  return { at: join(folder, 'game.sock'), endpoints }
}

/** Says this and hears all of the answer; `cut` where the connection was broken off. */
function exchange(path: string, text: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const heard: Buffer[] = []
    const socket = connect({ path, allowHalfOpen: true }, () => socket.end(text))
    socket.on('data', (chunk) => heard.push(chunk))
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(`cut: ${error.code}`))
    socket.on('end', () => resolve(Buffer.concat(heard).toString()))
  })
}

const echo = (socket: Socket) => void socket.pipe(socket)
const sum = (key: 'connections' | 'refused' | 'bytesIn' | 'bytesOut') => uses.reduce((all, use) => all + use[key], 0)

describe('an endpoint', () => {
  it('carries bytes both ways, and counts each of them once', async () => {
    const { at, endpoints } = await open(await serve(echo))
    const large = 'x'.repeat(3 * 1024 * 1024)
    expect(await exchange(at, large)).toBe(large)
    expect(await exchange(at, 'hello')).toBe('hello')
    await endpoints.close()
    expect([sum('connections'), sum('bytesIn'), sum('bytesOut')]).toEqual([2, large.length + 5, large.length + 5])
    expect(uses[0]).toMatchObject({ endpoint: 'game', refused: 0 })
  })

  it.each(['127.0.0.1', '::1'])('reaches a service on %s, by name too', async (host) => {
    const address = await serve(echo, host)
    const { at } = await open(`localhost:${address.split(':').at(-1)}`)
    expect(await exchange(at, 'hello')).toBe('hello')
    const literal = await open(address, { dir: join(dir, 'literal') })
    expect(await exchange(literal.at, 'hello')).toBe('hello')
  })

  it('listens where a socket’s address has no room for the path, and where a killed kernel left a socket', async () => {
    const deep = join(dir, 'd'.repeat(100), 'é'.repeat(60))
    mkdirSync(deep, { recursive: true })
    const address = await serve(echo)
    const { endpoints } = await open(address, { dir: deep })
    expect(statSync(join(deep, 'game.sock')).mode & 0o777).toBe(0o666)
    const again = await open(address, { dir: deep })
    await again.endpoints.close()
    await endpoints.close()
  })

  it('cuts what is open when it closes, keeps what was counted, and opens again', async () => {
    const { at, endpoints } = await open(await serve(echo))
    const socket = connect(at)
    const gone = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => {})
    socket.write('half')
    await new Promise((resolve) => socket.once('data', resolve))
    await endpoints.close()
    await gone
    expect([sum('connections'), sum('bytesIn'), sum('bytesOut')]).toEqual([1, 4, 4])
    expect(await exchange(at, 'x')).toBe('cut: ENOENT')
    await endpoints.open()
    expect(await exchange(at, 'again')).toBe('again')
  })

  it('says that the service is down, and that it is back', async () => {
    const address = await serve(echo)
    const [down] = services.splice(0)
    await new Promise((resolve) => down?.close(resolve))
    const { at, endpoints } = await open(address)
    expect(await exchange(at, 'x')).toMatch(/^(cut: ECONNRESET)?$/)
    expect(answers).toEqual(['ECONNREFUSED'])
    const back = createServer(echo)
    services.push(back)
    await new Promise<void>((resolve) => back.listen(Number(address.split(':')[1]), '127.0.0.1', resolve))
    expect(await exchange(at, 'hello')).toBe('hello')
    expect(answers).toEqual(['ECONNREFUSED', null])
    await endpoints.close()
    expect([sum('connections'), sum('refused')]).toEqual([1, 1])
  })

  it('has a cap of connections, and drops one on which nothing is said', async () => {
    const { at, endpoints } = await open(await serve(echo), {
      limits: { connections: 1, idleMs: 50 },
    })
    const first = connect(at)
    first.on('error', () => {})
    const idle = new Promise((resolve) => first.once('close', resolve))
    first.write('x')
    await new Promise((resolve) => first.once('data', resolve))
    expect(await exchange(at, 'y')).toMatch(/^(cut: (ECONNRESET|EPIPE))?$/)
    await idle
    expect(await exchange(at, 'z')).toBe('z')
    await endpoints.close()
    expect([sum('connections'), sum('refused')]).toEqual([2, 1])
  })

  it('holds a service to the pace of a sandbox that does not read', async () => {
    const chunk = Buffer.alloc(64 * 1024)
    let written = 0
    const address = await serve((socket) => {
      const pour = () => {
        while (written < 256 * 1024 * 1024) {
          written += chunk.length
          if (!socket.write(chunk)) return
        }
      }
      socket.on('drain', pour)
      // Another connection is an echo, by which the test knows that the kernel has had its turn.
      socket.once('data', (said) => (String(said) === 'pour' ? pour() : socket.end(said)))
    })
    const { at } = await open(address)
    const socket = connect(at)
    socket.pause()
    socket.write('pour')
    for (let turn = 0; turn < 100; turn += 1) expect(await exchange(at, 'hello')).toBe('hello')
    expect(written).toBeGreaterThan(0)
    expect(written).toBeLessThan(32 * 1024 * 1024)
    socket.destroy()
  })

  it('goes on where a connection could not be taken for want of descriptors, however often', async () => {
    const listen = vi.spyOn(Server.prototype, 'listen')
    const { at } = await open(await serve(echo))
    const door = listen.mock.contexts.at(-1)
    listen.mockRestore()
    expect((door as Server).address()).toContain('game.sock')
    // What Node does then.
    for (let n = 0; n < 3; n += 1)
      (door as Server).emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }))
    expect(await exchange(at, 'hello')).toBe('hello')
  })

  it('counts on after a report that could not be kept', async () => {
    let broken = true
    const { at, endpoints } = await open(await serve(echo), {
      used: async (use) => {
        if (broken) throw new Error('disk full')
        uses.push(use)
      },
    })
    expect(await exchange(at, 'hello')).toBe('hello')
    await endpoints.close()
    expect(uses).toEqual([])
    broken = false
    await endpoints.open()
    await endpoints.close()
  })
})

describe('the address of an endpoint', () => {
  it('is a TCP port of this machine, as it stands', () => {
    expect(targetOf('127.0.0.1:8080')).toEqual({ hosts: ['127.0.0.1'], port: 8080 })
    expect(targetOf('127.9.0.1:1')).toEqual({ hosts: ['127.9.0.1'], port: 1 })
    expect(targetOf('[::1]:65535')).toEqual({ hosts: ['::1'], port: 65535 })
    expect(targetOf('localhost:80')).toEqual({ hosts: ['127.0.0.1', '::1'], port: 80 })
  })

  it.each([
    ['10.0.0.1:80', 'another machine'],
    ['192.0.2.1:80', 'another machine'],
    ['0.0.0.0:80', 'every interface'],
    ['169.254.169.254:80', 'metadata'],
    ['127.1:80', 'short form'],
    ['127.0.0.256:80', 'no octet'],
    ['0127.0.0.1:80', 'octal'],
    ['2130706433:80', 'decimal'],
    ['[::ffff:127.0.0.1]:80', 'mapped'],
    ['[::]:80', 'every interface'],
    ['example.org:80', 'a name'],
    ['localhost.example.org:80', 'a longer name'],
    ['LOCALHOST:80', 'capitals'],
    ['user@127.0.0.1:80', 'userinfo'],
    ['127.0.0.1:80/path', 'a path'],
    ['http://127.0.0.1:80', 'a URL'],
    ['127.0.0.1', 'no port'],
    ['127.0.0.1:0', 'port 0'],
    ['127.0.0.1:65536', 'too high a port'],
    ['127.0.0.1:080', 'leading zero'],
    ['127.0.0.1:8080\n', 'a newline'],
    ['127.0.0.1\0:80', 'NUL'],
    ['/var/run/docker.sock', 'a socket'],
    ['unix:/var/run/docker.sock', 'a socket'],
  ])('[X2] cannot be %j (%s)', (address) => {
    expect(targetOf(address)).toBeNull()
    expect(endpointsSchema.safeParse([{ name: 'a', address }]).success).toBe(false)
  })

  it.each(['', 'Game', '../x', 'a/b', 'a\0', '-a', 'a_b', 'a'.repeat(33)])('has no name %j', (name) => {
    expect(endpointsSchema.safeParse([{ name, address: '127.0.0.1:1' }]).success).toBe(false)
  })

  it('has one name each, and there are few', () => {
    const one = (name: string) => ({ name, address: '127.0.0.1:1' })
    expect(endpointsSchema.safeParse([one('a'), one('b')]).success).toBe(true)
    expect(endpointsSchema.safeParse([one('a'), one('a')]).success).toBe(false)
    expect(endpointsSchema.safeParse([...'abcdefghi'].map(one)).success).toBe(false)
  })

  it('shows in the sandbox by variable, and in the instruction', () => {
    const endpoints = [{ name: 'my-game', address: '127.0.0.1:8080' }]
    expect(endpointEnv(endpoints)).toEqual({ EXODESK_ENDPOINT_MY_GAME: '/run/endpoints/my-game.sock' })
    expect(endpointNote(endpoints)).toContain('/run/endpoints/my-game.sock')
    expect(endpointNote([])).toBe('')
  })
})

describe('consent', () => {
  const asked = [
    { name: 'game', address: '127.0.0.1:8080' },
    { name: 'map', address: '127.0.0.1:8081' },
  ]

  it('is for every endpoint that a pack asks for, or the pack is not run', () => {
    expect(consented('p', asked, [{ name: 'game' }, { name: 'map', address: '127.0.0.1:8081' }])).toEqual(asked)
    expect(consented('p', [])).toEqual([])
    expect(() => consented('p', asked)).toThrow(
      /game \(127\.0\.0\.1:8080\), map \(127\.0\.0\.1:8081\).*--allow-endpoint game --allow-endpoint map/,
    )
    expect(() => consented('p', asked, [{ name: 'game' }])).toThrow(/: map \(127\.0\.0\.1:8081\)/)
  })

  it('holds for the address that was shown, and for no name that the pack does not have', () => {
    const moved = [{ name: 'game', address: '127.0.0.1:22' }, { name: 'map' }]
    expect(() => consented('p', asked, moved)).toThrow(/127\.0\.0\.1:8080 now, not 127\.0\.0\.1:22/)
    expect(() => consented('p', asked, [{ name: 'other' }])).toThrow(/no endpoint "other"; it has: game, map/)
  })
})
