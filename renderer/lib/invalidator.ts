import type { QueryClient } from '@tanstack/react-query'
import type { EventRow } from '../../kernel/wire/operator.ts'

/** At most four times a second. */
const intervalMs = 250

const topicsOf: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^tool\.(quarantined|released|audited|retirement-asked)/, ['tools']],
  [/^event\./, ['marks']],
  [/^turn\.ended/, ['tasks', 'series', 'frame', 'status', 'tools', 'cost']],
  [/^artifact\./, ['artifacts']],
  [/^(price\.changed|budget\.(set|raised))/, ['tasks', 'series', 'status', 'cost']],
  [
    /^(model\.called|tool\.|turn\.|budget\.|sandbox\.|job\.|endpoint\.|message\.)/,
    ['tasks', 'series', 'frame', 'status'],
  ],
  [/^task\./, ['tasks', 'series', 'frame', 'status', 'agents', 'cost']],
  [
    /^(proposal\.(reviewed|looked|expired)|revision\.rolled-back)/,
    ['proposals', 'revisions', 'agents', 'tasks', 'series', 'status', 'tools', 'reviewer'],
  ],
  [/^(proposal|revision)\./, ['proposals', 'revisions', 'agents', 'tasks', 'series', 'status', 'tools']],
  [/^agent\./, ['agents', 'revisions', 'proposals', 'tools', 'artifacts']],
  [/^trial\./, ['proposals', 'status']],
  [/^executor\./, ['tasks', 'revisions', 'status', 'tools']],
  [/^credential\.(sealed|removed)/, ['credentials', 'status', 'tasks']],
  [/^(kernel|host|setting|price|rule|profile|payload|notice|backup|blobs)\./, ['status', 'tasks']],
]

export function topicsOfKind(kind: string): readonly string[] {
  return topicsOf.find(([pattern]) => pattern.test(kind))?.[1] ?? []
}

/**
 * Turns events into refetches of what they made old: the first at once, later ones bundled. A topic whose refetch is
 * still under way is asked for again only after it, so a slow host is never flooded and the last event is never missed.
 */
export class Invalidator {
  private readonly due = new Set<string>()
  private timer: ReturnType<typeof setTimeout> | undefined
  private readonly client: QueryClient

  constructor(client: QueryClient) {
    this.client = client
  }

  note(events: readonly Pick<EventRow, 'kind'>[]): void {
    for (const event of events) for (const topic of topicsOfKind(event.kind)) this.due.add(topic)
    if (this.due.size > 0 && this.timer === undefined) this.run()
  }

  stop(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    this.due.clear()
  }

  private run(): void {
    for (const topic of [...this.due]) {
      if (this.client.isFetching({ queryKey: [topic] }) > 0) continue
      this.due.delete(topic)
      void this.client.invalidateQueries({ queryKey: [topic] })
    }
    this.timer = setTimeout(() => {
      this.timer = undefined
      if (this.due.size > 0) this.run()
    }, intervalMs)
  }
}
