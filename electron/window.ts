import { join } from 'node:path'
import { BrowserWindow } from 'electron'
import { deskUrl } from './scheme.ts'

/** Opens the desk. The page has no Node, no permissions and no way to another origin; `guardContents` holds the last. */
export function openDeskWindow(): BrowserWindow {
  const window = new BrowserWindow({
    width: 1440,
    height: 900,
    minWidth: 960,
    minHeight: 600,
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
  window.once('ready-to-show', () => window.show())
  void window.loadURL(deskUrl)
  return window
}
