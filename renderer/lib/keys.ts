import { useEffect, useRef } from 'react'
import { preferences } from './preferences.ts'
import { parseRoute } from './route.ts'
import { meant, pressedFor, type Scope, scopeOf } from './shortcuts.ts'

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

function here(): Scope | null {
  return scopeOf(parseRoute(location.hash))
}

/** What is pressed on this screen for what is usually this chord. */
export function showChord(chord: string): string {
  return printChord(pressedFor(chord, here(), preferences().keys))
}

export function printChord(chord: string): string {
  return chord
    .split('+')
    .map((part) => (part === 'Mod' ? (isMac ? '⌘' : 'Ctrl') : part.charAt(0).toUpperCase() + part.slice(1)))
    .join(isMac ? ' ' : '+')
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false
  // A code editor takes keys like a text field even where its text cannot be changed: then they are the page's.
  const editor = target.closest('.monaco-editor')
  if (editor) return editor.closest('[data-editing]') !== null
  return target.closest('input, textarea, select, [contenteditable="true"]') !== null
}

/** An action that answers false leaves the key to the browser. */
export type KeyMap = Record<string, (event: KeyboardEvent) => unknown>

interface Layer {
  readonly map: { current: KeyMap }
  /** Nothing below hears a key. */
  isBarrier: boolean
}

const layers: Layer[] = []

/** The newest layer that knows the chord takes it: a drawer's Escape before the screen's, a dialog's before both. */
function dispatch(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return
  const pressed = chordOf(event)
  const isBare = !pressed.startsWith('Mod+')
  // One that prints a character, as a person who dictates may do without meaning a key.
  if (isBare && event.key.length === 1 && !preferences().bareKeys) return
  const chord = meant(pressed, here(), preferences().keys)
  if (chord === '' || (isBare && chord !== 'escape' && isTyping(event.target)) || (!isBare && event.repeat)) return
  for (const layer of layers.toReversed()) {
    const action = layer.map.current[chord]
    if (action && action(event) !== false) {
      event.preventDefault()
      return
    }
    if (layer.isBarrier) return
  }
}

/** Does what the chord does on this screen, as if it were pressed. @returns false: nothing takes it now. */
export function invoke(chord: string): boolean {
  const event = new KeyboardEvent('keydown', { key: chord })
  for (const layer of layers.toReversed()) {
    const action = layer.map.current[chord]
    if (action && action(event) !== false) return true
    if (layer.isBarrier) return false
  }
  return false
}

/** Listens while mounted and on. Bare keys are left alone while someone types; a repeat of a held chord does nothing. */
export function useKeys(map: KeyMap, isOn = true, isBarrier = false, isBase = false): void {
  const latest = useRef(map)
  latest.current = map
  useEffect(() => {
    if (!isOn) return
    const layer = { map: latest, isBarrier }
    if (layers.length === 0) window.addEventListener('keydown', dispatch)
    // Where all is mounted at once, as a link does, the outermost comes last: what is to stand below everything says so.
    if (isBase) layers.unshift(layer)
    else layers.push(layer)
    return () => {
      layers.splice(layers.indexOf(layer), 1)
      if (layers.length === 0) window.removeEventListener('keydown', dispatch)
    }
  }, [isOn, isBarrier, isBase])
}
