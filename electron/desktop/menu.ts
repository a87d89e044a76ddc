import type { MenuItemConstructorOptions } from 'electron'

export interface MenuActions {
  /** Takes the desk to a hash of its own. */
  goTo(href: string): void
  /** Presses keys in the desk, as a person would. */
  press(key: string): void
  pauseAll(): void
}

const screens = [
  ['Home', '#/home'],
  ['Live', '#/live'],
  ['Review', '#/review'],
  ['History', '#/history'],
  ['Cost', '#/cost'],
  ['Tools', '#/tools'],
  ['Revisions', '#/revisions'],
] as const

/** The menu of the app: what each system's users look for there, and the ways through the desk. It decides nothing. */
export function menuTemplate(platform: NodeJS.Platform, actions: MenuActions): MenuItemConstructorOptions[] {
  const isMac = platform === 'darwin'
  const separator: MenuItemConstructorOptions = { type: 'separator' }
  // The desk has its own keys, which can be changed: these are shown here and pressed there.
  const shown = (accelerator: string): MenuItemConstructorOptions => ({ accelerator, registerAccelerator: false })
  const app: MenuItemConstructorOptions[] = [
    { role: 'about' },
    separator,
    { role: 'services' },
    separator,
    { role: 'hide' },
    { role: 'hideOthers' },
    { role: 'unhide' },
    separator,
    { role: 'quit' },
  ]
  return [
    ...(isMac ? [{ role: 'appMenu' as const, submenu: app }] : []),
    {
      label: '&File',
      submenu: [
        { label: 'Pause all tasks', ...shown('CmdOrCtrl+Shift+.'), click: () => actions.pauseAll() },
        separator,
        isMac ? { role: 'close' } : { role: 'quit' },
      ],
    },
    { role: 'editMenu' },
    {
      label: '&Go',
      submenu: [
        ...screens.map(([label, href], index) => ({
          label,
          ...shown(`CmdOrCtrl+${index + 1}`),
          click: () => actions.goTo(href),
        })),
        { label: 'Settings', ...shown('CmdOrCtrl+9'), click: () => actions.goTo('#/settings') },
        separator,
        { label: 'Command palette …', ...shown('CmdOrCtrl+K'), click: () => actions.press('K') },
      ],
    },
    {
      label: '&View',
      submenu: [
        { role: 'reload' },
        { role: 'toggleDevTools' },
        separator,
        { role: 'resetZoom' },
        { role: 'zoomIn' },
        { role: 'zoomOut' },
        separator,
        { role: 'togglefullscreen' },
      ],
    },
    { role: 'windowMenu' },
    { role: 'help', submenu: [{ label: 'Keyboard shortcuts', click: () => actions.goTo('#/settings/shortcuts') }] },
  ]
}

/** What a click with the other button offers: on text that can be edited, and on text that is selected. */
export function contextTemplate(params: { isEditable: boolean; selectionText: string }): MenuItemConstructorOptions[] {
  if (params.isEditable)
    return [
      { role: 'undo' },
      { type: 'separator' },
      { role: 'cut' },
      { role: 'copy' },
      { role: 'paste' },
      { role: 'selectAll' },
    ]
  if (params.selectionText !== '') return [{ role: 'copy' }]
  return []
}
