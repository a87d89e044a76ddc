import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { Event, EventKind } from '../wire/events.ts'

export interface Activation {
  seq: number
  at: number
  activation: number
  revision: string
  proposal: string | null
  /** Who made its content. */
  author: 'seed' | 'agent' | 'operator' | 'agent-and-operator'
  /** By whose word it became active. */
  by: string
  /** The tools that its executor named when it was first started; null: it never was. */
  tools: readonly Named[] | null
}
export interface Named {
  name: string
  description: string
  file?: string | undefined
}

/** The operator's marks on one tool. */
export interface Marks {
  audited: { hash: string; at: number } | null
  retirementAsked: { seq: number; at: number } | null
}

export interface AgentRecord {
  /** In the order in which they became active, its parents' first. */
  activations: readonly Activation[]
  /** As the active revision's executor named them last; before its first start, those of the one that was started last. */
  current: { isOfActive: boolean; tools: readonly Named[] }
  marks: ReadonlyMap<string, Marks>
}

/** What history says of an agent's revisions and tools: a few events of few kinds, each read by its index. */
export function createRecord(history: History) {
  const startedOnce = new Map<number, readonly Named[]>()

  async function all<K extends EventKind>(agent: string, kinds: readonly K[]): Promise<Event<K>[]> {
    const found: Event<K>[] = []
    for (let after: number | null = 0; after !== null; ) {
      const page = await history.read({ agent }, { kinds, after, limit: 1000 })
      found.push(...(page.events as Event<K>[]))
      after = page.next
    }
    return found
  }

  /** A new generation is started before its revision is active: the first start after the last activation before it counts. */
  async function started(agent: string, revision: string, after: number, before: number | undefined) {
    const { events } = await history.read(
      { agent },
      { kinds: ['executor.started'], revision, after, limit: 1, ...(before === undefined ? {} : { before }) },
    )
    const [event] = events
    return event?.kind === 'executor.started' ? event.data.tools : null
  }

  async function activationsOf(agent: string): Promise<Activation[]> {
    const events = await all(agent, ['proposal.made', 'revision.authorised', 'revision.activated'])
    const by = new Map<string, string>()
    const authors = new Map<string, Activation['author']>()
    const active: Event<'revision.activated'>[] = []
    const found: Activation[] = []
    for (const event of events) {
      if (event.kind === 'proposal.made') {
        // The same content may come back: it is whose it was first.
        const { revision, problems } = event.data
        if (problems.length === 0 && !authors.has(revision)) authors.set(revision, authorOf(event))
        continue
      }
      if (event.kind === 'revision.authorised') by.set(event.data.revision, event.data.by)
      else active.push(event)
      if (event.kind !== 'revision.activated') continue
      const { activation, revision, proposal } = event.data
      const { seq, at } = event
      const author = authors.get(revision) ?? 'seed'
      found.push({
        seq,
        at,
        activation,
        revision,
        proposal,
        author,
        by: by.get(revision) ?? event.data.cause,
        tools: null,
      })
    }
    return Promise.all(
      found.map(async (one, index) => {
        const known = startedOnce.get(one.seq)
        if (known !== undefined) return { ...one, tools: known }
        const tools = await started(agent, one.revision, found[index - 1]?.seq ?? 0, found[index + 1]?.seq)
        if (tools !== null) startedOnce.set(one.seq, tools)
        return { ...one, tools }
      }),
    )
  }

  return {
    /** @throws KernelError `not-found`. */
    async of(agent: string): Promise<AgentRecord> {
      const [activations, marks] = await Promise.all([
        activationsOf(agent),
        all(agent, ['tool.audited', 'tool.retirement-asked']),
      ])
      if (activations.length === 0) throw new KernelError('not-found', `there is no agent ${agent}`)
      const byTool = new Map<string, Marks>()
      for (const event of marks) {
        const { tool } = event.data
        const before = byTool.get(tool) ?? { audited: null, retirementAsked: null }
        const { at, seq } = event
        if (event.kind === 'tool.audited') byTool.set(tool, { ...before, audited: { hash: event.data.hash, at } })
        else byTool.set(tool, { ...before, retirementAsked: { seq, at } })
      }
      return { activations, current: namedBy(activations), marks: byTool }
    },
  }
}

/** An edit of the operator's is of both where lines of the agent's are left in it. */
function authorOf({ data: { by, derived } }: Event<'proposal.made'>): Activation['author'] {
  if (by === 'executor') return 'agent'
  if (derived === undefined) return 'operator'
  return derived.operatorLines === 0 ? 'agent' : derived.agentLines === 0 ? 'operator' : 'agent-and-operator'
}

/** The names of the active revision's last start; before its first start, those of the one that was started last. */
function namedBy(activations: readonly Activation[]): AgentRecord['current'] {
  const started = activations.filter(({ tools }) => tools !== null)
  const active = activations.at(-1)?.revision
  const by = started.findLast(({ revision }) => revision === active) ?? started.at(-1)
  return { isOfActive: by?.revision === active, tools: by?.tools ?? [] }
}
