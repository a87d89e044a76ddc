import { describe, expect, it } from 'vitest'
import { hrefOf, parseRoute, type Route } from './route.ts'

describe('routes', () => {
  it.each<Route>([
    { screen: 'home' },
    { screen: 'live', task: null },
    { screen: 'live', task: 'T-12' },
    { screen: 'review', agent: null, proposal: null },
    { screen: 'review', agent: 'scout.v2', proposal: 'P-3' },
    { screen: 'revisions', agent: null },
    { screen: 'revisions', agent: 'scout' },
    { screen: 'tools', agent: null, tool: null },
    { screen: 'tools', agent: 'scout', tool: null },
    { screen: 'tools', agent: 'scout', tool: 'count lines' },
    { screen: 'history' },
    { screen: 'cost', scope: null },
    { screen: 'cost', scope: { of: 'today' } },
    { screen: 'cost', scope: { of: 'all' } },
    { screen: 'cost', scope: { of: 'agent', agent: 'scout.v2' } },
    { screen: 'cost', scope: { of: 'task', task: 'T-12' } },
    { screen: 'cost', scope: { of: 'turn', task: 'T-12', turn: 3 } },
    { screen: 'settings', section: null },
    { screen: 'settings', section: 'keys' },
    { screen: 'history', seq: 4711 },
    { screen: 'history', query: 'tool:"count lines" cost>0.05 50%/100' },
    { screen: 'history', seq: 4711, query: 'rev:r4' },
  ])('$screen comes back from its own address', (route) => expect(parseRoute(hrefOf(route))).toEqual(route))

  it.each(['', '#/', '#/nowhere', '#/%E0%A4%A'])('%j is Home', (hash) =>
    expect(parseRoute(hash)).toEqual({ screen: 'home' }),
  )

  it('does not take what is no task for one', () =>
    expect(parseRoute('#/live/<b>')).toEqual({ screen: 'live', task: null }))
})
