import type { ToolDetail, ToolRow } from '../wire/operator-tools.ts'

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

/** What an agent can do now, who made it and who approved it; and what the operator does about it. */
export interface ToolDesk {
  /** @throws KernelError `not-found`: no such agent. */
  list(agent: string): Promise<ToolRow[]>
  /** @throws KernelError `not-found`, as all that follow, naming the tools there are. */
  get(agent: string, tool: string): Promise<ToolDetail>
  source(agent: string, tool: string, revision: string): Promise<{ text: string | null }>
  /** @throws KernelError `conflict`: it is there already. */
  quarantine(agent: string, tool: string, reason: string): Promise<{ seq: number }>
  /** @throws KernelError `conflict`: it is not in quarantine. */
  release(agent: string, tool: string, reason: string): Promise<{ seq: number }>
  /** @throws KernelError `conflict`: there is no file to audit, or its bytes are others. */
  audit(agent: string, tool: string, hash: string, note: string): Promise<{ seq: number }>
  /** @throws KernelError `conflict`: the agent has no such tool any more. */
  askRetirement(agent: string, tool: string, reason: string): Promise<{ seq: number }>
}
