import { setImmediate } from 'node:timers/promises'
import { RPCHandler } from '@orpc/server/message-port'
import type { Kernel } from '../kernel/kernel.ts'

/**
 * The operator contract's handler for message ports. A port takes whatever it is given, so a source that never waits
 * would keep this process from everything else, the reader's "enough" too: between two messages everybody has a turn.
 */
export function portHandler(operator: Kernel['operator']): RPCHandler<{ via: 'desktop' }> {
  return new RPCHandler(operator, {
    // The one hook that is awaited before a message is posted; null: nothing is transferred.
    experimental_transfer: () => setImmediate(null),
  })
}
