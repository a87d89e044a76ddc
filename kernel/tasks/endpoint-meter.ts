import type { Socket } from 'node:net'
import type { Endpoint } from './endpoint-address.ts'
import type { EndpointsSpec } from './endpoints.ts'

const nothing = { connections: 0, refused: 0, bytesIn: 0, bytesOut: 0 }

interface Pair {
  client: Socket
  service: Socket
  /** Counted so far. */
  read: number
  sent: number
}

/** Counts what passes, and reports it at most once a second, ever more seldom while it goes on, and at the end. */
export function createMeter(
  { clock, used }: Pick<EndpointsSpec, 'clock' | 'used'>,
  endpoint: Endpoint,
  limits: { reportMs: number; reportMaxMs: number },
) {
  const watched = new Set<Pair>()
  let counted = { ...nothing }
  let since = clock.monotonic()
  let wait = limits.reportMs
  let timer: NodeJS.Timeout | null = null
  let reporting: Promise<void> = Promise.resolve()

  function look(pair: Pair): void {
    const { client, service } = pair
    counted.bytesIn += service.bytesRead - pair.read
    counted.bytesOut += client.bytesRead - pair.sent
    pair.read = service.bytesRead
    pair.sent = client.bytesRead
  }

  function schedule(): void {
    if (timer !== null) return
    timer = setTimeout(() => {
      timer = null
      wait = Math.min(wait * 2, limits.reportMaxMs)
      void report().then(() => {
        if (watched.size > 0) schedule()
      })
    }, wait)
    timer.unref()
  }

  function report(): Promise<void> {
    reporting = reporting.then(async () => {
      for (const pair of watched) look(pair)
      const now = clock.monotonic()
      const use = counted
      if (Object.values(use).every((value) => value === 0)) {
        since = now
        return
      }
      counted = { ...nothing }
      const { name, address } = endpoint
      const from = since
      try {
        await used({ endpoint: name, address, ...use, durationMs: Math.max(0, now - from) })
        since = now
      } catch {
        // History cannot be written just now: what is counted waits for when it can.
        for (const key of Object.keys(use) as (keyof typeof use)[]) counted[key] += use[key]
      }
    })
    return reporting
  }

  return {
    count(more: Partial<typeof nothing>): void {
      for (const [key, value] of Object.entries(more) as [keyof typeof nothing, number][]) counted[key] += value
      schedule()
    },
    watch(client: Socket, service: Socket): void {
      const pair = { client, service, read: 0, sent: 0 }
      watched.add(pair)
      const gone = () => {
        if (!client.destroyed || !service.destroyed) return
        look(pair)
        watched.delete(pair)
        schedule()
      }
      client.once('close', gone)
      service.once('close', gone)
    },
    close(): Promise<void> {
      if (timer !== null) clearTimeout(timer)
      timer = null
      return report()
    },
  }
}
