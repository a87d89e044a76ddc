import { useEffect, useRef, useState } from 'react'

/**
 * Something that must be held down for so long: let go, or look away, and nothing has happened. `done` is asked for
 * again at the end, so that what has become missing meanwhile counts.
 */
export function useHold(done: () => void) {
  const [isHolding, setHolding] = useState(false)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const latest = useRef(done)
  latest.current = done
  const cancel = () => {
    clearTimeout(timer.current)
    timer.current = undefined
    setHolding(false)
  }
  const letGo = useRef(cancel)
  letGo.current = cancel
  useEffect(() => {
    const stop = () => letGo.current()
    const events = ['keyup', 'blur', 'pointerup', 'pointercancel'] as const
    for (const name of events) window.addEventListener(name, stop)
    document.addEventListener('visibilitychange', stop)
    return () => {
      for (const name of events) window.removeEventListener(name, stop)
      document.removeEventListener('visibilitychange', stop)
      clearTimeout(timer.current)
    }
  }, [])
  return {
    isHolding,
    cancel,
    start: (ms: number) => {
      if (timer.current !== undefined) return
      if (ms === 0) {
        latest.current()
        return
      }
      setHolding(true)
      timer.current = setTimeout(() => {
        timer.current = undefined
        setHolding(false)
        latest.current()
      }, ms)
    },
  }
}
