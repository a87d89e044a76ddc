import { useEffect, useRef, useState } from 'react'

export interface Attention {
  /** Since when this pane has been visible in a window that has the focus, epoch ms. */
  since: number
  /** The same by the clock of input events. */
  at: number
}

/** Null while the pane is hidden or the window has no focus. */
export function useAttention(): Attention | null {
  const [attention, setAttention] = useState<Attention | null>(() => (isAttended() ? begun() : null))
  useEffect(() => {
    const check = () => setAttention((before) => (isAttended() ? (before ?? begun()) : null))
    check()
    window.addEventListener('focus', check)
    window.addEventListener('blur', check)
    document.addEventListener('visibilitychange', check)
    return () => {
      window.removeEventListener('focus', check)
      window.removeEventListener('blur', check)
      document.removeEventListener('visibilitychange', check)
    }
  }, [])
  return attention
}

/** How long the pane has had attention in all, ms. */
export function useOpenTime(attention: Attention | null): () => number {
  const before = useRef(0)
  useEffect(() => {
    if (!attention) return
    return () => {
      before.current += Date.now() - attention.since
    }
  }, [attention])
  return () => Math.round(before.current + (attention ? Date.now() - attention.since : 0))
}

const settledAfterMs = 800

/**
 * Whether a key or a click was made by someone who has had the pane before them: not the click that brought the window
 * to the front, not what was typed for something else and waited in the queue.
 */
export function isMeant(attention: Attention | null, event?: { timeStamp: number }): boolean {
  if (!attention || Date.now() - attention.since < settledAfterMs) return false
  return event === undefined || event.timeStamp >= attention.at + settledAfterMs
}

function begun(): Attention {
  return { since: Date.now(), at: performance.now() }
}

function isAttended(): boolean {
  return document.visibilityState === 'visible' && document.hasFocus()
}
