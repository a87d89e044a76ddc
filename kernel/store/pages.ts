import { KernelError } from '../errors.ts'
import { lineage, type Stretch } from './lineage.ts'
import type { EventRow } from './messages.ts'
import { hasFailed } from './search/words.ts'
import type { Connection, Statement } from './sqlite.ts'

export interface PageView {
  agent: string | null
  asOf?: number
}

export interface PageOptions {
  after?: number
  before?: number
  kinds?: readonly string[]
  task?: string
  turn?: number
  revision?: string
  tool?: string
  limit?: number
  order?: 'asc' | 'desc'
}

/** What no index of the log has: looked for in the index of words, and in each row where that does not reach. */
export interface FindOptions extends Omit<PageOptions, 'order' | 'revision'> {
  step?: number
  actor?: string
  /** Events that say that something went wrong. */
  failed?: boolean
  /** Of model calls, nano-dollars, inclusive. */
  minCost?: number
  maxCost?: number
  /** Any of them. */
  revisions?: readonly string[]
  /** These events alone. */
  seqs?: readonly number[]
}

const mostSeqs = 5_000

export interface PageRows {
  rows: EventRow[]
  next: number | null
}

const defaultLimit = 100
const maxLimit = 1_000
/** A page ends early beyond this many characters of payload, so that a thousand large events do not fill the memory. */
const pageSize = 8_000_000
/** With more kinds than this, which are most of them, each row's kind is looked at instead of one index range for each kind. */
const kindRanges = 40

/** Of an event's row, in order. */
export const eventColumns =
  'seq, at, agent, task, run, generation, turn, step, actor, revision, kind, data, prev_hash, hash'

/** Reads by seq within an index range: as fast at any depth. */
export function createPages(db: Connection) {
  db.function('has_failed', { deterministic: true }, (kind, data) =>
    hasFailed(String(kind), typeof data === 'string' ? data : null) ? 1 : 0,
  )
  const statements = new Map<string, Statement>()
  function prepare(sql: string): Statement {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const made = db.prepare(sql).raw()
    if (statements.size > 200) statements.clear()
    statements.set(sql, made)
    return made
  }

  function page(view: PageView, options: PageOptions & FindOptions, match?: { sql: string; value: string }): PageRows {
    const limit = options.limit ?? defaultLimit
    if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit) {
      throw new KernelError('invalid', `limit must be 1 to ${maxLimit}, not ${limit}`)
    }
    const order = options.order ?? 'asc'
    if (options.kinds?.length === 0) return { rows: [], next: null }
    const stretches = stretchesOf(view)
    if (order === 'desc') stretches.reverse()
    const rows: EventRow[] = []
    let size = 0
    for (const stretch of stretches) {
      const { sql, values } = select(stretch, options, order, limit + 1 - rows.length, match)
      for (const row of prepare(sql).iterate(...values) as Iterable<EventRow>) {
        if (rows.length === limit || size > pageSize) return { rows, next: (rows.at(-1) as EventRow)[0] }
        rows.push(row)
        size += row[11]?.length ?? 0
      }
    }
    return { rows, next: null }
  }

  function stretchesOf(view: PageView): (Stretch | { agent: null; upTo: number })[] {
    const asOf = view.asOf ?? Number.MAX_SAFE_INTEGER
    return view.agent === null ? [{ agent: null, upTo: asOf }] : lineage(db, view.agent, asOf)
  }

  return { page, stretchesOf }
}

function select(
  stretch: { agent: string | null; upTo: number },
  options: PageOptions & FindOptions,
  order: 'asc' | 'desc',
  limit: number,
  match?: { sql: string; value: string },
): { sql: string; values: (string | number)[] } {
  const conditions = ['seq > ?', 'seq <= ?']
  const values: (string | number)[] = [options.after ?? 0, Math.min(stretch.upTo, (options.before ?? Infinity) - 1)]
  const add = (column: string, value: string | number | null | undefined) => {
    if (value === undefined || value === null) return
    conditions.push(`${column} = ?`)
    values.push(value)
  }
  add('agent', stretch.agent)
  add('task', options.task)
  add('turn', options.turn)
  add('revision', options.revision)
  add('tool', options.tool)
  add('step', options.step)
  add('actor', options.actor)
  const oneOf = (column: string, list: readonly (string | number)[] | undefined) => {
    if (list === undefined) return
    conditions.push(`${column} IN (SELECT value FROM json_each(?))`)
    values.push(JSON.stringify(list.slice(0, mostSeqs)))
  }
  oneOf('revision', options.revisions)
  oneOf('seq', options.seqs)
  if (options.failed === true) conditions.push('has_failed(kind, data)')
  if (options.minCost !== undefined || options.maxCost !== undefined) {
    conditions.push("kind = 'model.called'", 'cost_nano_usd >= ?', 'cost_nano_usd <= ?')
    values.push(options.minCost ?? 0, options.maxCost ?? Number.MAX_SAFE_INTEGER)
  }
  if (match !== undefined) {
    conditions.push(match.sql)
    values.push(match.value)
  }
  const kinds = options.kinds
  const byRange = kinds !== undefined && kinds.length <= kindRanges
  const index = indexFor(stretch.agent !== null, options, byRange)
  const range = (kind: string | null) =>
    `SELECT ${eventColumns} FROM events${index} WHERE ${[...conditions, ...(kind === null ? [] : ['kind = ?'])].join(' AND ')}
     ORDER BY seq ${order} LIMIT ${limit}`
  if (kinds === undefined) return { sql: range(null), values }
  if (!byRange) {
    conditions.push(`kind IN (${kinds.map(() => '?').join(', ')})`)
    return { sql: range(null), values: [...values, ...kinds] }
  }
  const ranges = kinds.map((kind) => `SELECT * FROM (${range(kind)})`)
  return {
    sql: `${ranges.join(' UNION ALL ')} ORDER BY seq ${order} LIMIT ${limit}`,
    values: kinds.flatMap((kind) => [...values, kind]),
  }
}

/** Named, because without statistics the planner may take the wider of two. */
function indexFor(hasAgent: boolean, options: PageOptions & FindOptions, byRange: boolean): string {
  // A few rows, each by its number.
  if (options.seqs !== undefined) return ' NOT INDEXED'
  if (options.tool !== undefined) return ` INDEXED BY events_${hasAgent ? 'agent_' : ''}tool`
  if (options.task !== undefined) return ` INDEXED BY events_task${byRange ? '_kind' : ''}`
  if (hasAgent) return ` INDEXED BY events_agent${byRange ? '_kind' : ''}`
  return byRange ? ' INDEXED BY events_kind' : ''
}
