import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import type { FromWorker, ToWorker, WorkerSetup } from '../messages.ts'
import { createPart, firstOf, openIndex, partEvents, partOf, removeIndex, wordTable } from '../search/index-file.ts'
import { type Placed, placesOf, searchable, wordsOf } from '../search/words.ts'
import { type Connection, faultOf, openForReading } from '../sqlite.ts'

/** Events in one commit of the index. */
const batch = 2_000

/** The thread that keeps the index of words behind the log. It never delays an append, and its failure loses nothing. */
export function index(port: MessagePort, { dataDir }: WorkerSetup): void {
  const send = (message: FromWorker) => port.postMessage(message)
  let log: Connection | null = null
  let words: Connection | null = null
  let isWorking = false
  let isClosed = false

  function work(): void {
    if (isClosed) return
    try {
      log ??= openForReading(join(dataDir, 'history.db'))
      words ??= openIndex(dataDir, log)
      isWorking = indexBatch(log, words)
    } catch (error) {
      // A search reads the log where the index does not reach; at the next wake it is tried again.
      isWorking = false
      words?.close()
      words = null
      if (faultOf(error) === 'damaged') removeIndex(dataDir)
      process.emitWarning(`the search index fell behind: ${(error as Error).message}`)
    }
    // Messages are heard between batches.
    if (isWorking) setImmediate(work)
  }

  port.on('message', (message: ToWorker) => {
    if (message.type === 'wake' && !isWorking) work()
    if (message.type !== 'close') return
    isClosed = true
    words?.close()
    log?.close()
    send({ type: 'closed' })
    port.close()
  })
  send({ type: 'ready', head: null, problem: null })
}

/** One commit. Whether there is more to do. */
export function indexBatch(log: Connection, words: Connection): boolean {
  const done = words.transaction(() => addBatch(log, words)).immediate()
  // What was forgotten is not left in the write-ahead log either.
  if (done.forgot) words.pragma('wal_checkpoint(TRUNCATE)')
  return done.more
}

function addBatch(log: Connection, words: Connection): { more: boolean; forgot: boolean } {
  const parts = words.prepare('SELECT part, up_to AS upTo FROM parts').all() as { part: number; upTo: number }[]
  const head = (log.prepare('SELECT max(seq) FROM events').pluck().get() as number | null) ?? 0
  const known = new Map(parts.map(({ part, upTo }) => [part, upTo]))
  // The newest first: that is what is searched first.
  for (let part = partOf(Math.max(1, head)); part >= 0; part -= 1) {
    const from = known.get(part) ?? firstOf(part) - 1
    const last = Math.min(head, firstOf(part) + partEvents - 1)
    if (from < last) return { more: true, forgot: add(log, words, part, from, last) }
  }
  return { more: false, forgot: false }
}

/** Whether something was forgotten. */
function add(log: Connection, words: Connection, part: number, after: number, last: number): boolean {
  const rows = log
    .prepare(`SELECT seq, hash, agent, task, turn, step, actor, revision, kind, tool, cost_nano_usd AS cost, data FROM events
      WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`)
    .all(after, last, batch) as LogRow[]
  createPart(words, part)
  const insert = words.prepare(`INSERT INTO ${wordTable(part)} (rowid, words) VALUES (?, ?)`)
  for (const row of rows)
    insert.run(row.seq, `${placesOf(row)} ${row.data === null ? '' : wordsOf(searchable(row.data))}`)
  const end = rows.at(-1)
  if (end === undefined) return false
  words
    .prepare(`INSERT INTO parts (part, up_to, hash) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET up_to = excluded.up_to, hash = excluded.hash`)
    .run(part, end.seq, end.hash)
  return rows.filter((row) => row.kind === 'payload.tombstoned' && forget(words, row)).length > 0
}

interface LogRow extends Placed {
  seq: number
  hash: string
}

/** What was removed from the log must not be left in words: its table goes, and is built again, once. */
function forget(words: Connection, { seq: by, data }: LogRow): boolean {
  const { seq } = JSON.parse(data ?? '{}') as { seq?: number }
  if (seq === undefined) return false
  if (words.prepare('INSERT OR IGNORE INTO forgotten (by) VALUES (?)').run(by).changes === 0) return false
  const part = partOf(seq)
  words.exec(`DROP TABLE IF EXISTS ${wordTable(part)}`)
  words.prepare('DELETE FROM parts WHERE part = ?').run(part)
  return true
}
