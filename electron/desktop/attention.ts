import type { Event } from '../../kernel/wire/events.ts'
import type { Preferences } from '../../kernel/wire/operator-settings.ts'
import { type Note, noteOf, settledBy } from './notes.ts'

/** What the operator wants to be told outside of the window, and when. The badge is always kept. */
export type NotePreferences = Pick<Preferences, 'notify' | 'sound' | 'quiet'>

export interface Attention {
  show(note: Note, options: { silent: boolean }): void
  withdraw(id: string): void
}

export interface AttentionOptions {
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

/** Turns events into notes: each decision once, and once more after half an hour; none while somebody looks. */
export function attend({ attention, preferences, isWatched, now, after }: AttentionOptions): {
  take(event: Event): void
  tell(note: Note): void
  close(): void
} {
  const waiting = new Map<string, () => void>()
  const forget = (id: string): void => {
    waiting.get(id)?.()
    waiting.delete(id)
  }
  const tell = (note: Note): void => {
    const { notify, sound, quiet } = preferences()
    if (isWatched() || !notify[note.kind] || isQuiet(quiet, now())) return
    attention.show(note, { silent: !sound || note.kind === 'finished' })
  }
  const ask = (note: Note, ms: number): void => {
    const undo = after(ms, () => {
      tell(note)
      if (ms === settleMs) ask(note, remindMs)
    })
    waiting.set(note.id, undo)
  }
  return {
    take(event) {
      const settled = settledBy(event)
      if (settled !== null) {
        forget(settled)
        attention.withdraw(settled)
      }
      const note = noteOf(event)
      if (note === null) return
      forget(note.id)
      if (note.kind === 'decision' || note.kind === 'regressed') ask(note, settleMs)
      else tell(note)
    },
    tell,
    close() {
      for (const undo of waiting.values()) undo()
      waiting.clear()
    },
  }
}

function isQuiet(quiet: NotePreferences['quiet'], now: Date): boolean {
  if (quiet === null) return false
  const { from, to } = quiet
  const time = [now.getHours(), now.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':')
  return from <= to ? time >= from && time < to : time >= from || time < to
}
