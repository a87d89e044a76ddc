import type { Event } from '../wire/events.ts'
import type { History, View } from './history.ts'

/** Events in one batch. */
const batch = 500
/** A follower that lags by more is let go, and reads from disk again. */
const queueLimit = 2_000

type Source = Pick<History, 'read' | 'onCommit' | 'head'>

/** @see History.follow */
export async function* follow(
  source: Source,
  view: View,
  options: { after: number; task?: string; signal: AbortSignal },
): AsyncGenerator<Event[]> {
  const { task, signal } = options
  const asOf = view.asOf ?? Number.POSITIVE_INFINITY
  let cursor = options.after
  let queue: Event[] = []
  let isLagging = true
  let wake: (() => void) | null = null

  const unsubscribe = source.onCommit((events) => {
    if (isLagging && queue.length > queueLimit) return
    queue.push(...events.filter((event) => isSeen(event, view, task)))
    if (queue.length > queueLimit) isLagging = true
    wake?.()
  })
  const onAbort = () => wake?.()
  signal.addEventListener('abort', onAbort)

  try {
    while (!signal.aborted) {
      if (isLagging) {
        // What is committed from here on is queued, and what was before is on disk: no gap. What is both is dropped below.
        queue = []
        isLagging = false
        yield* fromDisk()
      }
      queue = queue.filter((event) => event.seq > cursor)
      const live = queue.slice(0, batch)
      if (live.length > 0) {
        cursor = (live.at(-1) as Event).seq
        yield live
      } else if (!isLagging) {
        if (cursor >= asOf || (source.head()?.seq ?? 0) >= asOf) return
        await new Promise<void>((resolve) => {
          wake = resolve
          if (signal.aborted || queue.length > 0 || isLagging) resolve()
        })
        wake = null
      }
    }
  } finally {
    unsubscribe()
    signal.removeEventListener('abort', onAbort)
  }

  async function* fromDisk(): AsyncGenerator<Event[]> {
    for (;;) {
      if (signal.aborted) return
      const page = await source.read(view, { after: cursor, limit: batch, ...(task === undefined ? {} : { task }) })
      if (page.events.length > 0) {
        cursor = (page.events.at(-1) as Event).seq
        yield page.events
      }
      if (page.next === null) return
    }
  }
}

/** A fork's own events: those of its ancestors up to the fork were there before it. */
function isSeen(event: Event, view: View, task: string | undefined): boolean {
  if (view.agent !== null && event.agent !== view.agent) return false
  if (task !== undefined && event.task !== task) return false
  return event.seq <= (view.asOf ?? Number.POSITIVE_INFINITY)
}
