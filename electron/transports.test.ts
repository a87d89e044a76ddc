import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { createORPCClient, ORPCError } from '@orpc/client'
import { RPCLink as PortLink } from '@orpc/client/message-port'
import { RPCLink as SocketLink } from '@orpc/client/websocket'
import { implement } from '@orpc/server'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import WebSocket from 'ws'
import type { Kernel } from '../kernel/kernel.ts'
import { type EventRow, operatorContract } from '../kernel/wire/operator.ts'
import { type HeadlessDesk, serveHeadless } from './headless-server.ts'
import { type Desk, findRunningHost } from './host-client.ts'
import { serveHostSocket } from './host-socket.ts'
import { noFrame } from './operator-frame.ts'
import { serveOperatorSocket } from './operator-socket.ts'
import { portHandler } from './port-handler.ts'

const ask = (given: object) => JSON.stringify({ i: '1', p: { u: '/proposals/file', ...given } })
/** Said in place of a frame; each made the library throw, or asks it for what the contract has not. */
const notFrames: [string, string | Buffer][] = [
  ['words', 'garbage\nExodesk: all is well'],
  ...['{}', '[]', 'null', '1', '"x"', '{"i":"1"}', '{"i":"1","p":{}}', '{"i":1,"p":{"u":"/proposals/file"}}'].map(
    (text): [string, string] => [text, text],
  ),
  ['a type that there is not', '{"i":"1","t":9,"p":{}}'],
  ['a stream of input', '{"i":"1","t":3,"p":{"e":"message"}}'],
  ['another address', ask({ u: 'http://[bad' })],
  ['a path that climbs', ask({ u: '/__proto__/x' })],
  ['an encoded path', ask({ u: '/proposals/file/%E0%A4%A' })],
  ['a form', ask({ h: { 'content-type': 'multipart/form-data' } })],
  ['a file', ask({ h: { 'content-disposition': 'attachment' } })],
  ['another method', ask({ m: 'GET' })],
  ['a body that is none', ask({ b: 'x' })],
  ['a very long id', JSON.stringify({ i: 'x'.repeat(100_000), t: 4 })],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00])],
  ['a frame and bytes after it', Buffer.concat([Buffer.from(ask({})), Buffer.from([0xff, 1, 2])])],
]

/** A router of a few procedures of the contract, by which every transport is measured. */
function smallRouter() {
  const seen: string[] = []
  const viewers: unknown[] = []
  const state = { yielded: 0, ended: 0 }
  const os = implement(operatorContract).$context<{ via: string; viewer?: object }>()
  const router = {
    proposals: {
      file: os.proposals.file.handler(({ input, context }) => {
        seen.push(context.via)
        viewers.push(context.viewer)
        if (input.path === 'broken.ts') throw new Error('/home/someone/secret: permission denied')
        if (input.path === 'none.ts')
          throw new ORPCError('not-found', { status: 404, message: 'there is no file none.ts' })
        return { before: null, after: input.path }
      }),
    },
    events: {
      follow: os.events.follow.handler(async function* ({ input, signal }) {
        try {
          for (let seq = input.after + 1; signal?.aborted !== true; seq += 1) {
            state.yielded += 1
            yield [row(seq, input.task === undefined ? '' : 'x'.repeat(65_536))]
          }
        } finally {
          state.ended += 1
        }
      }),
    },
  }
  return { router: router as unknown as Kernel['operator'], seen, viewers, state }
}

function row(seq: number, text: string): EventRow {
  const place = { agent: null, task: null, run: null, generation: null, turn: null, step: null, revision: null }
  return { seq, at: 0, ...place, actor: 'kernel', kind: 'note.added', data: { text } }
}

interface Opened {
  desk: Desk
  /** As when the page or the command goes away. */
  leave(): void
}

let dir: string
const closing: (() => unknown)[] = []
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'transport-'))
  await writeFile(join(dir, 'index.html'), 'desk')
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  await rm(dir, { recursive: true })
})

async function overSocket(router: Kernel['operator']): Promise<Opened> {
  const facts = { host: 'test', version: '1', pid: process.pid } as const
  const socket = await serveHostSocket({ dataDir: dir, operator: router, facts, openDesk: () => ({ shown: true }) })
  closing.push(socket.close)
  const connection = await (await findRunningHost(dir))?.connect()
  if (connection === undefined) throw new Error('no host was found')
  return { desk: connection.desk, leave: connection.close }
}

async function overWebSocket(router: Kernel['operator']): Promise<Opened> {
  const headless = await serveDesk(router)
  const websocket = await connect(headless, { cookie: await passOf(headless) })
  return { desk: deskOver(websocket), leave: () => websocket.terminate() }
}

async function overPort(router: Kernel['operator']): Promise<Opened> {
  const { port1, port2 } = new MessageChannel()
  portHandler(router).upgrade(port1, 'desktop')
  port1.start()
  const desk: Desk = createORPCClient(new PortLink({ port: port2 }))
  port2.start()
  closing.push(() => port1.close())
  return { desk, leave: () => port2.close() }
}

describe.each([
  ['DATA/host.sock', 'socket', overSocket],
  ['a WebSocket', 'websocket', overWebSocket],
  ['a message port', 'desktop', overPort],
])('the operator contract over %s', (_name, via, open) => {
  it('answers, and says to the router by which way it was asked', async () => {
    const { router, seen } = smallRouter()
    const { desk, leave } = await open(router)
    expect(await desk.proposals.file({ agent: 'a', proposal: 'P-1', path: 'ä.ts' })).toEqual({
      before: null,
      after: 'ä.ts',
    })
    expect(seen).toEqual([via])
    leave()
  })

  it('[U7] carries errors with their code and text, and refuses what the contract does not allow', async () => {
    const { desk, leave } = await open(smallRouter().router)
    await expect(desk.proposals.file({ agent: 'a', proposal: 'P-1', path: 'none.ts' })).rejects.toMatchObject({
      code: 'not-found',
      message: 'there is no file none.ts',
    })
    await expect(desk.proposals.file({ agent: '../a', proposal: 'P-1', path: 'x' })).rejects.toMatchObject({
      code: 'BAD_REQUEST',
    })
    leave()
  })

  it('[C25] says to the router which connection it is: one as long as it lasts, and never again', async () => {
    const { router, viewers } = smallRouter()
    const asked = { agent: 'a', proposal: 'P-1', path: 'b' }
    const first = await open(router)
    await first.desk.proposals.file(asked)
    await first.desk.proposals.file(asked)
    first.leave()
    for (const close of closing.splice(0).reverse()) await close()
    const second = await open(router)
    await second.desk.proposals.file(asked)
    second.leave()
    const [one, again, other] = viewers
    expect([typeof one, one === again, one === other]).toEqual(['object', true, false])
  })

  it('follows in order, and ends the source when its reader has seen enough', async () => {
    const { router, state } = smallRouter()
    const { desk, leave } = await open(router)
    const seqs: number[] = []
    for await (const batch of await desk.events.follow({ after: 6 })) {
      seqs.push(...batch.map(({ seq }) => seq))
      if (seqs.length === 5) break
    }
    expect(seqs).toEqual([7, 8, 9, 10, 11])
    while (state.ended === 0) await setImmediate()
    leave()
  })

  it('ends the source when its reader goes away', async () => {
    const { router, state } = smallRouter()
    const { desk, leave } = await open(router)
    const events = (await desk.events.follow({ after: 0 }))[Symbol.asyncIterator]()
    await events.next()
    leave()
    while (state.ended === 0) await setImmediate()
  })
})

describe('a follower that does not read', () => {
  it('stops its own source, while others are answered', async () => {
    const { router, state } = smallRouter()
    const headless = await serveDesk(router)
    const cookie = await passOf(headless)
    const slow = await connect(headless, { cookie })
    await (await deskOver(slow).events.follow({ after: 0, task: 'T-1' }))[Symbol.asyncIterator]().next()
    slow.pause()
    // Unpaced, the source would run on for ever: it is made of nothing but awaits.
    const enough = 2_000
    for (let before = -1; state.yielded !== before && state.yielded < enough; ) {
      before = state.yielded
      for (let turn = 0; turn < 2_000; turn += 1) await setImmediate()
    }
    expect(state.yielded).toBeLessThan(enough)
    const other = await connect(headless, { cookie })
    expect(await deskOver(other).proposals.file({ agent: 'a', proposal: 'P-1', path: 'b' })).toMatchObject({
      after: 'b',
    })
    slow.terminate()
    other.terminate()
  })
})

describe('what is no frame', () => {
  /** Everything that is logged, and every rejection that nobody handles, while `work` runs. */
  async function noticed(work: () => Promise<void>): Promise<unknown[]> {
    const seen: unknown[] = []
    const log = vi.spyOn(console, 'error').mockImplementation((...said) => void seen.push(said))
    const rejected = (reason: unknown) => seen.push(reason)
    process.on('unhandledRejection', rejected)
    try {
      await work()
      for (let turn = 0; turn < 50; turn += 1) await setImmediate()
      return seen
    } finally {
      log.mockRestore()
      process.off('unhandledRejection', rejected)
    }
  }

  it('[C30] [U7] [R1] ends a WebSocket with a word, is never logged, and leaves others alone', async () => {
    const headless = await serveDesk(smallRouter().router)
    const cookie = await passOf(headless)
    const seen = await noticed(async () => {
      for (const [name, said] of notFrames) {
        const websocket = await connect(headless, { cookie })
        const answers: string[] = []
        websocket.on('message', (data) => answers.push(String(data)))
        websocket.send(said)
        // What it sends on top of that is not heard either.
        websocket.send(ask({ b: { json: { agent: 'a', proposal: 'P-1', path: 'b' } } }))
        const [code, why] = await once(websocket, 'close')
        expect([name, code, String(why), answers]).toEqual([name, 1008, noFrame, []])
      }
      const other = await connect(headless, { cookie })
      expect(await deskOver(other).proposals.file({ agent: 'a', proposal: 'P-1', path: 'b' })).toMatchObject({
        after: 'b',
      })
      other.terminate()
    })
    expect(seen).toEqual([])
  })

  it('[U7] closes a message port, and rejects at nobody', async () => {
    const { router } = smallRouter()
    const seen = await noticed(async () => {
      for (const said of [...notFrames.map(([, text]) => text), { i: '1', p: { u: 5 } }, 7, null, undefined]) {
        const { port1, port2 } = new MessageChannel()
        portHandler(router).upgrade(port1, 'desktop')
        port1.start()
        port2.postMessage(said)
        await once(port2, 'close')
      }
    })
    expect(seen).toEqual([])
  })

  it('[C30] is told from what goes wrong inside, and neither answer says where', async () => {
    const headless = await serveDesk(smallRouter().router)
    const websocket = await connect(headless, { cookie: await passOf(headless) })
    const answers: string[] = []
    const inputs = [
      { json: { agent: 'a', proposal: 'P-1', path: 'broken.ts' } },
      { json: { agent: '../a' } },
      { json: 5, meta: [[99, 'x']] },
      { json: { a: 'zz' }, meta: [[1, 'a', 'b', 'c']] },
      { json: {}, meta: [[1, '__proto__', 'polluted']] },
      { json: {}, meta: 5 },
      { json: {}, maps: [['a']] },
    ]
    for (const [n, b] of inputs.entries()) {
      websocket.send(JSON.stringify({ i: `${n}`, p: { u: '/proposals/file', b } }))
      answers.push(String((await once(websocket, 'message'))[0]))
    }
    expect(answers.map((text) => JSON.parse(text).p.s)).toEqual([500, 400, 400, 400, 400, 400, 400])
    for (const text of answers) expect(text).not.toMatch(/stack|node_modules|\.m?[jt]s:|secret|file:/)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    websocket.terminate()
  })
})

describe('the WebSocket of the headless desk', () => {
  it('[U8] refuses a foreign Origin, a foreign Host, no Origin and another path at the handshake', async () => {
    const headless = await serveDesk(smallRouter().router)
    const cookie = await passOf(headless)
    const { host } = new URL(headless.freshUrl())
    const refused = [{ origin: 'https://desk.example' }, { origin: '' }, { host: 'desk.example' }, { path: '/other' }]
    for (const headers of refused) {
      await expect(connect(headless, { cookie, ...headers }), JSON.stringify(headers)).rejects.toThrow('403')
    }
    await expect(connect(headless, { cookie, host: `localhost:${host.split(':')[1]}` })).rejects.toThrow('403')
  })

  it('closes with 4401 for a page whose pass is missing or of an earlier start', async () => {
    const headless = await serveDesk(smallRouter().router)
    const name = (await passOf(headless)).split('=')[0]
    for (const cookie of ['', `${name}=${'x'.repeat(32)}`]) {
      const websocket = await connect(headless, { cookie })
      const [code] = await once(websocket, 'close')
      expect(code).toBe(4401)
    }
  })
})

async function serveDesk(router: Kernel['operator']): Promise<HeadlessDesk> {
  const headless = await serveHeadless(dir)
  const operator = serveOperatorSocket(headless.server, headless.standing, router, 'websocket')
  closing.push(headless.close, operator.close)
  return headless
}

function deskOver(websocket: WebSocket): Desk {
  return createORPCClient(new SocketLink({ websocket: websocket as unknown as globalThis.WebSocket }))
}

async function passOf(headless: HeadlessDesk): Promise<string> {
  return new Promise((resolve, reject) => {
    request(headless.freshUrl(), (response) => {
      response.resume()
      resolve(response.headers['set-cookie']?.[0]?.split(';')[0] ?? '')
    })
      .on('error', reject)
      .end()
  })
}

async function connect(
  headless: HeadlessDesk,
  { cookie, origin, host, path = '/operator' }: { cookie: string; origin?: string; host?: string; path?: string },
): Promise<WebSocket> {
  const address = `127.0.0.1:${(headless.server.address() as AddressInfo).port}`
  const websocket = new WebSocket(`ws://${address}${path}`, {
    ...(origin === '' ? {} : { origin: origin ?? `http://${address}` }),
    headers: { cookie, host: host ?? address },
  })
  await once(websocket, 'open')
  return websocket
}
