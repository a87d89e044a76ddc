import { type BrowserWindow, dialog } from 'electron'

/** So many times within a minute a page that is gone is opened again unasked. */
const mostReloads = 3
const withinMs = 60_000

/** A page that ends or hangs is opened again; kernel and tasks run on all the while. */
export function recoverPage(window: BrowserWindow): void {
  const reloads: number[] = []
  const contents = window.webContents
  contents.on('render-process-gone', (_event, { reason }) => {
    if (reason === 'clean-exit' || window.isDestroyed()) return
    const now = Date.now()
    reloads.push(now)
    if (reloads.filter((at) => at > now - withinMs).length <= mostReloads) return contents.reload()
    void ask(window, `The desk's page ends again and again (${reason}).`, ['Open it again', 'Leave it closed']).then(
      (answer) => {
        if (answer === 0 && !window.isDestroyed()) contents.reload()
      },
    )
  })
  window.on('unresponsive', () => {
    const answered = new AbortController()
    window.once('responsive', () => answered.abort())
    void ask(window, 'The desk does not answer.', ['Wait', 'Open it again'], answered.signal).then((answer) => {
      // What is gone is opened again above.
      if (answer === 1 && !window.isDestroyed()) contents.forcefullyCrashRenderer()
    })
  })
}

async function ask(window: BrowserWindow, message: string, buttons: string[], signal?: AbortSignal): Promise<number> {
  const { response } = await dialog.showMessageBox(window, {
    type: 'warning',
    message,
    detail: 'Your tasks run on: nothing of them is lost.',
    buttons,
    ...(signal === undefined ? {} : { signal }),
  })
  return response
}
