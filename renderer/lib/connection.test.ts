import { RPCLink } from '@orpc/client/message-port'
import { RPCHandler } from '@orpc/server/message-port'
import { afterEach, describe, expect, it } from 'vitest'
import { fakeHost } from '../dev/fake-host.ts'
import { FakeWorld } from '../dev/fake-world.ts'
import { Connection } from './connection.ts'
import { Feed } from './feed.ts'
import { follow } from './follow.ts'

/** A host behind real message ports, whose connection can be cut. */
function testHost() {
  const world = new FakeWorld()
  const handler = new RPCHandler(fakeHost(world))
  const ports: MessagePort[] = []
  let cut = () => {}
  const open = async () => {
    const { port1, port2 } = new MessageChannel()
    ports.push(port1, port2)
    handler.upgrade(port1)
    port1.start()
    const link = new RPCLink({ port: port2 })
    port2.start()
    const closed = new Promise<{ expired: boolean }>((resolve) => {
      cut = () => {
        port1.close()
        port2.close()
        resolve({ expired: false })
      }
    })
    return { link, closed }
  }
  const close = () => {
    for (const port of ports) port.close()
  }
  return { world, open, cut: () => cut(), close }
}

describe('connection', () => {
  const hosts: ReturnType<typeof testHost>[] = []
  const stops: AbortController[] = []
  afterEach(() => {
    for (const stop of stops.splice(0)) stop.abort()
    for (const host of hosts.splice(0)) host.close()
  })
  const start = () => {
    const host = testHost()
    hosts.push(host)
    return host
  }

  it('serves calls that were made before it was open', async () => {
    const { open, world } = start()
    const connection = new Connection(open)
    expect(connection.snapshot().status).toBe('connecting')
    expect((await connection.desk.host.status()).lastSeq).toBe(world.events.length)
    expect(connection.snapshot()).toMatchObject({ status: 'open', lostAt: null, epoch: 1 })
  })

  it('follows on from the last event after it was cut, without a gap and without a repeat', async () => {
    const host = start()
    const connection = new Connection(host.open)
    const stop = new AbortController()
    stops.push(stop)
    const feed = new Feed({ schedule: (flush) => flush() })
    const first = host.world.events.length + 1
    const arrived = (count: number) =>
      new Promise<void>((resolve) => {
        const check = () => {
          if (feed.snapshot().events.length >= count) resolve()
        }
        feed.subscribe(check)
        check()
      })
    void follow(connection.desk, {
      after: first - 1,
      signal: stop.signal,
      onBatch: (events) => feed.push(events),
      retryMs: 1,
    })
    host.world.append({ kind: 'note.added', data: { text: 'one' } })
    await arrived(1)
    host.cut()
    host.world.append({ kind: 'note.added', data: { text: 'two' } })
    host.world.append({ kind: 'note.added', data: { text: 'three' } })
    await arrived(3)
    expect(feed.snapshot().events.map((event) => event.seq)).toEqual([first, first + 1, first + 2])
    expect(connection.snapshot().epoch).toBe(2)
  })

  it('stops asking once the host has refused the page', async () => {
    let opened = 0
    const { open } = start()
    const connection = new Connection(async () => {
      opened++
      return { ...(await open()), closed: Promise.resolve({ expired: true }) }
    })
    await new Promise<void>((resolve) => {
      const check = () => {
        if (connection.snapshot().status === 'expired') resolve()
      }
      connection.subscribe(check)
      check()
    })
    expect(opened).toBe(1)
  })
})
