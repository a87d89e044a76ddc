import type { EventRow } from '../../kernel/wire/operator.ts'
import { type EventLine, type Group, lineOf } from './event-line.ts'
import { firstLine } from './inert.ts'

export interface FeedRow {
  /** The first event of the row: its key. */
  seq: number
  at: number
  step: number | null
  line: EventLine
  /** All events that the row stands for, oldest first: a tool call with its executions and its end. */
  events: EventRow[]
}

export type FeedFilter = 'all' | 'errors' | Group

/** Kinds that say nothing which another row does not say. */
const quiet = new Set(['credential.used', 'turn.started', 'revision.authorised'])

/** Events as rows: a tool's call, what it ran in the sandbox and its result are one row, at the place of the call. */
export function rowsOf(events: readonly EventRow[]): FeedRow[] {
  const rows: FeedRow[] = []
  const calls = new Map<string, FeedRow>()
  for (const event of events) {
    if (quiet.has(event.kind)) continue
    if (event.kind === 'model.attempted' && event.data.status === 'completed') continue
    const call = typeof event.data.call === 'string' ? calls.get(event.data.call) : undefined
    if (call && (event.kind === 'tool.finished' || event.kind === 'sandbox.executed')) {
      call.events.push(event)
      if (event.kind === 'tool.finished') call.line = finished(call, event)
      continue
    }
    const row: FeedRow = { seq: event.seq, at: event.at, step: event.step, line: lineOf(event), events: [event] }
    if (event.kind === 'tool.called' && typeof event.data.call === 'string') {
      row.line.figures = ['running']
      calls.set(event.data.call, row)
    }
    rows.push(row)
  }
  return rows
}

export function matches(row: FeedRow, filter: FeedFilter): boolean {
  if (filter === 'all') return true
  return filter === 'errors' ? row.line.isError === true : row.line.group === filter
}

/** `move_to {"x":31} → ok: moved`: the call's arguments, then how it ended. */
function finished(row: FeedRow, end: EventRow): EventLine {
  const line = lineOf(end)
  const asked = row.events[0] ? firstLine(String(row.events[0].data.arguments ?? ''), 120) : ''
  return { ...line, text: [asked, line.text].filter(Boolean).join(' → ') }
}
