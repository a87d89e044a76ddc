import { protocol, type Session } from 'electron'
import { readDeskFile } from './desk-files.ts'

const scheme = 'exodesk'

/** The desk's only address inside Electron. A scheme of its own, so that no page on the web shares its origin. */
export const deskUrl = `${scheme}://desk/`

/** Whether an address is a page of the desk. */
export function isDesk(url: string): boolean {
  return url.startsWith(deskUrl)
}

/** Must run before the app is ready. */
export function registerScheme(): void {
  const privileges = { standard: true, secure: true, supportFetchAPI: true, codeCache: true }
  protocol.registerSchemesAsPrivileged([{ scheme, privileges }])
}

/** Serves the built renderer under `deskUrl`, and refuses every request of the page that leaves it. */
export function serveScheme(session: Session, rendererFolder: string): void {
  session.protocol.handle(scheme, async (request) => {
    const url = new URL(request.url)
    if (url.host !== 'desk' || request.method !== 'GET') return new Response('Not found', { status: 404 })
    const { status, headers, body } = await readDeskFile(rendererFolder, url.pathname)
    return new Response(new Uint8Array(body), { status, headers })
  })
  const allowed = [deskUrl, 'devtools://', 'blob:', 'data:']
  session.webRequest.onBeforeRequest((details, callback) => {
    callback({ cancel: !allowed.some((start) => details.url.startsWith(start)) })
  })
}
