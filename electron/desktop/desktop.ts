import { createRouterClient } from '@orpc/server'
import { app, BrowserWindow, Menu, powerSaveBlocker } from 'electron'
import type { Kernel } from '../../kernel/kernel.ts'
import type { EventKind } from '../../kernel/wire/events.ts'
import { stallMs } from '../../kernel/wire/operator.ts'
import { attend, type NotePreferences } from './attention.ts'
import { contextTemplate, menuTemplate } from './menu.ts'
import { stallNote } from './notes.ts'
import { systemNotifications } from './notifications.ts'
import { openTray } from './tray.ts'

export interface DesktopOptions {
  kernel: Pick<Kernel, 'operator' | 'history' | 'status'>
  showDesk(href?: string): void
}

export interface Desktop {
  /** Tasks that run now. */
  running(): number
  close(): void
}

const lookEveryMs = 30_000
/** After these the figures on badge, tray and task bar may be others. */
const moves: ReadonlySet<EventKind> = new Set([
  'task.created',
  'task.started',
  'task.paused',
  'task.resumed',
  'task.asked',
  'task.answered',
  'task.progressed',
  'task.finished',
  'proposal.readied',
  'proposal.reviewed',
  'proposal.recalled',
  'proposal.expired',
  'proposal.withdrawn',
  'proposal.superseded',
  'proposal.staled',
  'revision.regressed',
  'revision.rolled-back',
])

/** What of the running kernel shows outside of the window: menu, tray, badge, progress, notes, and a computer kept awake. */
export async function openDesktop({ kernel, showDesk }: DesktopOptions): Promise<Desktop> {
  const operator = createRouterClient(kernel.operator, { context: { via: 'desktop' as const } })
  const pauseAll = (): void => void operator.host.pauseAll().catch(warn)
  const press = (key: string): void => {
    showDesk()
    const [window] = BrowserWindow.getAllWindows()
    const modifiers: ['meta' | 'control'] = [process.platform === 'darwin' ? 'meta' : 'control']
    for (const type of ['keyDown', 'keyUp'] as const)
      window?.webContents.sendInputEvent({ type, keyCode: key, modifiers })
  }
  Menu.setApplicationMenu(Menu.buildFromTemplate(menuTemplate(process.platform, { goTo: showDesk, press, pauseAll })))
  const tray = openTray({ show: () => showDesk(), goTo: showDesk, pauseAll, quit: () => app.quit() })

  let running = 0
  let preferences: NotePreferences = (await operator.settings.preferences()).preferences
  /** Task → the event since which nothing has come, once told. */
  const stalled = new Map<string, number>()
  let blocker: number | null = null
  const keepAwake = (): void => {
    if (running > 0) blocker ??= powerSaveBlocker.start('prevent-app-suspension')
    else if (blocker !== null) {
      powerSaveBlocker.stop(blocker)
      blocker = null
    }
  }
  const look = async (): Promise<void> => {
    const status = await kernel.status()
    running = status.running
    app.setBadgeCount(status.decisions)
    tray?.update({ running, decisions: status.decisions })
    keepAwake()
    preferences = (await operator.settings.preferences()).preferences
    const tasks = (await operator.tasks.list()).filter(({ finishedAt }) => finishedAt === null)
    for (const { task, state, lastEventAt } of tasks) {
      const sinceMs = Date.now() - lastEventAt
      if (state !== 'running' || sinceMs < stallMs || stalled.get(task) === lastEventAt) continue
      stalled.set(task, lastEventAt)
      attention.tell(stallNote(task, Math.floor(sinceMs / 60_000)))
    }
    const [task] = tasks
    for (const window of BrowserWindow.getAllWindows())
      window.setProgressBar(...progressBar(tasks.length === 1 ? task : undefined))
  }
  const soon = throttled(look)

  const ended = new AbortController()
  const attention = attend({
    attention: systemNotifications(showDesk),
    preferences: () => preferences,
    isWatched: () => BrowserWindow.getAllWindows().some((window) => window.isFocused()),
    now: () => new Date(),
    after(ms, act) {
      const timer = setTimeout(act, ms)
      return () => clearTimeout(timer)
    },
  })
  const follow = async (): Promise<void> => {
    const after = kernel.history.head()?.seq ?? 0
    for await (const batch of kernel.history.follow({ agent: null }, { after, signal: ended.signal })) {
      if (batch.some(({ kind }) => moves.has(kind))) soon()
      for (const event of batch) attention.take(event)
    }
  }
  void follow().catch((error: unknown) => {
    if (!ended.signal.aborted) warn(error)
  })
  const timer = setInterval(() => void look().catch(warn), lookEveryMs)
  await look()
  return {
    running: () => running,
    close() {
      ended.abort()
      clearInterval(timer)
      attention.close()
      tray?.close()
      if (blocker !== null) powerSaveBlocker.stop(blocker)
      blocker = null
    },
  }
}

/** Cut, copy and paste where the system's users look for them. */
export function offerContextMenu(window: BrowserWindow): void {
  window.webContents.on('context-menu', (_event, params) => {
    const template = contextTemplate(params)
    if (template.length > 0) Menu.buildFromTemplate(template).popup({ window })
  })
}

type Shown = { state: string; progress: { value?: number; goal?: number | null } | null }

/** Of the one task that is open, as far as its goal is known. */
function progressBar(task: Shown | undefined): Parameters<BrowserWindow['setProgressBar']> {
  const { value, goal } = task?.progress ?? {}
  if (task === undefined || value === undefined || !goal) return [-1]
  return [Math.max(0, Math.min(1, value / goal)), { mode: task.state === 'paused' ? 'paused' : 'normal' }]
}

/** At most once a second; what comes meanwhile is seen by the next. */
function throttled(act: () => Promise<void>): () => void {
  let isPlanned = false
  return () => {
    if (isPlanned) return
    isPlanned = true
    setTimeout(() => {
      isPlanned = false
      void act().catch(warn)
    }, 1_000)
  }
}

function warn(error: unknown): void {
  process.emitWarning(`the desktop shows old figures: ${error instanceof Error ? error.message : String(error)}`)
}
