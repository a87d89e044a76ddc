import type { Head } from '../messages.ts'
import { expectedSchema, schemaOf } from '../migrations.ts'
import { readSignedHeads, type SignedHeads } from '../signed-head.ts'
import type { Connection } from '../sqlite.ts'
import { checkRange } from './chain.ts'
import { type Finding, report, unreadable, type Verification } from './finding.ts'
import { createReferenceCheck, referringKinds } from './references.ts'

/** At start so many of the last events are checked, or those of so many bytes: the time does not grow with the log. */
const recentEvents = 10_000
const recentBytes = 32 * 1024 * 1024

/** What every verification begins with: the schema, and that the log ends no earlier than it once did. */
export function checkEnds(db: Connection, signed: SignedHeads): { head: Head | null; finding: Finding | null } {
  if (schemaOf(db) !== expectedSchema()) {
    const problem = 'the tables or the triggers that protect them are not those of Exodesk'
    return { head: headOf(db), finding: { seq: null, problem, of: 'log' } }
  }
  const head = headOf(db)
  return { head, finding: checkSigned(db, signed, head) }
}

/** Checks the end of history, as a start does: the last events, and that nothing is missing after them. */
export function verifyRecent(db: Connection, dataDir: string): Verification {
  // Before the database: it may only have grown since.
  const signed = readSignedHeads(dataDir)
  let head: Head | null = null
  try {
    const ends = checkEnds(db, signed)
    head = ends.head
    if (head === null) return report({ events: 0, head }, [ends.finding])
    const references = createReferenceCheck(db)
    const range = checkRange(db, startOf(db, head.seq), head.seq, (row) => {
      const [seq, kind, data] = [row[0], row[10], row[11]]
      return data !== null && referringKinds.has(kind) ? references(seq, kind, JSON.parse(data)) : null
    })
    // A link that does not hold says more than the signature that it breaks.
    return report({ events: range.events, head }, [range.finding ?? ends.finding])
  } catch (error) {
    return report({ events: 0, head }, [unreadable(error)])
  }
}

export function headOf(db: Connection): Head | null {
  return (db.prepare('SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1').get() as Head | undefined) ?? null
}

function startOf(db: Connection, headSeq: number): number {
  const sizes = db.prepare('SELECT seq, octet_length(data) AS bytes FROM events ORDER BY seq DESC LIMIT ?')
  let bytes = 0
  let start = headSeq
  for (const row of sizes.iterate(recentEvents) as Iterable<{ seq: number; bytes: number | null }>) {
    bytes += row.bytes ?? 0
    start = row.seq - 1
    if (bytes > recentBytes) break
  }
  return Math.max(0, start)
}

function checkSigned(db: Connection, signed: SignedHeads, head: Head | null): Finding | null {
  const found = signed.head
  if ('problem' in found) return { seq: null, problem: found.problem, of: 'log' }
  const finding = checkHead(db, found.head, head, 'its signed head')
  return finding ?? (signed.last === null ? null : checkHead(db, signed.last, head, 'the last commit that was noted'))
}

function checkHead(db: Connection, known: Head, head: Head | null, name: string): Finding | null {
  const { seq, hash } = known
  if (seq === 0) return null
  const last = head?.seq ?? 0
  if (last < seq) {
    const problem = `events ${last + 1} to ${seq} are missing: history ends before ${name}`
    return { seq: last + 1, problem, of: 'log' }
  }
  const row = db.prepare('SELECT kind, hash FROM events WHERE seq = ?').get(seq) as
    | { kind: string; hash: string }
    | undefined
  if (row === undefined) return { seq, problem: `event ${seq} is missing`, of: 'log' }
  if (row.hash === hash) return null
  const problem = `event ${seq} (${row.kind}) is not the one that was signed: history was written anew up to it`
  return { seq, problem, of: 'log' }
}
