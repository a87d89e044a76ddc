import { useEffect, useState } from 'react'

/** Since when this pane has been visible in a window that has the focus, epoch ms; null while it has not. */
export function useAttention(): number | null {
  const [since, setSince] = useState<number | null>(() => (isAttended() ? Date.now() : null))
  useEffect(() => {
    const check = () => setSince((before) => (isAttended() ? (before ?? Date.now()) : null))
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
  return since
}

function isAttended(): boolean {
  return document.visibilityState === 'visible' && document.hasFocus()
}
