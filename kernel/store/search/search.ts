import { existsSync } from 'node:fs'
import type { EventRow } from '../messages.ts'
import { type createPages, eventColumns, type FindOptions, type PageRows, type PageView } from '../pages.ts'
import { type Connection, openForReading } from '../sqlite.ts'
import { firstOf, indexFile, partEvents, partOf, wordTable } from './index-file.ts'
import { costStep, expressionOf, hasFailed, matches, placeWord } from './words.ts'

const defaultLimit = 100
/** With more kinds than this, kinds are looked at in what is found. */
const kindWords = 12

/** A page ends early beyond this many characters of payload. */
const pageSize = 8_000_000

/**
 * Searches newest first: by the index of words as far as that reaches, and in the log itself for what it does not have
 * yet. Both find the same; without an index all of the log is read.
 */
export function createSearch(db: Connection, dataDir: string, { page, stretchesOf }: ReturnType<typeof createPages>) {
  db.function('has_text', { deterministic: true }, (data, folded) =>
    typeof data === 'string' && matches(data, String(folded)) ? 1 : 0,
  )
  const event = db.prepare(`SELECT ${eventColumns}, tool, cost_nano_usd FROM events WHERE seq = ?`).raw()
  const lastSeq = db.prepare('SELECT max(seq) FROM events').pluck()
  let index: Connection | null = null

  function open(): Connection | null {
    if (index !== null) return index
    if (!existsSync(indexFile(dataDir))) return null
    index = openForReading(indexFile(dataDir))
    return index
  }

  /** @param text null: whatever the events say. */
  return (view: PageView, text: string | null, options: FindOptions): PageRows => {
    const folded = text?.toLowerCase() ?? null
    const match = folded === null ? undefined : { sql: 'has_text(data, ?)', value: folded }
    const scan = (range: FindOptions) => page(view, { ...options, ...range, order: 'desc' }, match)
    const expression = folded === null ? null : expressionOf(folded)
    if ((expression === null && placeWords(options).length === 0) || options.seqs !== undefined) return scan({})
    let upToOf: (part: number) => number
    let words: Connection
    try {
      const opened = open()
      if (opened === null) return scan({})
      words = opened
      const parts = words.prepare('SELECT part, up_to FROM parts').raw().all() as [number, number][]
      const known = new Map(parts)
      upToOf = (part) => known.get(part) ?? firstOf(part) - 1
    } catch {
      // It is being made, or made anew: the log has it all.
      index?.close()
      index = null
      return scan({})
    }
    return search(words, upToOf, expression, view, folded, options, scan)
  }

  function search(
    words: Connection,
    upToOf: (part: number) => number,
    expression: string | null,
    view: PageView,
    folded: string | null,
    options: FindOptions,
    scan: (range: FindOptions) => PageRows,
  ): PageRows {
    const limit = options.limit ?? defaultLimit
    const after = options.after ?? 0
    const last = Math.min(
      (options.before ?? Infinity) - 1,
      view.asOf ?? Infinity,
      (lastSeq.get() as number | null) ?? 0,
    )
    const isWanted = filter(view, folded, options)
    const place = places(view, options)
    const wanted = [...(expression === null ? [] : [`(${expression})`]), ...place].join(' AND ')
    const rows: EventRow[] = []
    let size = 0
    for (let part = partOf(Math.max(1, last)); part >= 0 && firstOf(part) + partEvents > after; part -= 1) {
      const end = Math.min(last, firstOf(part) + partEvents - 1)
      const upTo = Math.min(upToOf(part), end)
      if (upTo < end) {
        const tail = scan({ after: Math.max(upTo, after), before: end + 1, limit: limit - rows.length })
        rows.push(...tail.rows)
        if (tail.next !== null) return { rows, next: tail.next }
      }
      if (upTo < firstOf(part)) continue
      const table = wordTable(part)
      const found = words
        .prepare(`SELECT rowid FROM ${table} WHERE ${table} MATCH ? AND rowid > ? AND rowid <= ? ORDER BY rowid DESC`)
        .pluck()
      // The start of a common word is costly to look up: not where nothing is of the task.
      if (place.length > 0) {
        const any = words.prepare(`SELECT rowid FROM ${table} WHERE ${table} MATCH ? LIMIT 1`)
        if (any.get(place.join(' AND ')) === undefined) continue
      }
      for (const seq of found.iterate(wanted, after, upTo) as Iterable<number>) {
        const row = event.get(seq) as FoundRow | undefined
        if (row === undefined || !isWanted(row)) continue
        if (rows.length === limit || size > pageSize) return { rows, next: (rows.at(-1) as EventRow)[0] }
        rows.push(row.slice(0, 14) as unknown as EventRow)
        size += row[11]?.length ?? 0
      }
    }
    return { rows, next: null }
  }

  function places(view: PageView, options: FindOptions): string[] {
    const agents = stretchesOf(view).flatMap(({ agent }) => (agent === null ? [] : [agent]))
    return [...(agents.length === 0 ? [] : [anyOf('agent', agents)]), ...placeWords(options)]
  }

  function filter(view: PageView, folded: string | null, options: FindOptions) {
    const stretches = stretchesOf(view)
    const { task, turn, step, actor, revisions, tool, kinds, failed, minCost, maxCost } = options
    return (row: FoundRow): boolean => {
      const [seq, , agent, ofTask, , , ofTurn, ofStep, ofActor, ofRevision, kind, data] = row
      const cost = kind === 'model.called' ? row[15] : null
      return (
        (task === undefined || task === ofTask) &&
        (turn === undefined || turn === ofTurn) &&
        (step === undefined || step === ofStep) &&
        (actor === undefined || actor === ofActor) &&
        (revisions === undefined || (ofRevision !== null && revisions.includes(ofRevision))) &&
        (tool === undefined || tool === row[14]) &&
        (kinds === undefined || kinds.includes(kind)) &&
        (minCost === undefined || (cost !== null && cost >= minCost)) &&
        (maxCost === undefined || (cost !== null && cost <= maxCost)) &&
        (failed !== true || hasFailed(kind, data)) &&
        stretches.some((stretch) => seq <= stretch.upTo && (stretch.agent === null || stretch.agent === agent)) &&
        (folded === null || (data !== null && matches(data, folded)))
      )
    }
  }
}

/** By the index of words: one expression for each thing that is asked for. */
function placeWords(options: FindOptions): string[] {
  const { task, turn, step, actor, revisions, tool, kinds, failed, minCost, maxCost } = options
  const found: string[] = []
  if (task !== undefined && turn !== undefined && step !== undefined)
    found.push(anyOf('step', [`${task}/${turn}/${step}`]))
  else if (task !== undefined && turn !== undefined) found.push(anyOf('turn', [`${task}/${turn}`]))
  else if (task !== undefined) found.push(anyOf('task', [task]))
  if (actor !== undefined) found.push(anyOf('actor', [actor]))
  if (tool !== undefined) found.push(anyOf('tool', [tool]))
  if (failed === true) found.push(anyOf('failed', ['']))
  if (revisions !== undefined && revisions.length > 0)
    found.push(
      anyOf(
        'revision',
        revisions.map((revision) => revision.slice(0, 16)),
      ),
    )
  if (minCost !== undefined || maxCost !== undefined) {
    const [low, high] = [costStep(minCost ?? 0), costStep(maxCost ?? Number.MAX_SAFE_INTEGER)]
    found.push(
      anyOf(
        'cost',
        Array.from({ length: Math.max(1, high - low + 1) }, (_, step) => `${low + step}`),
      ),
    )
  }
  if (kinds !== undefined && kinds.length > 0 && kinds.length <= kindWords) found.push(anyOf('kind', kinds))
  return found
}

function anyOf(of: Parameters<typeof placeWord>[0], names: readonly string[]): string {
  return `(${names.map((name) => `"${placeWord(of, name)}"`).join(' OR ')})`
}

type FoundRow = [...EventRow, tool: string | null, cost: number | null]
