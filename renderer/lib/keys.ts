import { useEffect, useRef } from 'react'

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/** `Mod+Shift+x`, `escape`, `?`: `Mod` is Command on a Mac and Control elsewhere. */
export function chordOf(
  event: Pick<KeyboardEvent, 'key' | 'code' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>,
): string {
  const mod = isMac ? event.metaKey : event.ctrlKey
  const other = isMac ? event.ctrlKey : event.metaKey
  if (other || event.altKey) return ''
  // With a modifier the printed character depends on the layout's shift row: take the key itself where it is a digit or point.
  const digit = /^Digit(\d)$/.exec(event.code)?.[1]
  const key = mod && digit ? digit : mod && event.code === 'Period' ? '.' : event.key
  const name = key.toLowerCase()
  return `${mod ? 'Mod+' : ''}${event.shiftKey && (mod || name.length > 1) ? 'Shift+' : ''}${name}`
}

export function showChord(chord: string): string {
  return chord
    .split('+')
    .map((part) => (part === 'Mod' ? (isMac ? '⌘' : 'Ctrl') : part.charAt(0).toUpperCase() + part.slice(1)))
    .join(isMac ? ' ' : '+')
}

export function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable="true"]') !== null
}

/** An action that answers false leaves the key to the browser. */
export type KeyMap = Record<string, (event: KeyboardEvent) => unknown>

/** Listens while mounted. Bare keys are left alone while someone types; a repeat of a held chord does nothing. */
export function useKeys(map: KeyMap, isOn = true): void {
  const latest = useRef(map)
  latest.current = map
  useEffect(() => {
    if (!isOn) return
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return
      const chord = chordOf(event)
      const action = latest.current[chord]
      if (!action) return
      const isBare = !chord.startsWith('Mod+')
      if (isBare && chord !== 'escape' && isTyping(event.target)) return
      if (!isBare && event.repeat) return
      if (action(event) !== false) event.preventDefault()
    }
    window.addEventListener('keydown', listen)
    return () => window.removeEventListener('keydown', listen)
  }, [isOn])
}
