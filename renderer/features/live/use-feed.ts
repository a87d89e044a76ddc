import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { errorText } from '../../components/states.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { Feed } from '../../lib/feed.ts'
import { follow } from '../../lib/follow.ts'

const pageSize = 1000

/** One subscription for one task: its newest page, then every event as it happens. */
export function useFeed(task: string) {
  const desk = useDesk()
  const [feed] = useState(() => new Feed())
  const isLoading = useRef(false)

  useEffect(() => {
    const stop = new AbortController()
    const { signal } = stop
    const start = async () => {
      const held = feed.snapshot().events.at(-1)?.seq
      if (held === undefined) {
        const { events } = await desk.events.read({ task, order: 'desc', limit: pageSize }, { signal })
        feed.load(events.reverse(), events.length === pageSize)
      }
      await follow(desk, {
        after: feed.snapshot().events.at(-1)?.seq ?? 0,
        task,
        signal,
        onBatch: (events) => feed.push(events),
      })
    }
    start().catch((error: unknown) => {
      if (!signal.aborted) feed.fail(errorText(error))
    })
    return () => stop.abort()
  }, [desk, feed, task])

  const loadEarlier = useCallback(async () => {
    const first = feed.snapshot().events[0]?.seq
    if (isLoading.current || first === undefined || feed.isFull) return
    isLoading.current = true
    try {
      const { events } = await desk.events.read({ task, before: first, order: 'desc', limit: pageSize })
      feed.prepend(events.reverse(), events.length === pageSize)
    } catch (error) {
      feed.fail(errorText(error))
    } finally {
      isLoading.current = false
    }
  }, [desk, feed, task])

  const state = useSyncExternalStore(feed.subscribe, feed.snapshot)
  return { feed, state, loadEarlier }
}
