import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { RPCHandler } from '@orpc/server/ws'
import { WebSocketServer } from 'ws'
import type { Kernel } from '../kernel/kernel.ts'

/** Larger than any call of the contract. */
const maxPayloadBytes = 16 * 1024 * 1024
/** Tells the page to stop trying: its pass is of another run of the host. */
const passRefused = 4401

/** What a request may do here: `ours` shows the pass, `stranger` is the desk's page without it, `foreign` is anything else. */
export type Standing = 'ours' | 'stranger' | 'foreign'

/** Serves the operator contract over WebSocket at /operator to the pages that `standing` vouches for. */
export function serveOperatorSocket(
  server: Server,
  standing: (request: IncomingMessage) => Standing,
  operator: Kernel['operator'],
): { close(): void } {
  const handler = new RPCHandler(operator)
  const sockets = new WebSocketServer({ noServer: true, maxPayload: maxPayloadBytes, perMessageDeflate: false })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const who = standing(request)
    if (who === 'foreign' || request.url !== '/operator') {
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n')
      return
    }
    sockets.handleUpgrade(request, socket, head, (opened) => {
      opened.on('error', () => opened.terminate())
      if (who === 'stranger') opened.close(passRefused, 'open the URL that Exodesk printed')
      else void handler.upgrade(opened, { context: { via: 'websocket' } })
    })
  })
  return {
    close() {
      for (const socket of sockets.clients) socket.terminate()
      sockets.close()
    },
  }
}
