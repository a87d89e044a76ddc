import { useSyncExternalStore } from 'react'

/** Away for less than this, such as for a reload or a look elsewhere, is not having left. */
const awayMs = 300_000

export interface Seen {
  /** When the desk was last looked at, epoch ms. */
  at: number
  /** When its operator last left it for longer; null: never yet. */
  left: number | null
}

/** The desk is looked at, at this moment. */
export function seenAt(before: Seen | null, at: number): Seen {
  if (before === null) return { at, left: null }
  return { at: Math.max(at, before.at), left: at - before.at < awayMs ? before.left : before.at }
}

const stored = 'exodesk.seen'
const everyMs = 30_000
let seen: Seen | null = null
const listeners = new Set<() => void>()

/** Notes from now on when the desk is looked at: kept with this desk's own look, and told to nobody. */
export function startPresence(): void {
  seen = read()
  const look = () => {
    if (document.visibilityState === 'hidden') return
    seen = seenAt(seen, Date.now())
    try {
      localStorage.setItem(stored, JSON.stringify(seen))
    } catch {
      // No storage: after the next start it is the last day that is told.
    }
    for (const listener of listeners) listener()
  }
  look()
  document.addEventListener('visibilitychange', look)
  setInterval(look, everyMs)
}

/** When the operator left, epoch ms; null: not known. */
export function useLeft(): number | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => seen?.left ?? null,
  )
}

function read(): Seen | null {
  try {
    const { at, left } = JSON.parse(localStorage.getItem(stored) ?? '{}') as Record<string, unknown>
    if (typeof at !== 'number') return null
    return { at, left: typeof left === 'number' ? left : null }
  } catch {
    return null
  }
}
