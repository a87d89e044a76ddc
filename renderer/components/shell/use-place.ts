import { useEffect, useState } from 'react'
import { useConnectionState, useDesk } from '../../lib/desk.tsx'
import { changePreferences, loadPreferences, usePreferences } from '../../lib/preferences.ts'
import { isPlace } from './screens.ts'

/**
 * Loads the preferences with each connection, and keeps where the desk is. Opened without an address it goes to where it
 * was left; an address that was given always wins. @returns false until it is known which screen is to be shown.
 */
export function usePlace(): boolean {
  const desk = useDesk()
  const { epoch } = useConnectionState()
  const { isLoaded, preferences } = usePreferences()
  const [isGiven] = useState(() => isPlace(location.hash))
  const [isPlaced, setPlaced] = useState(isGiven)
  useEffect(() => {
    if (epoch > 0) void loadPreferences(desk)
  }, [desk, epoch])
  useEffect(() => {
    if (!isLoaded || isPlaced) return
    if (!isPlace(location.hash) && isPlace(preferences.place)) location.replace(preferences.place)
    setPlaced(true)
  }, [isLoaded, isPlaced, preferences.place])
  useEffect(() => {
    if (!isPlaced) return
    const keep = () => {
      if (isPlace(location.hash)) void changePreferences(desk, { place: location.hash })
    }
    window.addEventListener('hashchange', keep)
    return () => window.removeEventListener('hashchange', keep)
  }, [desk, isPlaced])
  return isPlaced
}
