import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  app,
  BrowserWindow,
  crashReporter,
  dialog,
  powerMonitor,
  safeStorage,
  session,
  type WebContents,
} from 'electron'
import { dataDirOf } from './data-dir.ts'
import { type Desktop, offerContextMenu, openDesktop } from './desktop/desktop.ts'
import { hrefOfLink, linkAmong, linkScheme } from './desktop/links.ts'
import { askBeforeQuit } from './desktop/quit.ts'
import { recoverPage } from './desktop/recovery.ts'
import { type Host, openHost } from './host.ts'
import { findRunningHost } from './host-client.ts'
import { keychainSealer } from './keychain.ts'
import { serveOperatorPort } from './operator-port.ts'
import { deskUrl, isDesk, registerScheme, serveScheme } from './scheme.ts'
import { openDeskWindow } from './window.ts'

let host: Host | null = null
let desktop: Desktop | null = null
let isClosed = false
let quit: ReturnType<typeof askBeforeQuit> | null = null
/** Where a link from outside leads, until there is a window to show it. */
let wanted: string | undefined

const { values } = parseArgs({
  args: process.argv.slice(app.isPackaged ? 1 : 2),
  options: { data: { type: 'string' } },
  // Chromium's own switches come in the same list.
  strict: false,
})
const dataDir = dataDirOf(typeof values.data === 'string' ? values.data : undefined)

registerScheme()
// Dumps stay here: nothing is sent anywhere.
crashReporter.start({ uploadToServer: false })
app.setAppUserModelId('app.exodesk.desktop')
// Chromium's profile belongs to the data directory: two of those are two apps, each with one window.
app.setPath('userData', join(dataDir, 'window'))

if (app.requestSingleInstanceLock()) {
  wanted = linkAmong(process.argv) ?? undefined
  app.on('second-instance', (_event, args) => showDesk(linkAmong(args) ?? undefined))
  app.on('open-url', (_event, link) => showDesk(hrefOfLink(link) ?? undefined))
  app.on('activate', () => showDesk())
  app.on('web-contents-created', (_event, contents) => guardContents(contents))
  app.on('window-all-closed', () => app.quit())
  app.on('will-quit', closeHost)
  app.whenReady().then(start).catch(fail)
} else {
  app.quit()
}

async function start(): Promise<void> {
  const folder = join(import.meta.dirname, 'renderer')
  if (!existsSync(folder)) throw new Error(`${folder} is missing: run "npm run build"`)
  host = await openHost('desktop', dataDir, {
    sealers: [keychainSealer(safeStorage)],
    openDesk() {
      showDesk()
      return { shown: true }
    },
  }).catch(explainConflict)
  serveOperatorPort(host.kernel.operator)
  const { power } = host.kernel
  powerMonitor.on('suspend', () => power.suspending())
  powerMonitor.on('resume', () => power.look())
  serveScheme(session.defaultSession, folder)
  denyPermissions()
  if (app.isPackaged) app.setAsDefaultProtocolClient(linkScheme)
  quit = askBeforeQuit({ running: () => desktop?.running() ?? 0 })
  desktop = await openDesktop({ kernel: host.kernel, showDesk })
  showDesk(wanted)
}

/** Another host has the data directory: says how to reach it. */
async function explainConflict(error: Error): Promise<never> {
  const running = (error as { code?: string }).code === 'conflict' ? await findRunningHost(dataDir) : null
  if (running === null) throw error
  const answer = await running.openDesk()
  const how =
    'url' in answer
      ? `Open it in a browser (the link works once): ${answer.url}`
      : 'shown' in answer
        ? 'Its window was brought to the front.'
        : `It serves no desk: ${answer.none}.`
  throw new Error(`Exodesk runs on ${dataDir} already, as process ${running.facts.pid}. ${how}`)
}

/** Brings the desk to the front, at `href` (a hash of the desk) where one is given. */
function showDesk(href?: string): void {
  if (host === null) {
    wanted = href
    return
  }
  const [window] = BrowserWindow.getAllWindows()
  if (window === undefined) {
    const opened = openDeskWindow(join(dataDir, 'window', 'place.json'), href)
    quit?.guard(opened)
    recoverPage(opened)
    offerContextMenu(opened)
    return
  }
  if (href !== undefined) void window.loadURL(`${deskUrl}${href}`)
  if (window.isMinimized()) window.restore()
  window.show()
  window.focus()
}

/** Quitting waits for the kernel: what runs is interrupted in order, and goes on at the next start. */
function closeHost(event: { preventDefault(): void }): void {
  if (host === null || isClosed) return
  event.preventDefault()
  isClosed = true
  desktop?.close()
  void host.close().then(() => app.quit(), fail)
}

/** The desk needs nothing that a page must ask for, except the clipboard for its copy buttons. */
function denyPermissions(): void {
  session.defaultSession.setPermissionRequestHandler((_contents, permission, answer) => {
    answer(permission === 'clipboard-sanitized-write')
  })
  session.defaultSession.setPermissionCheckHandler(
    (_contents, permission) => permission === 'clipboard-sanitized-write',
  )
  session.defaultSession.setDevicePermissionHandler(() => false)
}

/** No page leaves the desk, opens a second window or embeds a view: whatever it shows may be written by a model. */
function guardContents(contents: WebContents): void {
  contents.on('will-navigate', (event) => {
    if (!isDesk(event.url)) event.preventDefault()
  })
  contents.on('will-attach-webview', (event) => event.preventDefault())
  contents.setWindowOpenHandler(() => ({ action: 'deny' }))
}

function fail(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error)
  process.stderr.write(`Exodesk cannot run: ${reason}\n`)
  if (process.env.DISPLAY || process.platform !== 'linux') dialog.showErrorBox('Exodesk cannot run', reason)
  app.exit(3)
}
