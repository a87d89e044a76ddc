import { useSyncExternalStore } from 'react'
import type { Preferences, PreferencesChange } from '../../kernel/wire/operator-settings.ts'
import type { Desk } from './connection.ts'

export const usual: Preferences = {
  theme: 'system',
  contrast: 'system',
  colours: 'standard',
  motion: 'system',
  density: 'compact',
  bareKeys: true,
  keys: {},
  notify: { decision: true, failed: true, budget: true, regressed: true, finished: false },
  sound: true,
  quiet: null,
  filters: [],
  place: '',
}

/** What the first frame needs, before the host has answered: a copy, overruled by the host's. */
const looks = ['theme', 'contrast', 'colours', 'motion', 'density'] as const
const stored = 'exodesk.look'

export interface PreferencesState {
  preferences: Preferences
  /** Whether they are the host's; before that they are the usual ones with the look of the last time. */
  isLoaded: boolean
  /** Why the last change was not kept, or what is wrong with the file; null: nothing. */
  problem: string | null
}

let state: PreferencesState = { preferences: usual, isLoaded: false, problem: null }
const listeners = new Set<() => void>()

function show(next: Partial<PreferencesState>): void {
  state = { ...state, ...next }
  const { preferences } = state
  try {
    localStorage.setItem(stored, JSON.stringify(Object.fromEntries(looks.map((name) => [name, preferences[name]]))))
  } catch {
    // No storage: the next first frame is plain, and the host's look follows.
  }
  for (const listener of listeners) listener()
}

/** Takes the look of the last time, for the first frame. */
export function startPreferences(): void {
  try {
    const kept = JSON.parse(localStorage.getItem(stored) ?? '{}') as Record<string, unknown>
    const given = looks.filter((name) => typeof kept[name] === 'string').map((name) => [name, kept[name]])
    state = { ...state, preferences: { ...usual, ...Object.fromEntries(given) } }
  } catch {
    // What is there is not ours.
  }
}

export function preferences(): Preferences {
  return state.preferences
}

export function onPreferences(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function usePreferences(): PreferencesState {
  return useSyncExternalStore(onPreferences, () => state)
}

/** From the host. Where it cannot say, the usual ones hold, and the desk goes on. */
export async function loadPreferences(desk: Desk): Promise<void> {
  try {
    show({ ...(await desk.settings.preferences()), isLoaded: true })
  } catch (error) {
    show({ isLoaded: true, problem: `The preferences could not be loaded: ${(error as Error).message}` })
  }
}

/** In force at once. Where the host does not keep it, it is taken back, and `problem` says why. */
export async function changePreferences(desk: Desk, change: PreferencesChange): Promise<void> {
  const before = state.preferences
  show({ preferences: { ...before, ...(change as Partial<Preferences>) }, problem: null })
  try {
    await desk.settings.setPreferences(change)
  } catch (error) {
    const back = Object.fromEntries(Object.keys(change).map((name) => [name, before[name as keyof Preferences]]))
    show({
      preferences: { ...state.preferences, ...back },
      problem: `Not kept: ${(error as Error).message}`,
    })
  }
}
