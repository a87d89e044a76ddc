import { useSyncExternalStore } from 'react'
import type { CostScope } from '../../kernel/wire/operator-cost.ts'

export type Route =
  | { screen: 'home' }
  | { screen: 'live'; task: string | null }
  | { screen: 'review'; agent: string | null; proposal: string | null }
  | { screen: 'revisions'; agent: string | null }
  | { screen: 'tools'; agent: string | null; tool: string | null }
  | { screen: 'history'; seq?: number; query?: string }
  | { screen: 'cost'; scope: CostScope | null }
  | { screen: 'settings'; section: string | null }

/** `#/live/T-1`. What names no screen is Home: a stale link never shows an error page. */
export function parseRoute(hash: string): Route {
  const [screen, first, second] = hash.replace(/^#\/?/, '').split('/').map(decode)
  if (screen === 'live') return { screen, task: first && /^T-\d+$/.test(first) ? first : null }
  if (screen === 'review') {
    const isWhole = first && second && /^P-\d+$/.test(second)
    return isWhole ? { screen, agent: first, proposal: second } : { screen, agent: null, proposal: null }
  }
  if (screen === 'revisions') return { screen, agent: first || null }
  if (screen === 'tools') return { screen, agent: first || null, tool: (first && second) || null }
  if (screen === 'history')
    return {
      screen,
      ...(first && /^\d{1,15}$/.test(first) ? { seq: Number(first) } : {}),
      ...(second ? { query: second.slice(0, 1000) } : {}),
    }
  if (screen === 'cost') return { screen, scope: parseScope(first, second) }
  if (screen === 'settings') return { screen, section: first && /^[a-z]+$/.test(first) ? first : null }
  return { screen: 'home' }
}

export function hrefOf(route: Route): string {
  const parts: (string | null)[] = [route.screen]
  if (route.screen === 'live') parts.push(route.task)
  if (route.screen === 'review') parts.push(route.agent, route.proposal)
  if (route.screen === 'cost' && route.scope !== null) parts.push(...scopeParts(route.scope))
  if (route.screen === 'settings') parts.push(route.section)
  if (route.screen === 'revisions') parts.push(route.agent)
  if (route.screen === 'history') {
    const query = route.query === '' ? undefined : route.query
    if (route.seq !== undefined || query !== undefined) parts.push(route.seq === undefined ? '-' : String(route.seq))
    if (query !== undefined) parts.push(query)
  }
  if (route.screen === 'tools') parts.push(route.agent, route.tool)
  return `#/${parts
    .filter((part) => part !== null)
    .map((part) => encodeURIComponent(part))
    .join('/')}`
}

/** null: none is named. */
function parseScope(of: string | undefined, name: string | undefined): CostScope | null {
  if (of === 'today' || of === 'all') return { of }
  if (of === 'agent') return name ? { of, agent: name } : null
  if (of === 'task') return name && /^T-\d+$/.test(name) ? { of, task: name } : null
  const [, task, turn] = (of === 'turn' && /^(T-\d+)\.(\d{1,9})$/.exec(name ?? '')) || []
  return task === undefined ? null : { of: 'turn', task, turn: Number(turn) }
}

function scopeParts(scope: CostScope): string[] {
  if (scope.of === 'turn') return ['turn', `${scope.task}.${scope.turn}`]
  if (scope.of === 'task') return ['task', scope.task]
  return scope.of === 'agent' ? ['agent', scope.agent] : [scope.of]
}

export function go(route: Route): void {
  location.hash = hrefOf(route)
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return ''
  }
}

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener)
  return () => window.removeEventListener('hashchange', listener)
}

let parsed: { hash: string; route: Route } | null = null

function current(): Route {
  if (parsed?.hash !== location.hash) parsed = { hash: location.hash, route: parseRoute(location.hash) }
  return parsed.route
}

export function useRoute(): Route {
  return useSyncExternalStore(subscribe, current)
}
