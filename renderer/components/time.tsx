import { useNow } from '../lib/clock.ts'
import { absoluteTime, ago, duration } from '../lib/format.ts'

/** `4 m ago`, with the absolute time on hover. */
export function TimeAgo({ at, className }: { at: number; className?: string }) {
  const now = useNow()
  return (
    <time className={className} dateTime={new Date(at).toISOString()} title={absoluteTime(at)}>
      {ago(at, now)}
    </time>
  )
}

/** How long something has been going on, counting up. */
export function Age({ since }: { since: number }) {
  const now = useNow()
  const seconds = Math.max(0, Math.floor((now - since) / 1000))
  return <span title={`since ${absoluteTime(since)}`}>{duration(seconds * 1000).replace('0 ms', '0 s')}</span>
}
