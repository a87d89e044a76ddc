import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'
const stored = 'exodesk.theme'
const dark = window.matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()

function read(): Theme {
  const value = localStorage.getItem(stored)
  return value === 'light' || value === 'dark' ? value : 'system'
}

function apply(): void {
  const theme = read()
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  for (const listener of listeners) listener()
}

export function startTheme(): void {
  dark.addEventListener('change', apply)
  apply()
}

export function setTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(stored)
  else localStorage.setItem(stored, theme)
  apply()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, read)
}

export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, () => {
    const theme = read()
    return theme === 'system' ? dark.matches : theme === 'dark'
  })
}
