import { useSyncExternalStore } from 'react'
import { onPreferences, preferences } from './preferences.ts'

const dark = window.matchMedia('(prefers-color-scheme: dark)')
const contrast = window.matchMedia('(prefers-contrast: more)')
const listeners = new Set<() => void>()

function isDark(): boolean {
  const { theme } = preferences()
  return theme === 'system' ? dark.matches : theme === 'dark'
}

function hasMoreContrast(): boolean {
  const chosen = preferences().contrast
  return chosen === 'system' ? contrast.matches : chosen === 'more'
}

/** Names the look as a whole: what draws its own colours draws anew when it changes. */
function look(): string {
  return [isDark() ? 'dark' : 'light', hasMoreContrast() ? 'more' : 'normal', preferences().colours].join(' ')
}

function apply(): void {
  const { dataset } = document.documentElement
  const { theme, colours, density, motion } = preferences()
  if (theme === 'system') delete dataset.theme
  else dataset.theme = theme
  dataset.contrast = hasMoreContrast() ? 'more' : 'normal'
  dataset.colours = colours
  dataset.density = density
  dataset.motion = motion
  for (const listener of listeners) listener()
}

export function startTheme(): void {
  dark.addEventListener('change', apply)
  contrast.addEventListener('change', apply)
  onPreferences(apply)
  apply()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useLook(): string {
  return useSyncExternalStore(subscribe, look)
}
