import { app, BrowserWindow, dialog, powerMonitor } from 'electron'

export interface QuitOptions {
  /** How many tasks run now. */
  running(): number
}

/**
 * Asks before the app ends, or its last window closes, while tasks run: they can go on without a window. A system that shuts
 * down is not kept waiting. `guard` is handed each window, once.
 */
export function askBeforeQuit({ running }: QuitOptions): { guard(window: BrowserWindow): void } {
  let isDecided = false
  let isAsking = false
  const quitNow = (): void => {
    isDecided = true
    app.quit()
  }
  const ask = async (window: BrowserWindow | undefined): Promise<void> => {
    if (isAsking) return
    isAsking = true
    const count = running()
    const options = {
      type: 'question' as const,
      message: count === 1 ? 'A task runs.' : `${count} tasks run.`,
      detail:
        'Without a window it runs on; start Exodesk again, or click its icon, to see it. If you quit, it is interrupted in order and goes on at the next start.',
      buttons: ['Keep running without a window', 'Quit', 'Cancel'],
      defaultId: 2,
      cancelId: 2,
    }
    const { response } = await (window === undefined
      ? dialog.showMessageBox(options)
      : dialog.showMessageBox(window, options)
    ).finally(() => {
      isAsking = false
    })
    if (response === 1) quitNow()
    if (response === 0) for (const open of BrowserWindow.getAllWindows()) open.hide()
  }
  app.on('before-quit', (event) => {
    if (isDecided || running() === 0) {
      isDecided = true
      return
    }
    event.preventDefault()
    void ask(BrowserWindow.getAllWindows().find((window) => window.isVisible()))
  })
  powerMonitor.on('shutdown', quitNow)
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, quitNow)
  return {
    guard(window) {
      window.on('session-end', quitNow)
      window.on('close', (event) => {
        if (isDecided || running() === 0 || process.platform === 'darwin') return
        event.preventDefault()
        void ask(window)
      })
    },
  }
}
