import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { app, BrowserWindow, Menu, session, type WebContents } from 'electron'
import { deskUrl, registerScheme, serveScheme } from './scheme.ts'
import { openDeskWindow } from './window.ts'

registerScheme()

if (app.requestSingleInstanceLock()) {
  app.on('second-instance', showDesk)
  app.on('activate', showDesk)
  app.on('web-contents-created', (_event, contents) => guardContents(contents))
  app.on('window-all-closed', () => app.quit())
  app.whenReady().then(start, fail)
} else {
  app.quit()
}

function start(): void {
  const folder = join(import.meta.dirname, 'renderer')
  if (!existsSync(folder)) throw new Error(`${folder} is missing: run "npm run build"`)
  serveScheme(session.defaultSession, folder)
  denyPermissions()
  if (app.isPackaged) Menu.setApplicationMenu(null)
  openDeskWindow()
}

function showDesk(): void {
  const [window] = BrowserWindow.getAllWindows()
  if (window === undefined) {
    if (app.isReady()) openDeskWindow()
    return
  }
  if (window.isMinimized()) window.restore()
  window.focus()
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
    if (!event.url.startsWith(deskUrl)) event.preventDefault()
  })
  contents.on('will-attach-webview', (event) => event.preventDefault())
  contents.setWindowOpenHandler(() => ({ action: 'deny' }))
}

function fail(error: unknown): void {
  process.stderr.write(`Exodesk cannot start: ${error instanceof Error ? error.message : String(error)}\n`)
  app.exit(3)
}
