import { useState } from 'react'
import { useKeys } from './keys.ts'

/** J and K move a mark through `count` items; Enter opens the marked one. −1: none is marked yet. */
export function useListKeys(count: number, open: (index: number) => void, isOn = true): number {
  const [selected, setSelected] = useState(-1)
  const clamped = Math.min(selected, count - 1)
  useKeys(
    {
      j: () => setSelected(Math.min(clamped + 1, count - 1)),
      k: () => setSelected(Math.max(clamped - 1, 0)),
      enter: (event) => {
        if (clamped < 0 || isControl(event.target)) return false
        open(clamped)
        return true
      },
    },
    isOn,
  )
  return clamped
}

/** Enter on a focused button or link is that control's own. */
function isControl(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('button, a, summary, dialog') !== null
}
