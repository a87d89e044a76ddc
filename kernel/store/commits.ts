import { type ErrorCode, KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { genesis, link, sha256 } from './chain.ts'
import { extracted } from './extracted.ts'
import type { Appended, DraftRow, Head, Outcome, WriteOp } from './messages.ts'
import { createRequests } from './requests.ts'
import { createRollups } from './rollups.ts'
import { type Connection, explain, type Fault, faultOf, sqliteCode } from './sqlite.ts'

interface Op {
  id: number
  op: WriteOp
}

/**
 * Applies operations in groups: one commit for all of a group, each operation whole or not at all. One that is refused
 * leaves no trace and does not disturb the others; where the commit itself fails, all of the group fail and nothing is added.
 */
export function createCommits(db: Connection) {
  const rollups = createRollups(db)
  const requests = createRequests(db)
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const savepoint = db.prepare('SAVEPOINT op')
  const release = db.prepare('RELEASE op')
  const undo = db.prepare('ROLLBACK TO op')
  const readHead = db.prepare('SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1')
  const insert =
    db.prepare(`INSERT INTO events (seq, at, agent, task, run, generation, turn, step, actor, revision, kind,
    payload_hash, prev_hash, hash, tool, uncached, cache_read, cache_write, output, reasoning, cost_nano_usd, data)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const insertBlob = db.prepare('INSERT INTO blobs (hash, bytes) VALUES (?, ?)')
  const insertGrant = db.prepare('INSERT INTO grants (agent, hash, seq) VALUES (?, ?, ?)')
  const insertArchived = db.prepare(
    'INSERT INTO archived_blobs (hash, file, offset, size_bytes, by) VALUES (?, ?, ?, ?, ?)',
  )
  const emptyBlob = db.prepare("UPDATE blobs SET bytes = x'' WHERE hash = ?")
  const hasBlob = db.prepare('SELECT 1 FROM blobs WHERE hash = ?')

  let head = (readHead.get() as Head | undefined) ?? null

  function append(op: Extract<WriteOp, { op: 'append' }>): Appended {
    if (op.expect !== null) {
      const active = rollups.active(op.expect.agent)
      if (active !== op.expect.active) {
        throw new KernelError('conflict', `the active revision of ${op.expect.agent} has changed: look again`, {
          details: { active },
        })
      }
    }
    const prevHash = head?.hash ?? genesis
    const firstSeq = (head?.seq ?? 0) + 1
    const hashes = op.events.map((row) => {
      appendOne(row)
      return (head as Head).hash
    })
    return { firstSeq, prevHash, hashes }
  }

  function appendOne(row: DraftRow): void {
    const seq = (head?.seq ?? 0) + 1
    const prevHash = head?.hash ?? genesis
    const data = row[10]
    const header = row.slice(0, 10) as (string | number | null)[]
    const payloadHash = sha256(data)
    const hash = link(seq, header, payloadHash, prevHash)
    const parsed: unknown = rollups.needsData(row[9]) ? JSON.parse(data) : null
    insert.run(seq, ...header, payloadHash, prevHash, hash, ...extracted(row[9], parsed), data)
    rollups.add(seq, row, parsed)
    head = { seq, hash }
  }

  function putBlob(hash: string, bytes: Uint8Array): string {
    if (sha256(bytes) !== hash) throw new KernelError('internal', 'a blob changed on its way to the store')
    insertBlob.run(hash, bytes)
    return hash
  }

  function grant(agent: string, hash: string): void {
    if (hasBlob.get(hash) === undefined) throw new KernelError('not-found', `no blob ${hash}`)
    insertGrant.run(agent, hash, head?.seq ?? 0)
  }

  /** The event, and with it the bytes of every blob that the file has go out of the database. */
  function archive({ event, file, blobs }: Extract<WriteOp, { op: 'archive' }>): Appended {
    const appended = append({ op: 'append', expect: null, events: [event] })
    for (const { hash, offset, sizeBytes } of blobs) {
      insertArchived.run(hash, file, offset, sizeBytes, appended.firstSeq)
      emptyBlob.run(hash)
    }
    return appended
  }

  function apply(op: WriteOp): unknown {
    switch (op.op) {
      case 'append':
        return append(op)
      case 'blob':
        return putBlob(op.hash, op.bytes)
      case 'grant':
        return grant(op.agent, op.hash)
      case 'request':
        return requests.put(op, head?.seq ?? 0)
      case 'archive':
        return archive(op)
    }
  }

  /** One operation within the group's transaction, undone alone where it is refused; throws only what ends the whole group. */
  function attempt({ id, op }: Op): Outcome {
    const before = head
    savepoint.run()
    try {
      const value = apply(op)
      rollups.flush()
      release.run()
      return { id, ok: true, value }
    } catch (error) {
      if (!isOwnFault(error)) throw error
      undo.run()
      release.run()
      head = before
      forget()
      return { id, ok: false, ...failure(error) }
    }
  }

  /**
   * All of the group without savepoints, which would keep a copy of every page that they touch. As soon as one is refused,
   * everything is undone and null returned: then each has to be attempted by itself.
   */
  function attemptAll(group: readonly Op[]): Outcome[] | null {
    const before = head
    begin.run()
    try {
      const outcomes = group.map(({ id, op }): Outcome => ({ id, ok: true, value: apply(op) }))
      rollups.flush()
      return outcomes
    } catch (error) {
      if (!isOwnFault(error)) throw error
      db.exec('ROLLBACK')
      head = before
      forget()
      return null
    }
  }

  function attemptEach(group: readonly Op[]): Outcome[] {
    begin.run()
    return group.map(attempt)
  }

  function forget(): void {
    rollups.reset()
    requests.reset()
  }

  return {
    head: (): Head | null => head,

    /** `fault`: why none of the group could be written, where that is not their own. */
    run(group: readonly Op[]): { outcomes: Outcome[]; fault: Fault | null } {
      const before = head
      try {
        const outcomes = attemptAll(group) ?? attemptEach(group)
        failpoint('append:before-commit')
        commit.run()
        failpoint('append:after-commit')
        return { outcomes, fault: null }
      } catch (error) {
        if (db.inTransaction) db.exec('ROLLBACK')
        head = before
        forget()
        const { code, message } = explain(error, db.name)
        const outcomes = group.map(
          ({ id }): Outcome => ({ id, ok: false, code, message: `nothing was added: ${message}` }),
        )
        return { outcomes, fault: faultOf(error) }
      }
    },
  }
}

/** Whether only the operation itself is at fault, so that its neighbours may go on. */
function isOwnFault(error: unknown): boolean {
  const code = sqliteCode(error)
  return code === null || code.startsWith('SQLITE_CONSTRAINT') || code === 'SQLITE_TOOBIG'
}

function failure(error: unknown): { code: ErrorCode; message: string; details?: Record<string, unknown> } {
  if (error instanceof KernelError) {
    return { code: error.code, message: error.message, ...(error.details ? { details: error.details } : {}) }
  }
  return { code: 'invalid', message: `refused by the store: ${error instanceof Error ? error.message : String(error)}` }
}
