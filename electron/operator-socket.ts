import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { RPCHandler } from '@orpc/server/ws'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import type { Kernel } from '../kernel/kernel.ts'
import { noFrame, operatorFrame } from './operator-frame.ts'
import { maxPayloadBytes } from './socket-path.ts'

/** Tells the page to stop trying: its pass is of another run of the host. */
const passRefused = 4401
/** Close code of RFC 6455 for a message that is against the receiver's policy. */
const policyViolated = 1008

/** What a request may do here: `ours` shows the pass, `stranger` is the desk's page without it, `foreign` is anything else. */
export type Standing = 'ours' | 'stranger' | 'foreign'

/**
 * Serves the operator contract over WebSocket at /operator to whom `standing` vouches for. A follower that does not read
 * holds up its own source and nothing else: the next message is made once the last has left this process.
 */
export function serveOperatorSocket(
  server: Server,
  standing: (request: IncomingMessage) => Standing,
  operator: Kernel['operator'],
  via: 'websocket' | 'socket',
): { close(): void } {
  const handler = new RPCHandler(operator)
  const sockets = new WebSocketServer({ noServer: true, maxPayload: maxPayloadBytes, perMessageDeflate: false })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    const who = standing(request)
    if (who === 'foreign' || request.url !== '/operator') {
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n')
      return
    }
    sockets.handleUpgrade(request, socket, head, (opened) => {
      opened.on('error', () => opened.terminate())
      if (who === 'stranger') opened.close(passRefused, 'open the URL that Exodesk printed')
      else void handler.upgrade(paced(opened), { context: { via, viewer: {} } })
    })
  })
  return {
    close() {
      for (const socket of sockets.clients) socket.terminate()
      sockets.close()
    },
  }
}

/**
 * The socket, from which only frames are heard: whoever says anything else is cut off. Its `send` resolves when its message is
 * written out, or never will be: `close` tells that.
 */
function paced(socket: WebSocket): Pick<WebSocket, 'addEventListener' | 'send'> {
  const send = (data: RawData | string) =>
    new Promise<void>((resolve) => {
      // On a socket that is going, every send fails at once: the source must not keep its `close` from being heard.
      socket.send(data, (error) => (error ? setImmediate(resolve) : resolve()))
    })
  const addEventListener = (type: string, listener: (event: object) => void): void => {
    if (type !== 'message') socket.addEventListener(type as 'close', listener)
    else
      socket.on('message', (given: RawData) => {
        const data = operatorFrame(given)
        if (data === null) socket.close(policyViolated, noFrame)
        else if (socket.readyState === socket.OPEN) listener({ data })
      })
  }
  return { addEventListener: addEventListener as WebSocket['addEventListener'], send: send as WebSocket['send'] }
}
