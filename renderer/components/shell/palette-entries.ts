import { matchOf } from '../../lib/match.ts'

export interface Entry {
  id: string
  kind: 'Screen' | 'Task' | 'Proposal' | 'Revision' | 'Setting' | 'Action' | 'Key' | 'Event'
  name: string
  /** What else it is found by, shown beside it. */
  hint?: string
  chord?: string
  /** Enter alone does not do it: it spends money or changes the agent. */
  needsModifier?: boolean
  /** Added to the match: what needs the operator comes first. */
  weight?: number
  run: () => void
}

const shownAtOnce = 50

/** A number names an event. */
export function eventOf(query: string): number | null {
  const number = /^\s*#?(\d{1,15})\s*$/.exec(query)?.[1]
  return number === undefined || Number(number) === 0 ? null : Number(number)
}

/** The best of those that fit, the best first; without a query, those that need the operator, then as they come. */
export function find(entries: readonly Entry[], query: string): { shown: Entry[]; count: number } {
  const found = entries
    .flatMap((entry) => {
      const text = entry.hint === undefined ? entry.name : `${entry.name} ${entry.hint}`
      const points = matchOf(query, `${text} ${entry.kind}`)
      return points === null ? [] : [{ entry, points: points + (entry.weight ?? 0) }]
    })
    .sort((a, b) => b.points - a.points)
  return { shown: found.slice(0, shownAtOnce).map(({ entry }) => entry), count: found.length }
}
