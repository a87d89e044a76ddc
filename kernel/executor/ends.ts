import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { draft, type EventDraft } from '../wire/events.ts'
import type { Place } from './calls.ts'
import type { GenerationEnd } from './executor.ts'

export function endEvent(end: GenerationEnd, place: Place): EventDraft {
  switch (end.kind) {
    case 'stopped':
      return draft('executor.stopped', { reason: end.reason }, place)
    case 'hung':
      return draft('executor.hung', { watchdog: end.watchdog, afterMs: end.afterMs }, place)
    case 'crashed': {
      const { exitCode, signal, outOfMemory, stderr } = end
      return draft('executor.crashed', { exitCode, signal, outOfMemory, stderr }, place)
    }
  }
}

/** Why a turn was interrupted, in words for the operator. */
export function endWords(end: GenerationEnd): string {
  if (end.kind === 'stopped') return end.reason
  if (end.kind === 'hung') return `the executor hung (${end.watchdog} watchdog, ${end.afterMs} ms)`
  if (end.outOfMemory) return 'the executor ran out of memory'
  return `the executor crashed (${end.signal ?? `exit code ${end.exitCode}`})`
}

/** Whether it resolves within `ms`. */
export async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const timer = new AbortController()
  const late = delay(ms, false, { signal: timer.signal }).catch(() => false)
  const isDone = await Promise.race([promise.then(() => true), late])
  timer.abort()
  return isDone
}

/**
 * Calls `act` once `ms` have passed on this clock. A timer alone would also count what the host slept, or how long this
 * process was stopped. Returns its undoing.
 */
export function afterAwake(clock: Clock, ms: number, act: () => void): () => void {
  const until = clock.monotonic() + ms
  let timer: NodeJS.Timeout
  const look = (): void => {
    const left = until - clock.monotonic()
    if (left <= 0) act()
    else timer = setTimeout(look, Math.min(left, 2 ** 31 - 1))
  }
  timer = setTimeout(look, Math.min(ms, 2 ** 31 - 1))
  return () => clearTimeout(timer)
}
