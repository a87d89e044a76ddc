import { uptime } from 'node:os'
import type { Clock } from './clock.ts'
import type { History } from './history/history.ts'
import { draft, type EventDraft } from './wire/events.ts'

/** Where the time comes from; a test brings its own. */
export interface TimeSources {
  /** ms; on Linux and macOS it stands still while the host sleeps. */
  monotonic(): number
  /** ms since the host was started, its sleep included, whatever the wall clock does. */
  uptime(): number
}

const systemSources: TimeSources = { monotonic: () => performance.now(), uptime: () => uptime() * 1000 }
const tickMs = 1_000
/** Shorter gaps are a busy machine, or the grain of the host's uptime. */
const gapMs = 5_000

/** Notices that the host slept, or that this process was stopped, and keeps that time out of every deadline. */
export interface Suspension {
  /** The given clock without the time that was slept through. Budgets of time and watchdogs go by it. */
  readonly clock: Clock
  /** Looks now, where the host says that it wakes. */
  look(): void
  /** The host says that it will sleep. */
  suspending(): void
  close(): void
}

/**
 * Sleep shows as a gap between the host's uptime and the monotonic clock, or as a tick that comes late; the wall clock is not
 * asked, since it may be set to anything at any time.
 *
 * @param on `suspended` comes before `resumed` in every case, also where the sleep is seen only after it.
 */
export function watchSuspension(
  clock: Clock,
  on: { suspended(): void; resumed(suspendedMs: number): void },
  sources: TimeSources = systemSources,
): Suspension {
  let last = { monotonic: sources.monotonic(), uptime: sources.uptime() }
  /** What the monotonic clock counted although nothing here could run. */
  let hiddenMs = 0
  /** Set by the host's word, until it wakes. */
  let announcedAt: number | null = null

  function look(isWaking = false): void {
    const now = { monotonic: sources.monotonic(), uptime: sources.uptime() }
    const ranMs = now.monotonic - last.monotonic
    const unseenMs = now.uptime - last.uptime - ranMs
    const lateMs = ranMs > tickMs + gapMs ? ranMs - tickMs : 0
    last = now
    hiddenMs += lateMs
    const sleptMs = Math.round(lateMs + (unseenMs > gapMs ? unseenMs : 0))
    if (sleptMs === 0 && !(isWaking && announcedAt !== null)) return
    if (announcedAt === null) on.suspended()
    on.resumed(sleptMs === 0 && announcedAt !== null ? Math.round(now.uptime - announcedAt) : sleptMs)
    announcedAt = null
  }

  const timer = setInterval(() => look(), tickMs)
  timer.unref()
  return {
    clock: {
      now: () => clock.now(),
      monotonic() {
        // A timer of somebody else's may be the first to run after the gap.
        if (sources.monotonic() - last.monotonic > tickMs + gapMs) look()
        return clock.monotonic() - hiddenMs
      },
    },
    look: () => look(true),
    suspending() {
      if (announcedAt !== null) return
      announcedAt = sources.uptime()
      on.suspended()
    },
    close: () => clearInterval(timer),
  }
}

/** The same, with an event for each sleep once there is a history to keep it in. Waking does not wait for the store. */
export function recordedSuspension(clock: Clock): Suspension & { recordIn(history: Pick<History, 'append'>): void } {
  let store: Pick<History, 'append'> | null = null
  let queue: Promise<unknown> = Promise.resolve()
  const record = (event: EventDraft): void => {
    queue = queue.then(() => store?.append([event])).catch(() => {})
  }
  const suspension = watchSuspension(clock, {
    suspended: () => record(draft('host.suspended', {}, { actor: 'kernel' })),
    resumed: (suspendedMs) => record(draft('host.resumed', { suspendedMs }, { actor: 'kernel' })),
  })
  return {
    ...suspension,
    recordIn(history) {
      store = history
    },
  }
}
