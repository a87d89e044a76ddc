import { setImmediate } from 'node:timers/promises'
import type { SupportedMessagePort } from '@orpc/client/message-port'
import { RPCHandler } from '@orpc/server/message-port'
import type { Kernel } from '../kernel/kernel.ts'
import { operatorFrame } from './operator-frame.ts'

interface Port {
  on(event: 'message' | 'close', listener: (event: unknown) => void): unknown
  postMessage(data: unknown): void
  close(): void
}

/**
 * Serves the operator contract over message ports. A port takes whatever it is given, so a source that never waits would keep
 * this process from everything else, the reader's "enough" too: between two messages everybody has a turn. A port that says what
 * is no frame is closed.
 */
export function portHandler(operator: Kernel['operator']): { upgrade(port: Port, via: 'desktop'): void } {
  const handler = new RPCHandler(operator, {
    // The one hook that is awaited before a message is posted; null: nothing is transferred.
    experimental_transfer: () => setImmediate(null),
  })
  return {
    upgrade(port, via) {
      const framed = {
        on(event: 'message' | 'close', listener: (event: unknown) => void) {
          if (event === 'close') return port.on('close', listener)
          return port.on('message', (given) => {
            // Electron's ports wrap what they bring, Node's do not.
            const data = operatorFrame(isWrapped(given) ? given.data : given)
            if (data === null) port.close()
            else listener({ data })
          })
        },
        postMessage: (data: unknown) => port.postMessage(data),
      }
      handler.upgrade(framed as unknown as SupportedMessagePort, { context: { via, viewer: {} } })
    },
  }
}

function isWrapped(given: unknown): given is { data: unknown } {
  return typeof given === 'object' && given !== null && 'data' in given
}
