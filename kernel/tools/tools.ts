/** Why the operator has taken a tool away from an agent, and when. */
export interface Quarantined {
  at: number
  reason: string
}

/** The tools that an agent may not use: known by name, since a name is all that a model calls. */
export interface Quarantine {
  /** As of history's last commit; a fork stands under what its parent stood under when it was made. */
  of(agent: string): Promise<ReadonlyMap<string, Quarantined>>
}

/** What the kernel reads in one file of a policy. Imports as they are written, without those of types alone. */
export interface SourceFacts {
  imports: readonly string[]
  /** Wire methods and modules by which it reaches beyond itself. */
  reaches: readonly string[]
}
