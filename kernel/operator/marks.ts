import type { History } from '../history/history.ts'
import type { Event } from '../wire/events.ts'
import type { EventMarks } from '../wire/operator-events.ts'

const kinds = ['event.noted', 'event.labelled'] as const
type MarkEvent = Event<'event.noted'> | Event<'event.labelled'>

/** Notes and labels on events: a fold of the events that say so, which goes on from where it was whenever it is asked for. */
export function createMarks(history: History) {
  const marks = new Map<number, EventMarks>()
  let upTo = 0
  let reading: Promise<void> | null = null

  function take(event: Event): void {
    if (event.seq <= upTo || 'tombstoned' in event.data) return
    upTo = event.seq
    const { about } = (event as MarkEvent).data
    const of = marks.get(about) ?? { seq: about, labels: [], notes: [] }
    if (event.kind === 'event.noted') of.notes.push({ seq: event.seq, at: event.at, text: event.data.text })
    if (event.kind === 'event.labelled') {
      const { label, isSet } = event.data
      of.labels = [...of.labels.filter((each) => each !== label), ...(isSet ? [label] : [])]
    }
    if (of.labels.length + of.notes.length === 0) marks.delete(about)
    else marks.set(about, of)
  }

  async function read(): Promise<void> {
    for (let after: number | null = upTo; after !== null; ) {
      const page: Awaited<ReturnType<History['read']>> = await history.read(
        { agent: null },
        { kinds, after, limit: 1000 },
      )
      for (const event of page.events) take(event)
      after = page.next
    }
  }

  /** One reading at a time; whoever asks meanwhile may see it short of the newest, never out of order. */
  async function current(): Promise<void> {
    reading ??= read().finally(() => {
      reading = null
    })
    await reading
  }

  return {
    async list(): Promise<EventMarks[]> {
      await current()
      return [...marks.values()]
    },
    /** Of events that have the label, or, for null, any mark. */
    async seqs(label: string | null): Promise<number[]> {
      await current()
      return [...marks.values()].filter(({ labels }) => label === null || labels.includes(label)).map(({ seq }) => seq)
    },
  }
}
