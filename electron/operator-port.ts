import { ipcMain, type MessagePortMain, type WebContents, type WebFrameMain } from 'electron'
import type { Kernel } from '../kernel/kernel.ts'
import { portHandler } from './port-handler.ts'
import { isDesk } from './scheme.ts'

/**
 * Serves the operator contract over a message port to the page of the desk that asks for one: to our window's whole page,
 * at our address, and to nothing inside it. A page has one port; its next one, a reload and a page that hangs close it.
 */
export function serveOperatorPort(operator: Kernel['operator']): void {
  const handler = portHandler(operator)
  const open = new Map<WebContents, MessagePortMain>()
  ipcMain.on('exodesk-port', (event) => {
    const [port] = event.ports
    const { sender } = event
    if (port === undefined) return
    if (!isDeskFrame(event.senderFrame)) return port.close()
    if (!open.has(sender)) {
      // A port has no back-pressure: what a page that hangs does not take would pile up here. It connects again later.
      sender.on('unresponsive', () => open.get(sender)?.close())
      sender.once('destroyed', () => open.delete(sender))
    }
    open.get(sender)?.close()
    open.set(sender, port)
    handler.upgrade(port, 'desktop')
    port.start()
  })
}

/** The whole page and nothing inside it. */
function isDeskFrame(frame: WebFrameMain | null): boolean {
  return frame !== null && frame.parent === null && isDesk(frame.url)
}
