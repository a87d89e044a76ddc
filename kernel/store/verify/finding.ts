import type { EventRow } from '../messages.ts'
import { isPassing } from '../sqlite.ts'

/** Something that is not as it was written. */
export interface Finding {
  /** The event where it shows; null: it cannot be told, or is no event's. */
  seq: number | null
  problem: string
  /**
   * `log`: the record itself, so nothing is added to it any more. `blob`: some stored bytes, which alone cannot be read.
   * `derived`: sums and indexes that follow from the record.
   */
  of: 'log' | 'blob' | 'derived'
}

export interface Verification {
  ok: boolean
  /** Events checked. */
  events: number
  head: { seq: number; hash: string } | null
  firstBadSeq: number | null
  problem: string | null
  of: Finding['of'] | null
  /** What could not be checked, and why; no finding. */
  notes: string[]
}

export const chainColumns =
  'seq, at, agent, task, run, generation, turn, step, actor, revision, kind, data, prev_hash, hash, payload_hash'
export type ChainRow = readonly [...EventRow, payloadHash: string]

export function report(
  checked: { events: number; head: Verification['head']; notes?: string[] },
  findings: readonly (Finding | null)[],
): Verification {
  const found = findings.filter((finding) => finding !== null)
  // Told is what names its event, the earliest; else the log before what follows from it.
  const rank = { log: 0, blob: 1, derived: 2 } as const
  const gravest = found.toSorted((a, b) => rank[a.of] - rank[b.of])
  const [told] = gravest.toSorted((a, b) => (a.seq ?? Infinity) - (b.seq ?? Infinity))
  return {
    ok: told === undefined,
    events: checked.events,
    head: checked.head,
    firstBadSeq: told?.seq ?? null,
    problem: told?.problem ?? null,
    of: gravest[0]?.of ?? null,
    notes: checked.notes ?? [],
  }
}

/** What SQLite says where it cannot go on reading. @throws the error itself where it is a passing one. */
export function unreadable(error: unknown): Finding {
  if (isPassing(error)) throw error
  const message = error instanceof Error ? error.message : String(error)
  return { seq: null, problem: `history.db cannot be read: ${message}; restore a backup`, of: 'log' }
}
