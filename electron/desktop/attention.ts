import type { Event } from '../../kernel/wire/events.ts'
import { type Note, noteOf, settledBy } from './notes.ts'

/** What the operator wants to be told outside of the window. */
export interface NotePreferences {
  decisions: boolean
  trouble: boolean
  finished: boolean
  /** Minutes after midnight, local time; null: at any hour. The badge stays. May go over midnight. */
  quiet: { from: number; to: number } | null
}

export const defaultPreferences: NotePreferences = { decisions: true, trouble: true, finished: false, quiet: null }

export interface Attention {
  show(note: Note): void
  withdraw(id: string): void
}

export interface AttentionOptions {
  events: AsyncIterable<readonly Event[]>
  attention: Attention
  preferences(): NotePreferences
  /** Somebody looks at the desk: it says all of this itself. */
  isWatched(): boolean
  now(): Date
  /** As `setTimeout`; returns its undoing. */
  after(ms: number, act: () => void): () => void
}

/** A rule or a flag decides at once: what it has decided by then is nobody's decision any more. */
const settleMs = 2_000
const remindMs = 30 * 60_000

/** Turns events into notes until they end: each decision once, and once more after half an hour; none while somebody looks. */
export async function followAttention(options: AttentionOptions): Promise<void> {
  const { attention, preferences, isWatched, now, after } = options
  const waiting = new Map<string, () => void>()
  const settle = (id: string): void => {
    waiting.get(id)?.()
    waiting.delete(id)
    attention.withdraw(id)
  }
  const show = (note: Note): void => {
    if (!isWatched() && isWanted(note.kind, preferences(), now())) attention.show(note)
  }
  const ask = (note: Note, ms: number): void => {
    const undo = after(ms, () => {
      show(note)
      if (ms !== remindMs) ask(note, remindMs)
    })
    waiting.set(note.id, undo)
  }
  try {
    for await (const batch of options.events)
      for (const event of batch) {
        const settled = settledBy(event)
        if (settled !== null) settle(settled)
        const note = noteOf(event)
        if (note === null) continue
        waiting.get(note.id)?.()
        if (note.kind === 'decision') ask(note, settleMs)
        else show(note)
      }
  } finally {
    for (const undo of waiting.values()) undo()
  }
}

function isWanted(kind: Note['kind'], preferences: NotePreferences, now: Date): boolean {
  const wanted = { decision: preferences.decisions, trouble: preferences.trouble, finished: preferences.finished }
  return wanted[kind] && !isQuiet(preferences.quiet, now)
}

function isQuiet(quiet: NotePreferences['quiet'], now: Date): boolean {
  if (quiet === null) return false
  const minute = now.getHours() * 60 + now.getMinutes()
  const { from, to } = quiet
  return from <= to ? minute >= from && minute < to : minute >= from || minute < to
}
