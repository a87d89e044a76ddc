// What passes between the store and its threads. Strings and numbers only where it is many: they clone fast.
import type { ErrorCode } from '../errors.ts'
import type { Fault } from './sqlite.ts'

export interface Head {
  seq: number
  hash: string
}

/** at, agent, task, run, generation, turn, step, actor, revision, kind; then the payload as JSON. */
export type DraftRow = readonly [
  at: number,
  agent: string | null,
  task: string | null,
  run: string | null,
  generation: number | null,
  turn: number | null,
  step: number | null,
  actor: string,
  revision: string | null,
  kind: string,
  data: string,
]

/** `json` is null where the writer has the item already. */
export type RequestItem = readonly [kind: string, hash: string, json: string | null]

export type WriteOp =
  | { op: 'append'; expect: { agent: string; active: string | null } | null; events: readonly DraftRow[] }
  | { op: 'blob'; hash: string; bytes: Uint8Array }
  | { op: 'grant'; agent: string; hash: string }
  | { op: 'request'; agent: string; task: string; model: string; items: readonly RequestItem[] }
  /** Blobs that the file of DATA/archive has, whole and on disk. */
  | { op: 'archive'; event: DraftRow; file: string; blobs: { hash: string; offset: number; sizeBytes: number }[] }

export interface Appended {
  firstSeq: number
  prevHash: string
  hashes: string[]
}

export interface PlacedRequest {
  id: number
  parent: number | null
  kept: number
  difference: { index: number; kind: string; before: string | null; after: string | null } | null
}

export type Outcome =
  | { id: number; ok: true; value: unknown }
  | { id: number; ok: false; code: ErrorCode; message: string; details?: Record<string, unknown> }

export type ToWorker =
  | { type: 'write'; ops: { id: number; op: WriteOp }[] }
  | { type: 'read'; id: number; query: string; args: unknown[] }
  /** Nothing is written from here on; the text says why. */
  | { type: 'quarantine'; problem: string }
  /** There is more to do. */
  | { type: 'wake' }
  | { type: 'close' }

export type FromWorker =
  | { type: 'ready'; head: Head | null; problem: string | null }
  | { type: 'refused'; code: ErrorCode; message: string }
  | { type: 'settled'; outcomes: Outcome[]; head: Head | null }
  /** What keeps the writer from writing. After `disk-full`, `isWritten`: the room that was set aside let it go on once more. */
  | { type: 'fault'; fault: Fault; message: string; isWritten: boolean }
  | { type: 'closed' }

export interface WorkerSetup {
  role: 'writer' | 'reader' | 'indexer' | 'backup'
  dataDir: string
  version: string
  /** Another place of the database than DATA/history.db, for a reader. */
  file?: string
}

/** Values of the event's columns, for readers: seq, header, payload (null: tombstoned), links. */
export type EventRow = readonly [
  seq: number,
  at: number,
  agent: string | null,
  task: string | null,
  run: string | null,
  generation: number | null,
  turn: number | null,
  step: number | null,
  actor: string,
  revision: string | null,
  kind: string,
  data: string | null,
  prevHash: string,
  hash: string,
]
