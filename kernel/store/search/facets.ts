import type { FindOptions, PageRows, PageView } from '../pages.ts'
import { hasFailed } from './words.ts'

/** So many of the newest hits are counted: beyond it, a count would cost more than it tells. */
const mostCounted = 10_000
const pageRows = 1_000
const shown = 30

export interface Facets {
  count: number
  /** There are more: everything here is of the newest `count`. */
  isCut: boolean
  kinds: FacetRow[]
  tasks: FacetRow[]
  agents: FacetRow[]
  tools: FacetRow[]
  actors: FacetRow[]
  failed: number
}
type FacetRow = [value: string, count: number]

/** What a search finds, counted by what it is of. */
export function facetsOf(
  search: (view: PageView, text: string | null, options: FindOptions) => PageRows,
  view: PageView,
  text: string | null,
  options: FindOptions,
): Facets {
  const by = { kinds: new Map(), tasks: new Map(), agents: new Map(), tools: new Map(), actors: new Map() }
  const add = (map: Map<string, number>, value: string | null) => {
    if (value !== null) map.set(value, (map.get(value) ?? 0) + 1)
  }
  let count = 0
  let failed = 0
  let before = options.before
  for (;;) {
    const limit = Math.min(pageRows, mostCounted - count)
    const { rows, next } = search(view, text, { ...options, limit, ...(before === undefined ? {} : { before }) })
    for (const [, , agent, task, , , , , actor, , kind, data] of rows) {
      count += 1
      add(by.kinds, kind)
      add(by.tasks, task)
      add(by.agents, agent)
      add(by.actors, actor)
      if (kind === 'tool.called' || kind === 'tool.finished') add(by.tools, nameIn(data))
      if (hasFailed(kind, data)) failed += 1
    }
    if (next === null || count >= mostCounted) {
      const rows = (map: Map<string, number>) =>
        [...map].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).slice(0, shown)
      return {
        ...{ count, isCut: next !== null, failed, kinds: rows(by.kinds), tasks: rows(by.tasks) },
        ...{ agents: rows(by.agents), tools: rows(by.tools), actors: rows(by.actors) },
      }
    }
    before = next
  }
}

function nameIn(data: string | null): string | null {
  const name = data === null ? null : (JSON.parse(data) as { name?: unknown }).name
  return typeof name === 'string' ? name : null
}
