import type { History } from '../history/history.ts'
import type { EventKind } from '../wire/events.ts'

/** What an executor in the middle of a turn is told of by number; it reads the events in history. */
const pendingKinds: ReadonlySet<EventKind> = new Set<EventKind>([
  'task.steered',
  'task.answered',
  'proposal.checked',
  'proposal.readied',
  'proposal.reviewed',
  'proposal.staled',
  'proposal.expired',
  'revision.activated',
  'revision.activation-failed',
  'revision.rolled-back',
  'revision.regressed',
  'tool.quarantined',
  'tool.released',
  'tool.retirement-asked',
  'job.ended',
  'budget.raised',
])

/** Counts the events for one task's executor that were committed since it was last told. */
export class PendingEvents {
  readonly close: () => void
  #count = 0

  constructor(history: History, agent: string, task: string) {
    this.close = history.onCommit((events) => {
      for (const event of events) {
        const isItsOwn = event.agent === agent && (event.task === null || event.task === task)
        // What it proposes itself is no news to it.
        const isNews = event.kind === 'proposal.made' ? event.data.derived !== undefined : pendingKinds.has(event.kind)
        if (isItsOwn && isNews) this.#count += 1
      }
    })
  }

  take(): number {
    const count = this.#count
    this.#count = 0
    return count
  }
}
