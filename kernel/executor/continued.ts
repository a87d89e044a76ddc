import type { History, Page, ReadOptions, View } from '../history/history.ts'
import type { Event } from '../wire/events.ts'

/** The task that another one goes on from, on a fork: its events up to and including `upTo`. */
export interface Continued {
  task: string
  upTo: number
}

/**
 * History as an executor of a fork reads it: what the fork does in its own task and what was there before are one task, under
 * the name that it had. All of the earlier one comes first, since a fork sees nothing of it that came later.
 */
export function continuedHistory(history: History, own: string, { task, upTo }: Continued): History {
  const named = (event: Event): Event => (event.task === own ? { ...event, task } : event)

  async function read(view: View, options: ReadOptions = {}): Promise<Page> {
    if (options.task !== own) return renamed(await history.read(view, options))
    return options.order === 'desc' ? backward(view, options) : forward(view, options)
  }

  async function forward(view: View, options: ReadOptions): Promise<Page> {
    if ((options.after ?? 0) >= upTo) return renamed(await history.read(view, options))
    const first = await history.read(view, { ...options, task })
    return first.next === null
      ? join(first, options, (limit) => history.read(view, { ...options, limit }), upTo)
      : first
  }

  async function backward(view: View, options: ReadOptions): Promise<Page> {
    if ((options.before ?? upTo + 2) <= upTo + 1) return history.read(view, { ...options, task })
    const first = renamed(await history.read(view, options))
    if (first.next !== null) return first
    return join(first, options, (limit) => history.read(view, { ...options, task, limit }), upTo + 1)
  }

  /** One page of the end of one part and the beginning of the other, which goes on from `seam`. */
  async function join(
    first: Page,
    { limit = 100 }: ReadOptions,
    rest: (limit: number) => Promise<Page>,
    seam: number,
  ): Promise<Page> {
    const room = limit - first.events.length
    if (room <= 0) return { ...first, next: seam }
    const second = renamed(await rest(room))
    return { events: [...first.events, ...second.events], next: second.next }
  }

  const renamed = (page: Page): Page => ({ ...page, events: page.events.map(named) })

  return Object.assign(Object.create(history) as History, {
    read,
    async search(view, text, options = {}) {
      if (options.task !== own) return renamed(await history.search(view, text, options))
      const later = renamed(await history.search(view, text, options))
      const room = (options.limit ?? 100) - later.events.length
      if (room <= 0 || later.next !== null) return later
      const earlier = await history.search(view, text, { ...options, task, limit: room })
      return { events: [...later.events, ...earlier.events], next: earlier.next }
    },
  } satisfies Pick<History, 'read' | 'search'>)
}
