import { useState } from 'react'

export interface DiffSettings {
  hideUnchanged: boolean
  ignoreWhitespace: boolean
  sideBySide: boolean
  moves: boolean
  wrap: boolean
}

const stored = 'exodesk.diff'
const usual: DiffSettings = { hideUnchanged: true, ignoreWhitespace: false, sideBySide: true, moves: true, wrap: true }

/** How diffs are laid out, as it was left. White space is never hidden to begin with: what hides a change is asked for each time. */
export function useDiffSettings(): [DiffSettings, (change: Partial<DiffSettings>) => void] {
  const [settings, setSettings] = useState(read)
  const set = (change: Partial<DiffSettings>) =>
    setSettings((before) => {
      const after = { ...before, ...change }
      localStorage.setItem(stored, JSON.stringify(after))
      return after
    })
  return [settings, set]
}

function read(): DiffSettings {
  try {
    const kept = JSON.parse(localStorage.getItem(stored) ?? '{}') as Partial<Record<keyof DiffSettings, unknown>>
    const flag = (key: keyof DiffSettings) => (typeof kept[key] === 'boolean' ? kept[key] : usual[key])
    return {
      hideUnchanged: flag('hideUnchanged'),
      ignoreWhitespace: false,
      sideBySide: flag('sideBySide'),
      moves: flag('moves'),
      wrap: flag('wrap'),
    }
  } catch {
    return usual
  }
}
