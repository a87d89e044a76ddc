import { RPCHandler } from '@orpc/server/message-port'
import { ipcMain, type WebFrameMain } from 'electron'
import type { Kernel } from '../kernel/kernel.ts'
import { isDesk } from './scheme.ts'

/** Serves the operator contract over a message port to each page of the desk that asks for one. */
export function serveOperatorPort(operator: Kernel['operator']): void {
  const handler = new RPCHandler(operator)
  ipcMain.on('exodesk-port', (event) => {
    const [port] = event.ports
    if (port === undefined || !isDeskFrame(event.senderFrame)) return
    handler.upgrade(port, { context: { via: 'desktop' } })
    port.start()
  })
}

/** The whole page and nothing inside it. */
function isDeskFrame(frame: WebFrameMain | null): boolean {
  return frame !== null && frame.parent === null && isDesk(frame.url)
}
