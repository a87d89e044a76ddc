import type { Appended, DraftRow, EventRow } from '../store/messages.ts'
import type { Event, EventHeader, EventKind } from '../wire/events.ts'

/** What readers get in place of a payload that an operator had removed. */
const removed = { tombstoned: true }

export function eventOf(row: EventRow): Event {
  const [seq, at, agent, task, run, generation, turn, step, actor, revision, kind, data, prevHash, hash] = row
  return {
    seq,
    at,
    agent,
    task,
    run: run as EventHeader['run'],
    generation,
    turn,
    step,
    actor: actor as EventHeader['actor'],
    revision,
    kind: kind as EventKind,
    data: data === null ? removed : JSON.parse(data),
    prevHash,
    hash,
  } as Event
}

/** The events that these drafts have become. */
export function eventsOf(drafts: readonly DraftRow[], appended: Appended): Event[] {
  let prevHash = appended.prevHash
  return drafts.map((draft, index) => {
    const hash = appended.hashes[index] as string
    const event = eventOf([appended.firstSeq + index, ...draft, prevHash, hash])
    prevHash = hash
    return event
  })
}
