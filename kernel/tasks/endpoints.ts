import { chmod, mkdir, open as openFolder, rm } from 'node:fs/promises'
import { connect, createServer, type LookupFunction, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { EventData } from '../wire/events.ts'
import { type Endpoint, type Target, targetOf } from './endpoint-address.ts'
import { createMeter } from './endpoint-meter.ts'

export interface EndpointsSpec {
  /** Kernel's own folder, which the task sandbox mounts read-only at /run/endpoints. */
  dir: string
  endpoints: readonly Endpoint[]
  clock: Clock
  /** Keeps what went over a socket; not kept, it is counted into the next. */
  used(use: EventData<'endpoint.used'>): Promise<unknown>
  /** A service that does not answer (why), or answers again (null). */
  answers(endpoint: Endpoint, why: string | null): void
  limits?: Partial<Record<keyof typeof endpointLimits, number>>
}

const endpointLimits = {
  /** Open at one time, an endpoint. */
  connections: 32,
  connectMs: 5_000,
  /** Without a byte in either direction. */
  idleMs: 10 * 60_000,
  /** Between two reports of one endpoint: the first, then doubled up to the last. */
  reportMs: 1_000,
  reportMaxMs: 60_000,
} as const satisfies Record<string, number>

/** The sockets through which one task sandbox reaches the services that the operator consented to, and nothing else. */
export interface Endpoints {
  /** Listens; does nothing where it listens already. @throws KernelError `unavailable`. */
  open(): Promise<void>
  /** Cuts every connection, removes the sockets, and resolves once what they carried is kept. */
  close(): Promise<void>
}

interface Door {
  close(): Promise<void>
}

export function createEndpoints(spec: EndpointsSpec): Endpoints {
  let doors: Door[] = []
  return {
    async open() {
      if (doors.length > 0) return
      try {
        if (spec.endpoints.length > 0) await mkdir(spec.dir, { recursive: true })
        for (const endpoint of spec.endpoints) doors.push(await openDoor(spec, endpoint))
      } catch (error) {
        await Promise.all(doors.splice(0).map((door) => door.close()))
        throw new KernelError('unavailable', `an endpoint cannot be opened: ${(error as Error).message}`, {
          cause: error,
        })
      }
    },
    async close() {
      const open = doors
      doors = []
      await Promise.all(open.map((door) => door.close()))
    },
  }
}

/** Long paths do not fit into a socket's address; a descriptor's name does. */
const addressBytes = 100

async function openDoor(spec: EndpointsSpec, endpoint: Endpoint): Promise<Door> {
  const limits = { ...endpointLimits, ...spec.limits }
  const target = targetOf(endpoint.address)
  if (target === null) throw new Error(`${endpoint.address} is not a port on loopback`)
  const meter = createMeter(spec, endpoint, limits)
  /** The sandbox's side of each connection. */
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    client.on('error', () => client.destroy())
    if (open.size >= limits.connections) {
      meter.count({ refused: 1 })
      client.destroy()
      return
    }
    open.add(client)
    client.once('close', () => open.delete(client))
    relay(client, target)
  })

  /** Pipes hold each side to the pace of the other. */
  function relay(client: Socket, { hosts, port }: Target): void {
    const service = connect({ host: 'endpoint', port, lookup: pinned(hosts), allowHalfOpen: true })
    const fail = (why: string) => {
      service.destroy()
      if (isConnected) return
      meter.count({ refused: 1 })
      spec.answers(endpoint, why)
    }
    let isConnected = false
    const deadline = setTimeout(() => fail(`no connection within ${limits.connectMs / 1000} s`), limits.connectMs)
    service.once('connect', () => {
      clearTimeout(deadline)
      isConnected = true
      meter.count({ connections: 1 })
      spec.answers(endpoint, null)
      // Everything that passes, passes the client's side.
      client.setTimeout(limits.idleMs, () => client.destroy())
      client.pipe(service)
      service.pipe(client)
    })
    meter.watch(client, service)
    service.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message))
    service.once('close', () => {
      clearTimeout(deadline)
      // What the service said last is still written out, unless it was cut off.
      if (service.readableEnded) client.end(() => client.destroy())
      else client.destroy()
    })
    client.once('close', () => service.destroy())
  }

  const file = join(spec.dir, `${endpoint.name}.sock`)
  // Of a kernel that was killed. The sandbox cannot have put anything here.
  await rm(file, { force: true })
  const folder = Buffer.byteLength(file) > addressBytes ? await openFolder(spec.dir, 'r') : null
  try {
    await listen(server, folder === null ? file : `/proc/self/fd/${folder.fd}/${endpoint.name}.sock`)
    // The box's user is another; who else could come by is kept out by the data directory's mode.
    await chmod(file, 0o666)
  } catch (error) {
    server.close()
    await folder?.close()
    throw error
  }
  return {
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const client of open) client.destroy()
      await closed
      await folder?.close()
      await meter.close()
      spec.answers(endpoint, null)
    },
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // Also one that cannot take a connection, for want of descriptors say, later on: whoever knocks is not let in then.
    server.on('error', reject)
    server.listen(path, resolve)
  })
}

/** Answers with these addresses whatever is asked: where a connection goes is not for a resolver to say. */
function pinned(hosts: readonly string[]): LookupFunction {
  const all = hosts.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  return (_name, options, answer) => {
    const [first] = all
    if (options.all === true) answer(null, all)
    else answer(null, first?.address ?? '', first?.family)
  }
}
