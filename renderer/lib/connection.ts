import { type ClientContext, type ClientLink, createORPCClient } from '@orpc/client'
import { RPCLink as PortLink } from '@orpc/client/message-port'
import { RPCLink as SocketLink } from '@orpc/client/websocket'
import type { ContractRouterClient } from '@orpc/contract'
import type { operatorContract } from '../../kernel/wire/operator.ts'

export type Desk = ContractRouterClient<typeof operatorContract>

export interface ConnectionState {
  status: 'connecting' | 'open' | 'lost' | 'expired'
  /** When the last connection was lost, epoch ms; null while it holds. */
  lostAt: number | null
  /** Raised each time a connection opens. */
  epoch: number
}

type Link = ClientLink<ClientContext>
interface Opened {
  link: Link
  closed: Promise<{ expired: boolean }>
}

declare global {
  interface Window {
    /** Put there by the desktop app's preload script. */
    exodesk?: { connect?: () => void }
  }
}

const retryMs = [250, 500, 1000, 2000, 5000]
/** Close code of a host that does not know this page's pass. */
const passRefused = 4401

/**
 * The page's one connection to its host. Calls made while it is down wait for the next one; it is retried for ever with
 * a growing pause, except after the host has refused the page's pass.
 */
export class Connection {
  readonly desk: Desk
  private state: ConnectionState = { status: 'connecting', lostAt: null, epoch: 0 }
  private readonly listeners = new Set<() => void>()
  private link: Promise<Link>
  private provide: (link: Link) => void = () => {}
  private readonly open: () => Promise<Opened>

  constructor(open: () => Promise<Opened> = openHost) {
    this.open = open
    this.link = this.nextLink()
    const current: Link = {
      call: async (path, input, options) => (await this.link).call(path, input, options),
    }
    this.desk = createORPCClient(current)
    void this.keep()
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  snapshot = (): ConnectionState => this.state

  private async keep(): Promise<void> {
    for (let failures = 0; ; failures++) {
      try {
        const opened = await this.open()
        failures = 0
        this.provide(opened.link)
        this.set({ status: 'open', lostAt: null, epoch: this.state.epoch + 1 })
        const { expired } = await opened.closed
        this.link = this.nextLink()
        this.set({ ...this.state, status: expired ? 'expired' : 'lost', lostAt: Date.now() })
      } catch (error) {
        const expired = error instanceof PassRefused
        this.set({ ...this.state, status: expired ? 'expired' : 'lost', lostAt: this.state.lostAt ?? Date.now() })
      }
      if (this.state.status === 'expired') return
      await new Promise((resolve) => setTimeout(resolve, retryMs[Math.min(failures, retryMs.length - 1)]))
    }
  }

  private nextLink(): Promise<Link> {
    return new Promise((resolve) => {
      this.provide = resolve
    })
  }

  private set(state: ConnectionState): void {
    this.state = state
    for (const listener of this.listeners) listener()
  }
}

class PassRefused extends Error {}

function openHost(): Promise<Opened> {
  return window.exodesk ? openPort() : openSocket()
}

/** Asks the preload script for a port to the kernel: it answers with a message that carries one. */
function openPort(): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(() => {
      window.removeEventListener('message', receive)
      reject(new Error('The app did not hand over a connection to its kernel.'))
    }, 10_000)
    const receive = (event: MessageEvent) => {
      const port = event.ports[0]
      if (event.source !== window || event.data?.type !== 'exodesk-port' || !port) return
      clearTimeout(deadline)
      window.removeEventListener('message', receive)
      const closed = new Promise<{ expired: boolean }>((done) => {
        port.addEventListener('close', () => done({ expired: false }))
      })
      const link = new PortLink<ClientContext>({ port })
      port.start()
      resolve({ link, closed })
    }
    window.addEventListener('message', receive)
    if (window.exodesk?.connect) window.exodesk.connect()
    else window.postMessage({ type: 'exodesk-connect' }, window.origin)
  })
}

function openSocket(): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
    const websocket = new WebSocket(`${scheme}://${location.host}/operator`)
    let opened: number | undefined
    const closed = new Promise<{ expired: boolean }>((done) => {
      websocket.addEventListener('close', (event) => {
        clearTimeout(opened)
        const expired = event.code === passRefused
        done({ expired })
        reject(expired ? new PassRefused() : new Error('The host does not answer.'))
      })
    })
    websocket.addEventListener('open', () => {
      // A host that refuses the pass can say so only after the handshake: give it the time to.
      opened = window.setTimeout(() => resolve({ link: new SocketLink<ClientContext>({ websocket }), closed }), 30)
    })
  })
}
