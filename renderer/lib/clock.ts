import { useSyncExternalStore } from 'react'

// One timer for every age on the screen; it rests while nobody looks.
const listeners = new Set<() => void>()
let timer: number | undefined
let second = tick()

function tick(): number {
  return Math.floor(Date.now() / 1000) * 1000
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= window.setInterval(() => {
    if (document.visibilityState === 'hidden') return
    second = tick()
    for (const each of listeners) each()
  }, 1000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Now, to the second, epoch ms: renders once a second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, read)
}

function read(): number {
  if (listeners.size === 0) second = tick()
  return second
}
