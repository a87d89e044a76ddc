import { extracted } from '../extracted.ts'
import type { DraftRow } from '../messages.ts'
import { migrate } from '../migrations.ts'
import { createRollups } from '../rollups.ts'
import { type Connection, openInMemory } from '../sqlite.ts'
import type { Finding } from './finding.ts'
import { createReferenceCheck, referringKinds } from './references.ts'

/** What the writer derives from the log, and the columns that tell a row of each. */
const derivedTables: Readonly<Record<string, readonly string[]>> = {
  forks: ['agent'],
  tombstones: ['seq'],
  artifacts: ['agent', 'name', 'version'],
  activations: ['agent', 'seq'],
  progress: ['task'],
  step_rollup: ['task', 'turn', 'step'],
  activation_rollup: ['task', 'activation'],
  model_rollup: ['agent', 'task', 'model'],
  minute_rollup: ['minute', 'agent', 'task'],
  tool_rollup: ['agent', 'task', 'name'],
  tool_operations: ['agent', 'task', 'name', 'operation'],
  repeated_calls: ['task', 'name', 'arguments_hash'],
  cache_breaks: ['task', 'seq'],
  spend_slots: ['slot', 'agent', 'task', 'activation', 'revision', 'purpose', 'model'],
  step_costs: ['task', 'turn', 'step'],
  tool_slots: ['slot', 'agent', 'task', 'purpose', 'name'],
  repeats: ['task', 'name', 'arguments_hash', 'turn', 'step'],
  troubled_calls: ['seq'],
}

/** Events between two writings of what they add up to. */
const flushEvery = 2_000

const columns = `seq, at, agent, task, run, generation, turn, step, actor, revision, kind, data,
  tool, uncached, cache_read, cache_write, output, reasoning, cost_nano_usd`
type LogRow = readonly [seq: number, ...header: DraftRow, ...extracted: (string | number | null)[]]

/**
 * Derives everything that follows from the log once more, by the writer's own code, and compares: the columns that
 * repeat parts of a payload, the blobs that payloads name, and every row of every derived table. Tasks with a payload
 * that was removed cannot be derived again and are left out. One snapshot, so that writing goes on meanwhile.
 */
export function checkDerived(db: Connection): Finding | null {
  const again = openInMemory()
  try {
    migrate(again, '')
    again.pragma('foreign_keys = OFF')
    return db.transaction(() => derive(db, again, new Set()))()
  } finally {
    again.close()
  }
}

function derive(db: Connection, again: Connection, unknowable: Set<string>): Finding | null {
  const rollups = createRollups(again, { isReplay: true })
  const references = createReferenceCheck(db)
  again.exec('BEGIN')
  const log = db.prepare(`SELECT ${columns} FROM events ORDER BY seq`).raw()
  for (const row of log.iterate() as Iterable<LogRow>) {
    const [seq, ...values] = row
    const draft = values.slice(0, 11) as unknown as DraftRow
    const [, , task, , , , , , , kind, data] = draft as readonly [...DraftRow]
    const isRead = rollups.needsData(kind) || referringKinds.has(kind)
    if (isRead && (data as string | null) === null) {
      unknowable.add(task ?? '')
      continue
    }
    const parsed: unknown = isRead ? JSON.parse(data) : null
    const missing = isRead ? references(seq, kind, parsed) : null
    if (missing !== null) return missing
    if (!isSame(values.slice(11), extracted(kind, parsed))) {
      return { seq, problem: `event ${seq} (${kind}): a column beside its payload was changed`, of: 'derived' }
    }
    rollups.add(seq, draft, parsed)
    if (seq % flushEvery === 0) rollups.flush()
  }
  rollups.flush()
  for (const [table, key] of Object.entries(derivedTables)) {
    const finding = compare(db, again, table, key, unknowable)
    if (finding !== null) return finding
  }
  return null
}

function compare(
  db: Connection,
  again: Connection,
  table: string,
  key: readonly string[],
  unknowable: ReadonlySet<string>,
): Finding | null {
  const sql = `SELECT * FROM ${table} ORDER BY ${key.join(', ')}`
  const rowsOf = (of: Connection) => of.prepare(sql).iterate() as IterableIterator<Record<string, unknown>>
  const [stored, derived] = [rowsOf(db), rowsOf(again)]
  try {
    for (;;) {
      const [a, b] = [nextOf(stored, unknowable), nextOf(derived, unknowable)]
      if (a === null && b === null) return null
      if (a !== null && b !== null && isSame(Object.values(a), Object.values(b))) continue
      const row = b ?? (a as Record<string, unknown>)
      const seq = typeof row.seq === 'number' ? row.seq : null
      const which = key.map((name) => `${name} ${String(row[name])}`).join(', ')
      return { seq, problem: `${table} (${which}) is not what the events add up to`, of: 'derived' }
    }
  } finally {
    stored.return?.()
    derived.return?.()
  }
}

function nextOf(rows: Iterator<Record<string, unknown>>, unknowable: ReadonlySet<string>) {
  for (;;) {
    const { done, value } = rows.next()
    if (done) return null
    if (value.task === undefined || !unknowable.has(value.task as string)) return value
  }
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => Object.is(value, b[index]))
}
