import { existsSync } from 'node:fs'
import type { EventRow } from '../messages.ts'
import { type createPages, eventColumns, type PageOptions, type PageRows, type PageView } from '../pages.ts'
import { type Connection, openForReading } from '../sqlite.ts'
import { firstOf, indexFile, partEvents, partOf, wordTable } from './index-file.ts'
import { expressionOf, matches, placeWord } from './words.ts'

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
  const event = db.prepare(`SELECT ${eventColumns}, tool FROM events WHERE seq = ?`).raw()
  const lastSeq = db.prepare('SELECT max(seq) FROM events').pluck()
  let index: Connection | null = null

  function open(): Connection | null {
    if (index !== null) return index
    if (!existsSync(indexFile(dataDir))) return null
    index = openForReading(indexFile(dataDir))
    return index
  }

  return (view: PageView, text: string, options: Omit<PageOptions, 'order'>): PageRows => {
    const folded = text.toLowerCase()
    const scan = (range: PageOptions) =>
      page(view, { ...options, ...range, order: 'desc' }, { sql: 'has_text(data, ?)', value: folded })
    const expression = expressionOf(folded)
    if (expression === null) return scan({})
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
    expression: string,
    view: PageView,
    folded: string,
    options: Omit<PageOptions, 'order'>,
    scan: (range: PageOptions) => PageRows,
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
    const wanted = [`(${expression})`, ...place].join(' AND ')
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
        const row = event.get(seq) as [...EventRow, tool: string | null] | undefined
        if (row === undefined || !isWanted(row)) continue
        if (rows.length === limit || size > pageSize) return { rows, next: (rows.at(-1) as EventRow)[0] }
        rows.push(row.slice(0, 14) as unknown as EventRow)
        size += row[11]?.length ?? 0
      }
    }
    return { rows, next: null }
  }

  function places(view: PageView, { task, kinds }: Omit<PageOptions, 'order'>): string[] {
    const any = (of: Parameters<typeof placeWord>[0], names: readonly string[]) =>
      `(${names.map((name) => `"${placeWord(of, name)}"`).join(' OR ')})`
    const agents = stretchesOf(view).flatMap(({ agent }) => (agent === null ? [] : [agent]))
    return [
      agents.length === 0 ? '' : any('agent', agents),
      task === undefined ? '' : any('task', [task]),
      kinds === undefined || kinds.length === 0 || kinds.length > kindWords ? '' : any('kind', kinds),
    ].filter((part) => part !== '')
  }

  function filter(view: PageView, folded: string, options: Omit<PageOptions, 'order'>) {
    const stretches = stretchesOf(view)
    const { task, turn, revision, tool, kinds } = options
    return (row: readonly [...EventRow, tool: string | null]): boolean => {
      const [seq, , agent, ofTask, , , ofTurn, , , ofRevision, kind, data] = row
      return (
        data !== null &&
        (task === undefined || task === ofTask) &&
        (turn === undefined || turn === ofTurn) &&
        (revision === undefined || revision === ofRevision) &&
        (tool === undefined || tool === row[14]) &&
        (kinds === undefined || kinds.includes(kind)) &&
        stretches.some((stretch) => seq <= stretch.upTo && (stretch.agent === null || stretch.agent === agent)) &&
        matches(data, folded)
      )
    }
  }
}
