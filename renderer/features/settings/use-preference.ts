import type { Preferences } from '../../../kernel/wire/operator-settings.ts'
import { useDesk } from '../../lib/desk.tsx'
import { changePreferences, usePreferences, usual } from '../../lib/preferences.ts'

/** One preference, the way to change it, and whether it is the usual one. */
export function usePreference<K extends keyof Preferences>(name: K) {
  const desk = useDesk()
  const { preferences } = usePreferences()
  const value = preferences[name]
  const set = (to: Preferences[K]) => void changePreferences(desk, { [name]: to })
  return {
    value,
    set,
    isChanged: JSON.stringify(value) !== JSON.stringify(usual[name]),
    reset: () => set(usual[name]),
  }
}
