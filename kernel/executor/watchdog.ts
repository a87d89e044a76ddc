import type { Clock } from '../clock.ts'
import type { Channel, InboundCall } from './channel.ts'
import type { Timings } from './timings.ts'

/** Both watchdogs count their own ticks and not time: when the kernel itself was stopped for a minute, no executor is to blame. */
export interface Watchdog {
  stop(): void
}

/** Calls `onHung` once when the process has left a ping unanswered for `pingMisses` ticks: its event loop does not turn. */
export function watchPings(
  channel: Channel,
  clock: Clock,
  timings: Pick<Timings, 'pingEveryMs' | 'pingMisses'>,
  onHung: (afterMs: number) => void,
): Watchdog {
  let nonce = 0
  let waiting: { since: number; misses: number } | null = null
  const timer = setInterval(() => {
    if (waiting !== null) {
      waiting.misses += 1
      if (waiting.misses < timings.pingMisses) return
      clearInterval(timer)
      onHung(Math.round(clock.monotonic() - waiting.since))
      return
    }
    nonce += 1
    const sent = { since: clock.monotonic(), misses: 0 }
    waiting = sent
    channel.request('ping', { nonce }, { isControl: true }).then(
      (answer) => {
        if (answer.nonce === nonce && waiting === sent) waiting = null
      },
      // An error is no answer; when the channel has closed, whoever closed it stops this.
      () => undefined,
    )
  }, timings.pingEveryMs)
  return { stop: () => clearInterval(timer) }
}

/**
 * Calls `onHung` once when for `progressMs` no mediated call was begun, ended or rightly in flight. A call may take the time that
 * it declared (`timeoutMs`), else `callMs`; at most `callCapMs`, whatever it says.
 */
export function watchProgress(
  channel: Pick<Channel, 'calls'>,
  timings: Pick<Timings, 'progressMs' | 'callMs' | 'callCapMs'>,
  onHung: (afterMs: number) => void,
): Watchdog & { note(): void } {
  const ticks = 20
  const tickMs = timings.progressMs / ticks
  /** Ticks that each call in flight has seen. */
  let ages = new Map<InboundCall, number>()
  let idle = 0
  const isInTime = (call: InboundCall, seen: number): boolean =>
    seen * tickMs < Math.min(call.declaredMs ?? timings.callMs, timings.callCapMs) + timings.progressMs
  const timer = setInterval(() => {
    ages = new Map(channel.calls().map((call) => [call, (ages.get(call) ?? 0) + 1]))
    idle = [...ages].some(([call, seen]) => isInTime(call, seen)) ? 0 : idle + 1
    if (idle < ticks) return
    clearInterval(timer)
    onHung(timings.progressMs)
  }, tickMs)
  return {
    stop: () => clearInterval(timer),
    note: () => {
      idle = 0
    },
  }
}
