import type { EventData, EventKind } from '../wire/events.ts'
import { genesis, link, sha256 } from './chain.ts'
import type { EventRow, Head } from './messages.ts'
import { expectedSchema, schemaOf } from './migrations.ts'
import { readSignedHead } from './signed-head.ts'
import type { Connection } from './sqlite.ts'

export interface Verification {
  ok: boolean
  /** Events checked. */
  events: number
  head: Head | null
  firstBadSeq: number | null
  problem: string | null
}

type Finding = { seq: number | null; problem: string }

/** Short of a full verification, this many of the last events are checked. */
const recentEvents = 10_000
const chunk = 2_000

const columns =
  'seq, at, agent, task, run, generation, turn, step, actor, revision, kind, data, prev_hash, hash, payload_hash'
type ChainRow = readonly [...EventRow, payloadHash: string]

/**
 * Checks that history is what it was: every link and payload, that nothing after the signed head is missing, that what
 * events refer to is there and (`full`) has its hash. Reads in small pieces, so that writing goes on; events added
 * meanwhile are left to the next time.
 */
export function verifyHistory(db: Connection, dataDir: string, full: boolean): Verification {
  // Before the database: it may only have grown since.
  const signed = readSignedHead(dataDir)
  let head: Head | null = null
  const events = { count: 0 }
  const finding = ((): Finding | null => {
    try {
      if (schemaOf(db) !== expectedSchema()) {
        return { seq: null, problem: 'the tables or the triggers that protect them are not those of Exodesk' }
      }
      head = (db.prepare('SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1').get() as Head | undefined) ?? null
      return (
        checkChain(db, head, full, events) ??
        checkSignedHead(db, signed, head) ??
        (full ? (checkBlobs(db) ?? checkStructure(db)) : null)
      )
    } catch (error) {
      return { seq: null, problem: `history.db cannot be read: ${(error as Error).message}; restore a backup` }
    }
  })()
  return {
    ok: finding === null,
    events: events.count,
    head,
    firstBadSeq: finding?.seq ?? null,
    problem: finding?.problem ?? null,
  }
}

function checkChain(db: Connection, head: Head | null, full: boolean, events: { count: number }): Finding | null {
  if (head === null) return null
  const next = db.prepare(`SELECT ${columns} FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ${chunk}`).raw()
  const references = checkReferences(db)
  let seq = full ? 0 : Math.max(0, head.seq - recentEvents)
  let prevHash =
    seq === 0
      ? genesis
      : ((db.prepare('SELECT hash FROM events WHERE seq = ?').pluck().get(seq) as string | undefined) ?? '')
  while (seq < head.seq) {
    const rows = next.all(seq, head.seq) as ChainRow[]
    if (rows.length === 0) return { seq: seq + 1, problem: `event ${seq + 1} is missing` }
    for (const row of rows) {
      const finding = checkLink(db, row, seq + 1, prevHash) ?? references(row)
      if (finding !== null) return { ...finding, seq: seq + 1 }
      seq += 1
      events.count += 1
      prevHash = row[13]
    }
  }
  return null
}

function checkLink(db: Connection, row: ChainRow, seq: number, prevHash: string): Finding | null {
  const [found, ...rest] = row
  const [kind, data, rowPrevHash, hash, payloadHash] = row.slice(10) as [string, string | null, string, string, string]
  const name = `event ${seq} (${kind})`
  if (found !== seq) return { seq, problem: `event ${seq} is missing: event ${found} follows ${seq - 1}` }
  if (rowPrevHash !== prevHash)
    return { seq, problem: `${name} does not follow event ${seq - 1}: its link is another's` }
  if (link(seq, rest.slice(0, 10) as (string | number | null)[], payloadHash, prevHash) !== hash) {
    return { seq, problem: `${name}: its header was changed` }
  }
  if (data === null) {
    const by = db
      .prepare(
        "SELECT 1 FROM tombstones JOIN events ON events.seq = by WHERE tombstones.seq = ? AND kind = 'payload.tombstoned'",
      )
      .get(seq)
    return by === undefined ? { seq, problem: `${name}: its payload is gone and no event says why` } : null
  }
  return sha256(data) === payloadHash ? null : { seq, problem: `${name}: its payload was changed` }
}

/** What events point at must be there; and the tables derived from them must say the same. */
function checkReferences(db: Connection): (row: ChainRow) => Finding | null {
  const blob = db.prepare('SELECT 1 FROM blobs WHERE hash = ?')
  const artifact = db.prepare('SELECT 1 FROM artifacts WHERE agent = ? AND name = ? AND version = ? AND hash = ?')
  const activation = db.prepare('SELECT 1 FROM activations WHERE agent = ? AND seq = ? AND revision = ?')
  return (row) => {
    const [seq, , agent] = row
    const [kind, text] = [row[10], row[11]]
    if (text === null || !referringKinds.has(kind)) return null
    const data: unknown = JSON.parse(text)
    const missing = referencesOf(kind, data).find((hash) => blob.get(hash) === undefined)
    if (missing !== undefined) return { seq, problem: `event ${seq} (${kind}): blob ${missing} is missing` }
    if (kind === 'artifact.written') {
      const { name, version, hash } = data as EventData<'artifact.written'>
      if (artifact.get(agent, name, version, hash) === undefined) {
        return {
          seq,
          problem: `event ${seq} (${kind}): version ${version} of ${name} is not in the index of artifacts`,
        }
      }
    }
    if (kind === 'revision.activated') {
      const { revision } = data as EventData<'revision.activated'>
      if (activation.get(agent, seq, revision) === undefined) {
        return { seq, problem: `event ${seq} (${kind}): the activation is not in the index of activations` }
      }
    }
    return null
  }
}

const referringKinds: ReadonlySet<string> = new Set<EventKind>([
  'artifact.written',
  'model.called',
  'tool.called',
  'tool.finished',
  'revision.activated',
])

function referencesOf(kind: string, data: unknown): string[] {
  switch (kind as EventKind) {
    case 'artifact.written':
      return [(data as EventData<'artifact.written'>).hash]
    case 'model.called':
      return (data as EventData<'model.called'>).output.map(({ hash }) => hash)
    case 'tool.called':
      return present((data as EventData<'tool.called'>).argumentsBlob)
    case 'tool.finished':
      return present((data as EventData<'tool.finished'>).outputBlob)
    default:
      return []
  }
}

function present(hash: string | undefined): string[] {
  return hash === undefined ? [] : [hash]
}

function checkSignedHead(db: Connection, signed: ReturnType<typeof readSignedHead>, head: Head | null): Finding | null {
  if ('problem' in signed) return { seq: null, problem: signed.problem }
  const { seq, hash } = signed.head
  if (seq === 0) return null
  const last = head?.seq ?? 0
  if (last < seq) {
    return { seq: last + 1, problem: `events ${last + 1} to ${seq} are missing: history ends before its signed head` }
  }
  const row = db.prepare('SELECT kind, hash FROM events WHERE seq = ?').get(seq) as { kind: string; hash: string }
  if (row.hash === hash) return null
  return {
    seq,
    problem: `event ${seq} (${row.kind}) is not the one that was signed: history was written anew up to it`,
  }
}

function checkBlobs(db: Connection): Finding | null {
  const next = db.prepare('SELECT id, hash, bytes FROM blobs WHERE id > ? ORDER BY id LIMIT 16')
  for (let id = 0; ; ) {
    const rows = next.all(id) as { id: number; hash: string; bytes: Buffer }[]
    if (rows.length === 0) return null
    for (const row of rows) {
      if (sha256(row.bytes) !== row.hash) return badBlob(db, row.hash)
      id = row.id
    }
  }
}

function badBlob(db: Connection, hash: string): Finding {
  const kinds = [...referringKinds].map((kind) => `'${kind}'`).join(', ')
  const user = db
    .prepare(`SELECT seq, kind FROM events WHERE kind IN (${kinds}) AND instr(data, ?) > 0 ORDER BY seq LIMIT 1`)
    .get(hash) as { seq: number; kind: string } | undefined
  const where = user === undefined ? '' : `event ${user.seq} (${user.kind}): `
  return { seq: user?.seq ?? null, problem: `${where}the bytes of blob ${hash} were changed` }
}

function checkStructure(db: Connection): Finding | null {
  const answer = db.pragma('integrity_check(1)', { simple: true })
  return answer === 'ok' ? null : { seq: null, problem: `the structure of history.db is damaged: ${String(answer)}` }
}
