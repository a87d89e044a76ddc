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
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import type { Kernel } from '../kernel/kernel.ts'
import { type EventRow, operatorContract } from '../kernel/wire/operator.ts'
import { type HeadlessDesk, serveHeadless } from './headless-server.ts'
import { type Desk, findRunningHost } from './host-client.ts'
import { serveHostSocket } from './host-socket.ts'
import { serveOperatorSocket } from './operator-socket.ts'
import { portHandler } from './port-handler.ts'

/** A router of a few procedures of the contract, by which every transport is measured. */
function smallRouter() {
  const seen: string[] = []
  const state = { yielded: 0, ended: 0 }
  const os = implement(operatorContract).$context<{ via: string }>()
  const router = {
    proposals: {
      file: os.proposals.file.handler(({ input, context }) => {
        seen.push(context.via)
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
  return { router: router as unknown as Kernel['operator'], seen, state }
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
  portHandler(router).upgrade(port1, { context: { via: 'desktop' } })
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
