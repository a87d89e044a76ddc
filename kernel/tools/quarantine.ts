import type { History } from '../history/history.ts'
import type { Event } from '../wire/events.ts'
import type { Quarantine, Quarantined } from './tools.ts'

interface Held {
  /** Events up to this one are in. */
  asOf: number
  tools: Map<string, Quarantined>
}

/** Rebuilt from history when an agent is first asked for, and kept in step with every commit. */
export function createQuarantine(history: History): Quarantine & { close(): void } {
  const agents = new Map<string, Promise<Held>>()

  async function load(agent: string): Promise<Held> {
    const held: Held = { asOf: history.head()?.seq ?? 0, tools: new Map() }
    const kinds = ['tool.quarantined', 'tool.released'] as const
    for (let after: number | null = 0; after !== null; ) {
      const page = await history.read({ agent, asOf: held.asOf }, { kinds, after, limit: 1000 })
      for (const event of page.events) apply(held, event)
      after = page.next
    }
    return held
  }

  const close = history.onCommit((events) => {
    for (const event of events) {
      if (event.kind !== 'tool.quarantined' && event.kind !== 'tool.released') continue
      const { agent } = event
      const known = agent === null ? undefined : agents.get(agent)
      if (agent === null || known === undefined) continue
      keep(
        agent,
        known.then((held) => {
          if (event.seq > held.asOf) apply(held, event)
          return held
        }),
      )
    }
  })

  /** What could not be read is read again when it is asked for next. */
  function keep(agent: string, held: Promise<Held>): Promise<Held> {
    agents.set(agent, held)
    held.catch(() => {
      if (agents.get(agent) === held) agents.delete(agent)
    })
    return held
  }

  return {
    of: async (agent) => new Map((await (agents.get(agent) ?? keep(agent, load(agent)))).tools),
    close,
  }
}

function apply({ tools }: Held, event: Event): void {
  if (event.kind === 'tool.quarantined') tools.set(event.data.tool, { at: event.at, reason: event.data.reason })
  else if (event.kind === 'tool.released') tools.delete(event.data.tool)
}
