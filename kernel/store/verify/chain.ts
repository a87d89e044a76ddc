import { genesis, link, sha256 } from '../chain.ts'
import type { Connection } from '../sqlite.ts'
import { type ChainRow, chainColumns, type Finding } from './finding.ts'

const chunk = 2_000

/** One stretch of the chain, as a thread has checked it. */
export interface CheckedRange {
  events: number
  finding: Finding | null
  /** The link that its first event names, and its last event's: neighbours must agree on them. */
  from: string
  to: string
}

/** Checks every link and payload of the events after `after`, up to and including `upTo`. */
export function checkRange(
  db: Connection,
  after: number,
  upTo: number,
  also: (row: ChainRow) => Finding | null = () => null,
): CheckedRange {
  const next = db.prepare(`SELECT ${chainColumns} FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ${chunk}`)
  const tombstone = db.prepare(
    "SELECT 1 FROM tombstones JOIN events ON events.seq = by WHERE tombstones.seq = ? AND kind = 'payload.tombstoned'",
  )
  next.raw()
  const from = hashOf(db, after)
  let seq = after
  let prevHash = from
  const end = (finding: Finding | null): CheckedRange => ({ events: seq - after, finding, from, to: prevHash })
  while (seq < upTo) {
    const rows = next.all(seq, upTo) as ChainRow[]
    if (rows.length === 0) return end({ seq: seq + 1, problem: `event ${seq + 1} is missing`, of: 'log' })
    for (const row of rows) {
      const problem = checkLink(row, seq + 1, prevHash, (of) => tombstone.get(of) !== undefined)
      if (problem !== null) return end({ seq: seq + 1, problem, of: 'log' })
      const finding = also(row)
      if (finding !== null) return end(finding)
      seq += 1
      prevHash = row[13]
    }
  }
  return end(null)
}

/** The stored link of an event, which the range before it vouches for; '' where the event is missing. */
function hashOf(db: Connection, seq: number): string {
  if (seq === 0) return genesis
  return (db.prepare('SELECT hash FROM events WHERE seq = ?').pluck().get(seq) as string | undefined) ?? ''
}

function checkLink(
  row: ChainRow,
  seq: number,
  prevHash: string,
  isTombstoned: (seq: number) => boolean,
): string | null {
  const [found, at, agent, task, run, generation, turn, step, actor, revision, kind, data, rowPrevHash, hash] = row
  const payloadHash = row[14]
  const name = `event ${seq} (${kind})`
  if (found !== seq) return `event ${seq} is missing: event ${found} follows ${seq - 1}`
  if (rowPrevHash !== prevHash) return `${name} does not follow event ${seq - 1}: its link is another's`
  const header = [at, agent, task, run, generation, turn, step, actor, revision, kind]
  if (link(seq, header, payloadHash, prevHash) !== hash) return `${name}: its header was changed`
  if (data === null) return isTombstoned(seq) ? null : `${name}: its payload is gone and no event says why`
  return sha256(data) === payloadHash ? null : `${name}: its payload was changed`
}
