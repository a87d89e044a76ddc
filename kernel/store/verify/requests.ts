import type { EventData } from '../../wire/events.ts'
import { requestHash } from '../chain.ts'
import { itemsOf } from '../requests.ts'
import type { Connection } from '../sqlite.ts'
import type { Finding } from './finding.ts'

/** Item lists kept at hand: a request mostly follows one of the last few of its task. */
const listsAtHand = 64

interface RequestRow {
  id: number
  agent: string
  task: string
  model: string
  parent: number | null
  kept: number
  items: number
}

/** Checks every stored request for itself, and those that a model was called with against what the event says. */
export function checkRequests(db: Connection, upTo: number): Finding | null {
  return checkForm(db) ?? checkCalls(db, upTo)
}

function checkForm(db: Connection): Finding | null {
  const next = db.prepare('SELECT * FROM requests WHERE id > ? ORDER BY id LIMIT 1000')
  const own = db.prepare(`SELECT count(*) AS count, min(position) AS first, max(position) AS last,
    count(CASE WHEN kind NOT IN ('instructions', 'tools', 'item') THEN 1 END) AS odd FROM request_items WHERE request = ?`)
  const parentItems = db.prepare('SELECT items FROM requests WHERE id = ?').pluck()
  for (let id = 0; ; ) {
    const rows = next.all(id) as RequestRow[]
    if (rows.length === 0) return null
    for (const row of rows) {
      id = row.id
      const bad = (what: string): Finding => ({ seq: null, problem: `request ${row.id}: ${what}`, of: 'log' })
      const count = row.items - row.kept
      const found = own.get(row.id) as { count: number; first: number | null; last: number | null; odd: number }
      const isWhole =
        found.odd === 0 &&
        found.count === count &&
        (count === 0 || (found.first === row.kept && found.last === row.items - 1))
      if (!isWhole) return bad('its items were changed')
      const inParent = row.parent === null ? 0 : (parentItems.get(row.parent) as number | undefined)
      if (inParent === undefined || row.kept > inParent || (row.parent ?? 0) >= row.id)
        return bad('its parent was changed')
    }
  }
}

function checkCalls(db: Connection, upTo: number): Finding | null {
  const next = db.prepare(`SELECT seq, agent, task, data FROM events INDEXED BY events_kind
    WHERE kind = 'model.called' AND seq > ? AND seq <= ? AND data IS NOT NULL ORDER BY seq LIMIT 500`)
  const find = db.prepare('SELECT * FROM requests WHERE id = ?')
  const lists = new Map<number, ReturnType<typeof itemsOf>>()
  for (let seq = 0; ; ) {
    const rows = next.all(seq, upTo) as { seq: number; agent: string | null; task: string | null; data: string }[]
    if (rows.length === 0) return null
    for (const row of rows) {
      seq = row.seq
      const data = JSON.parse(row.data) as EventData<'model.called'>
      const bad = (what: string): Finding => ({ seq, problem: `event ${seq} (model.called): ${what}`, of: 'log' })
      const request = find.get(data.request) as RequestRow | undefined
      // Without a hash it is of before 0002; request 0 is no stored one.
      if (request === undefined && data.requestHash === undefined) continue
      if (request === undefined) return bad(`its request ${data.request} is missing`)
      const isSame =
        // Of no agent, or no task: what the kernel itself has asked.
        request.agent === (row.agent ?? '') &&
        request.task === (row.task ?? '') &&
        request.model === data.model &&
        request.parent === data.parent &&
        request.kept === data.keptItems &&
        request.items === data.items
      if (!isSame) return bad(`its request ${data.request} is not the one that was sent`)
      if (data.requestHash === undefined) continue
      const items = listOf(db, request, lists)
      if (requestHash(items) !== data.requestHash) return bad(`the items of its request ${data.request} were changed`)
    }
  }
}

function listOf(db: Connection, request: RequestRow, lists: Map<number, ReturnType<typeof itemsOf>>) {
  const inherited = request.parent === null ? [] : lists.get(request.parent)
  const items =
    inherited === undefined
      ? itemsOf(db, request.id)
      : [...inherited.slice(0, request.kept), ...itemsOf(db, request.id, request.kept)]
  lists.set(request.id, items)
  for (const oldest of lists.keys()) {
    if (lists.size <= listsAtHand) break
    lists.delete(oldest)
  }
  return items
}
