import type { WireLimits } from '../wire/executor.ts'

/**
 * Every deadline of a generation, ms. Tests shorten them; production uses the defaults. A start takes 3 s on a machine whose
 * cores are wanted by nine others each: a deadline that is missed blames the revision.
 */
export interface Timings {
  /** From the start of the box to the answer of `initialize`. */
  handshakeMs: number
  pingEveryMs: number
  /** Unanswered ticks until the process counts as hung. Ticks and not time, so that a stall of the kernel's own blames nobody. */
  pingMisses: number
  /** A turn without any mediated call in flight or finished for so long counts as hung. */
  progressMs: number
  /** A call in flight that declares no deadline keeps the turn from counting as hung for so long: a model may take half an hour. */
  callMs: number
  /** No call does so for longer, whatever it declares. */
  callCapMs: number
  /** Answers that must come at once: turn.cancel, drain. */
  answerMs: number
  /** After a cancel, until the process is killed. */
  cancelMs: number
  /** After `maxMs` of a turn, until it is cancelled. */
  overtimeMs: number
  /** For calls in flight to settle once they were cancelled. */
  settleMs: number
  /** A stream whose chunks nobody takes for so long is aborted. */
  streamStallMs: number
  /** Deltas are gathered for so long before a chunk is sent. */
  coalesceMs: number
  /** The whole of a boot check. */
  bootMs: number
  /** One turn of a replay, up to its model call. */
  replayMs: number
  /** The whole of a recorded turn, replayed. */
  tapeMs: number
}

export const defaultTimings: Timings = {
  handshakeMs: 10_000,
  pingEveryMs: 2_000,
  pingMisses: 5,
  progressMs: 60_000,
  callMs: 35 * 60_000,
  callCapMs: 65 * 60_000,
  answerMs: 2_000,
  cancelMs: 2_000,
  overtimeMs: 60_000,
  settleMs: 5_000,
  streamStallMs: 30_000,
  coalesceMs: 8,
  bootMs: 20_000,
  replayMs: 30_000,
  tapeMs: 90_000,
}

export const wireVersion = 1

export const wireLimits: WireLimits = {
  frameBytes: 1024 * 1024,
  depth: 64,
  inFlight: 64,
  chunkBytes: 64 * 1024,
  streamCredits: 32,
}

/** What the wire leaves to the kernel's judgement. */
export const channelLimits = {
  /** Protocol errors within `strikeWindowMs` until the process counts as crashed. */
  strikes: 50,
  strikeWindowMs: 60_000,
  /** Above it the kernel reads on only in the next 100 ms. */
  framesPer100Ms: 2_000,
  /** Unsent bytes above which the executor is not read: who does not listen is not listened to. */
  outboxBytes: 1024 * 1024,
  /** Text of protocol errors and of stderr kept for the developer. */
  keptText: 16 * 1024,
  /** An answer leaves room in its frame. */
  answerBytes: 900_000,
  /** Commands at once: each may hold two outputs of 8 MiB. */
  commands: 8,
} as const
