import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { Event } from '../wire/events.ts'
import { advanceRules, type RuleRecord } from './rules.ts'
import {
  type ActivationRecord,
  type AgentState,
  activeOf,
  advance,
  newAgent,
  type ProposalRecord,
  policyKinds,
  proposalOf,
} from './state.ts'

/** The state of every agent, always that of history's last commit. It is read from history at opening and kept nowhere else. */
export class Ledger {
  readonly #agents = new Map<string, AgentState>()
  /** In order of their ids. */
  rules: readonly RuleRecord[] = []
  readonly #locks = new Map<string, Promise<void>>()
  #stop: () => void = () => {}

  /** Called after each commit that changed an agent's state. */
  onChange: (agent: string) => void = () => {}

  static async open(history: History): Promise<Ledger> {
    const ledger = new Ledger()
    const early: Event[] = []
    let isRead = false
    ledger.#stop = history.onCommit((events) => {
      if (isRead) ledger.#add(events)
      else early.push(...events)
    })
    const asOf = history.head()?.seq ?? 0
    for (let after: number | null = 0; after !== null; ) {
      const page = await history.read({ agent: null, asOf }, { kinds: policyKinds, after, limit: 1000 })
      ledger.#add(page.events)
      after = page.next
    }
    await ledger.#countSteps(history, asOf)
    isRead = true
    ledger.#add(early.filter((event) => event.seq > asOf))
    return ledger
  }

  /** Only what a running probation has seen is read: never all model calls of a long history. */
  async #countSteps(history: History, asOf: number): Promise<void> {
    for (const { agent, activations } of this.#agents.values()) {
      const active = activations.at(-1)
      if (active?.state !== 'probation') continue
      for (let after: number | null = active.seq; after !== null && this.#stepsLeft(agent) > 0; ) {
        const page = await history.read(
          { agent, asOf },
          { kinds: ['model.called'], revision: active.revision, after, limit: active.probationSteps },
        )
        this.#add(page.events)
        after = page.next
      }
    }
  }

  #stepsLeft(agent: string): number {
    const active = this.active(agent)
    return active === null ? 0 : active.probationSteps - active.steps
  }

  #add(events: readonly Event[]): void {
    const changed = new Set<string>()
    for (const event of events) {
      if (event.kind === 'rule.changed') this.rules = advanceRules(this.rules, event)
      if (event.agent === null) continue
      const isNew = event.kind === 'agent.created' || event.kind === 'agent.forked'
      const before = this.#agents.get(event.agent) ?? (isNew ? newAgent(event.agent) : undefined)
      if (before === undefined) continue
      const after = advance(before, event)
      this.#agents.set(event.agent, after)
      if (after !== before || isNew) changed.add(event.agent)
    }
    for (const agent of changed) this.onChange(agent)
  }

  agents(): AgentState[] {
    return [...this.#agents.values()]
  }

  find(agent: string): AgentState | undefined {
    return this.#agents.get(agent)
  }

  /** @throws KernelError `not-found`. */
  state(agent: string): AgentState {
    const state = this.#agents.get(agent)
    if (state === undefined) throw new KernelError('not-found', `there is no agent ${agent}`)
    return state
  }

  /** @throws KernelError `not-found`. */
  proposal(agent: string, proposal: string): ProposalRecord {
    const found = proposalOf(this.state(agent), proposal)
    if (found === undefined) throw new KernelError('not-found', `agent ${agent} has no proposal ${proposal}`)
    return found
  }

  active(agent: string): ActivationRecord | null {
    const state = this.#agents.get(agent)
    return (state === undefined ? undefined : activeOf(state)) ?? null
  }

  /** @throws KernelError `not-found`. */
  mustBeActive(agent: string): ActivationRecord {
    const active = activeOf(this.state(agent))
    if (active === undefined) throw new KernelError('internal', `agent ${agent} has no active revision`)
    return active
  }

  /** Decisions of one agent, one at a time: what `work` reads stays so until its events are on disk. Never held over a wait for others. */
  async locked<T>(agent: string, work: () => Promise<T>): Promise<T> {
    const before = this.#locks.get(agent) ?? Promise.resolve()
    const result = before.then(work)
    const settled = result.then(
      () => {},
      () => {},
    )
    this.#locks.set(agent, settled)
    try {
      return await result
    } finally {
      if (this.#locks.get(agent) === settled) this.#locks.delete(agent)
    }
  }

  /** As `locked`, for every agent there is. */
  lockedAll<T>(work: () => Promise<T>): Promise<T> {
    const agents = [...this.#agents.keys()].sort()
    return agents.reduceRight((inner, agent) => () => this.locked(agent, inner), work)()
  }

  close(): void {
    this.#stop()
  }
}
