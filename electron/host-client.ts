import { request } from 'node:http'
import { connect } from 'node:net'
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/websocket'
import type { ContractRouterClient } from '@orpc/contract'
import WebSocket from 'ws'
import type { operatorContract } from '../kernel/wire/operator.ts'
import { type DeskAnswer, findHostSocket, type HostFacts, maxPayloadBytes } from './socket-path.ts'

/** The operator contract, as a caller sees it; the same over every transport. */
export type Desk = ContractRouterClient<typeof operatorContract>

export interface RunningHost {
  facts: HostFacts
  /** Asks the host for its desk: a fresh one-time URL, or its window in front. */
  openDesk(): Promise<DeskAnswer>
  connect(): Promise<{ desk: Desk; lost: Promise<void>; close(): void }>
}

/** The host that holds a data directory and answers, or null: nobody listens there. */
export async function findRunningHost(dataDir: string): Promise<RunningHost | null> {
  const path = findHostSocket(dataDir)
  let facts: HostFacts
  try {
    facts = await ask<HostFacts>(path, 'GET', '/host')
  } catch (error) {
    // No file, a file that a host left behind when it died, or a path that no socket can have.
    if (
      ['ENOENT', 'ECONNREFUSED', 'ENOTDIR', 'EINVAL', 'ENAMETOOLONG'].includes(
        (error as NodeJS.ErrnoException).code ?? '',
      )
    )
      return null
    throw error
  }
  return {
    facts,
    openDesk: () => ask<DeskAnswer>(path, 'POST', '/desk'),
    connect: () => connectDesk(path),
  }
}

async function connectDesk(path: string): Promise<{ desk: Desk; lost: Promise<void>; close(): void }> {
  const websocket = new WebSocket('ws://exodesk/operator', {
    createConnection: () => connect(path),
    perMessageDeflate: false,
    maxPayload: maxPayloadBytes,
  })
  await new Promise<void>((resolve, reject) => {
    websocket.once('open', resolve)
    websocket.once('error', reject)
  })
  const lost = new Promise<void>((resolve) => websocket.once('close', () => resolve()))
  websocket.on('error', () => websocket.terminate())
  // `ws` has the same events and methods as a browser's WebSocket; its types are its own.
  const link = new RPCLink({ websocket: websocket as unknown as globalThis.WebSocket })
  return { desk: createORPCClient(link), lost, close: () => websocket.close() }
}

function ask<T>(socketPath: string, method: string, path: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, method, path, agent: false, timeout: 10_000 }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        body += chunk
      })
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(body) as T)
        else reject(new Error(`the host answered ${response.statusCode} to ${path}: is it of another version?`))
      })
    })
    asked.once('timeout', () => asked.destroy(new Error('the host that holds the data directory does not answer')))
    asked.once('error', reject).end()
  })
}
