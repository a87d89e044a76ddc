import { Menu, nativeImage, Tray } from 'electron'
import icon from '../icons/tray.png?inline'

export interface TrayFacts {
  running: number
  decisions: number
}

export interface TrayActions {
  show(): void
  goTo(href: string): void
  pauseAll(): void
  quit(): void
}

/** @returns null where the system has no place for it. */
export function openTray(actions: TrayActions): { update(facts: TrayFacts): void; close(): void } | null {
  let tray: Tray
  try {
    tray = new Tray(nativeImage.createFromDataURL(icon).resize({ width: 16, height: 16 }))
  } catch {
    return null
  }
  tray.on('click', () => actions.show())
  const update = ({ running, decisions }: TrayFacts): void => {
    tray.setToolTip(`Exodesk: ${running} running, ${decisions} waiting for you`)
    tray.setContextMenu(
      Menu.buildFromTemplate([
        { label: 'Open Exodesk', click: () => actions.show() },
        { label: `Review (${decisions} waiting)`, enabled: decisions > 0, click: () => actions.goTo('#/review') },
        { type: 'separator' },
        { label: `Pause all tasks (${running} running)`, enabled: running > 0, click: () => actions.pauseAll() },
        ...(running > 0 ? [{ label: 'This computer is kept awake while tasks run', enabled: false }] : []),
        { type: 'separator' },
        { label: 'Quit', click: () => actions.quit() },
      ]),
    )
  }
  update({ running: 0, decisions: 0 })
  return { update, close: () => tray.destroy() }
}
