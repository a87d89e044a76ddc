import type { Connection } from './sqlite.ts'

/** A stretch of history that an agent stands on: events of `agent` up to and including `upTo`. */
export interface Stretch {
  agent: string
  upTo: number
}

/**
 * What an agent remembers, oldest first: the events of those it was forked from, each up to the fork, then its own.
 * Stretches do not overlap, because a fork's own events come after the seq it was forked at.
 */
export function lineage(db: Connection, agent: string, asOf: number): Stretch[] {
  const find = db.prepare('SELECT parent, parent_seq AS seq FROM forks WHERE agent = ?')
  const stretches: Stretch[] = [{ agent, upTo: asOf }]
  let [next, upTo] = [agent, asOf]
  for (;;) {
    const fork = find.get(next) as { parent: string; seq: number } | undefined
    if (fork === undefined) return stretches
    next = fork.parent
    upTo = Math.min(upTo, fork.seq)
    stretches.unshift({ agent: next, upTo })
  }
}

/** 0: the agent has no such artifact. */
export function latestArtifactVersion(db: Connection, agent: string, name: string): number {
  const find = db.prepare('SELECT max(version) FROM artifacts WHERE agent = ? AND name = ? AND seq <= ?').pluck()
  let latest = 0
  for (const stretch of lineage(db, agent, Number.MAX_SAFE_INTEGER)) {
    latest = Math.max(latest, (find.get(stretch.agent, name, stretch.upTo) as number | null) ?? 0)
  }
  return latest
}
