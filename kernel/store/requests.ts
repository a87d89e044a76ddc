import { KernelError } from '../errors.ts'
import type { PlacedRequest, RequestItem, WriteOp } from './messages.ts'
import type { Connection } from './sqlite.ts'

/** Earlier requests of a task that a new one is compared with. */
const candidates = 8
/** Tasks whose latest requests are kept at hand. */
const tasksAtHand = 32

interface Known {
  id: number
  model: string
  items: { kind: string; hash: string }[]
}

/** Every item of a request from `from` on, in order: the kept part of its parents, then its own. */
export function itemsOf(db: Connection, id: number, from = 0): { kind: string; hash: string }[] {
  const find = db.prepare('SELECT parent, kept, items FROM requests WHERE id = ?')
  const own = db.prepare(
    'SELECT kind, hash FROM request_items WHERE request = ? AND position < ? ORDER BY position DESC',
  )
  const reversed: { kind: string; hash: string }[] = []
  let next: number | null = id
  let upTo = Number.MAX_SAFE_INTEGER
  while (next !== null && upTo > from) {
    const row = find.get(next) as { parent: number | null; kept: number; items: number } | undefined
    if (row === undefined) throw new KernelError('not-found', `no request ${next}`)
    for (const item of own.iterate(next, upTo) as Iterable<{ kind: string; hash: string }>) reversed.push(item)
    upTo = Math.min(upTo, row.kept)
    next = row.parent
  }
  return reversed.reverse()
}

/** Places each request behind the earlier one that it shares most with, and stores only what is new in it. */
export function createRequests(db: Connection) {
  const latest = db.prepare('SELECT id, model FROM requests WHERE task = ? ORDER BY id DESC LIMIT ?')
  const insert = db.prepare('INSERT INTO requests (agent, task, model, parent, kept, items) VALUES (?, ?, ?, ?, ?, ?)')
  const insertItem = db.prepare('INSERT INTO request_items (request, position, kind, hash) VALUES (?, ?, ?, ?)')
  const insertBlob = db.prepare('INSERT INTO blobs (hash, bytes) VALUES (?, ?)')
  const insertGrant = db.prepare('INSERT INTO grants (agent, hash, seq) VALUES (?, ?, ?)')
  const atHand = new Map<string, Known[]>()

  /** Newest first. */
  function knownOf(task: string): Known[] {
    const known =
      atHand.get(task) ??
      (latest.all(task, candidates) as { id: number; model: string }[]).map((row) => ({
        ...row,
        items: itemsOf(db, row.id),
      }))
    atHand.delete(task)
    atHand.set(task, known)
    for (const oldest of atHand.keys()) {
      if (atHand.size <= tasksAtHand) break
      atHand.delete(oldest)
    }
    return known
  }

  return {
    put(op: Extract<WriteOp, { op: 'request' }>, seq: number): PlacedRequest {
      const known = knownOf(op.task)
      const { parent, kept } = closest(known, op.model, op.items)
      const { lastInsertRowid } = insert.run(op.agent, op.task, op.model, parent?.id ?? null, kept, op.items.length)
      const id = Number(lastInsertRowid)
      for (let position = kept; position < op.items.length; position += 1) {
        const [kind, hash, json] = op.items[position] as RequestItem
        if (json !== null) insertBlob.run(hash, Buffer.from(json))
        insertItem.run(id, position, kind, hash)
        insertGrant.run(op.agent, hash, seq)
      }
      known.unshift({ id, model: op.model, items: op.items.map(([kind, hash]) => ({ kind, hash })) })
      known.splice(candidates)
      return { id, parent: parent?.id ?? null, kept, difference: differenceTo(parent, kept, op) }
    },
    reset(): void {
      atHand.clear()
    },
  }
}

/** The longest common prefix wins; then the same model; then the latest. */
function closest(
  known: readonly Known[],
  model: string,
  items: readonly RequestItem[],
): { parent: Known | null; kept: number } {
  let best: { parent: Known | null; kept: number } = { parent: null, kept: -1 }
  for (const candidate of known) {
    const kept = commonPrefix(candidate.items, items)
    const isCloser =
      kept > best.kept || (kept === best.kept && candidate.model === model && best.parent?.model !== model)
    if (isCloser) best = { parent: candidate, kept }
  }
  return { parent: best.parent, kept: Math.max(0, best.kept) }
}

function commonPrefix(before: Known['items'], after: readonly RequestItem[]): number {
  const end = Math.min(before.length, after.length)
  for (let index = 0; index < end; index += 1) {
    if (before[index]?.hash !== after[index]?.[1] || before[index]?.kind !== after[index]?.[0]) return index
  }
  return end
}

function differenceTo(
  parent: Known | null,
  kept: number,
  request: Extract<WriteOp, { op: 'request' }>,
): PlacedRequest['difference'] {
  if (parent === null) return null
  if (parent.model !== request.model) return { index: 0, kind: 'model', before: null, after: null }
  const before = parent.items[kept]
  if (before === undefined) return null
  const after = request.items[kept]
  return { index: kept, kind: after?.[0] ?? before.kind, before: before.hash, after: after?.[1] ?? null }
}
