import type { EventRow } from '../../kernel/wire/operator.ts'
import type { Desk } from './connection.ts'

export interface FollowOptions {
  after: number
  agent?: string
  task?: string
  signal: AbortSignal
  onBatch: (events: EventRow[]) => void
  onError?: (error: unknown) => void
  retryMs?: number
}

/**
 * Hands over every event after `after`, in order and without gap, until `signal` aborts. When the connection breaks it
 * subscribes again from the last `seq` that it handed over.
 */
export async function follow(desk: Desk, options: FollowOptions): Promise<void> {
  const { signal, onBatch, onError, agent, task, retryMs = 500 } = options
  let after = options.after
  while (!signal.aborted) {
    try {
      const input = { after, ...(agent === undefined ? {} : { agent }), ...(task === undefined ? {} : { task }) }
      for await (const batch of await desk.events.follow(input, { signal })) {
        if (signal.aborted) return
        const fresh = batch.filter((event) => event.seq > after)
        const last = fresh.at(-1)
        if (!last) continue
        after = last.seq
        onBatch(fresh)
      }
    } catch (error) {
      if (signal.aborted) return
      onError?.(error)
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs))
  }
}
