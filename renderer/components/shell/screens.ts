import type { Route } from '../../lib/route.ts'

/** The rail, in order; each has the key that the list of shortcuts gives it. */
export const screens: readonly { route: Route; name: string; icon: string; chord: string }[] = [
  { route: { screen: 'home' }, name: 'Home', icon: '⌂', chord: 'Mod+1' },
  { route: { screen: 'live', task: null }, name: 'Live', icon: '●', chord: 'Mod+2' },
  { route: { screen: 'review', agent: null, proposal: null }, name: 'Review', icon: '⚑', chord: 'Mod+3' },
  { route: { screen: 'history' }, name: 'History', icon: '☰', chord: 'Mod+4' },
  { route: { screen: 'cost', scope: null }, name: 'Cost', icon: '$', chord: 'Mod+5' },
  { route: { screen: 'tools', agent: null, tool: null }, name: 'Tools', icon: '⚒', chord: 'Mod+6' },
  { route: { screen: 'revisions', agent: null }, name: 'Revisions', icon: '◆', chord: 'Mod+7' },
]

export const settingsScreen = {
  route: { screen: 'settings', section: null } as Route,
  name: 'Settings',
  icon: '⚙︎',
  chord: 'Mod+9',
}

/** Where a screen's own part of the desk begins: Escape goes there. */
export function parentOf(route: Route): Route | null {
  if (route.screen === 'live' && route.task !== null) return { screen: 'home' }
  if (route.screen === 'review' && route.proposal !== null) return { screen: 'review', agent: null, proposal: null }
  return null
}

/** A place that is worth coming back to. */
export function isPlace(hash: string): boolean {
  return hash !== '' && hash.length <= 500 && hash.startsWith('#/')
}
