import { Notification } from 'electron'
import type { Attention } from './attention.ts'

/** Shows notes by the system's own means. A click opens the item; a note of the same id replaces the earlier one. */
export function systemNotifications(openAt: (href: string) => void): Attention {
  const shown = new Map<string, Notification>()
  const withdraw = (id: string): void => {
    shown.get(id)?.close()
    shown.delete(id)
  }
  return {
    show({ id, kind, title, body, href }, { silent }) {
      if (!Notification.isSupported()) return
      withdraw(id)
      const notification = new Notification({
        title,
        body,
        silent,
        timeoutType: kind === 'decision' || kind === 'regressed' ? 'never' : 'default',
      })
      notification.on('click', () => openAt(href))
      notification.on('close', () => {
        if (shown.get(id) === notification) shown.delete(id)
      })
      shown.set(id, notification)
      notification.show()
    },
    withdraw,
  }
}
