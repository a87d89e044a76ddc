import { join } from 'node:path'
import { BrowserWindow, screen } from 'electron'
import { minimum, onDisplay, readWindowState, writeWindowState } from './desktop/window-state.ts'
import { deskUrl } from './scheme.ts'

/**
 * Opens the desk. The page has no Node, no permissions and no way to another origin; `guardContents` holds the last. `placeFile`
 * keeps where it was; `href` is a hash of the desk.
 */
export function openDeskWindow(placeFile: string, href = ''): BrowserWindow {
  const place = readWindowState(placeFile)
  const areas = screen.getAllDisplays().map(({ workArea }) => workArea)
  const window = new BrowserWindow({
    width: 1440,
    height: 900,
    ...(place.bounds === null ? null : onDisplay(place.bounds, areas)),
    minWidth: minimum.width,
    minHeight: minimum.height,
    title: 'Exodesk',
    show: false,
    webPreferences: {
      preload: join(import.meta.dirname, 'preload.cjs'),
      contextIsolation: true,
      nodeIntegration: false,
      sandbox: true,
      webSecurity: true,
      webviewTag: false,
      spellcheck: false,
    },
  })
  if (place.maximized) window.maximize()
  window.once('ready-to-show', () => window.show())
  window.on('close', () =>
    writeWindowState(placeFile, { bounds: window.getNormalBounds(), maximized: window.isMaximized() }),
  )
  void window.loadURL(`${deskUrl}${href}`)
  return window
}
