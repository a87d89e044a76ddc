import type { Guardian } from '../guardian/guardian.ts'
import type { History } from '../history/history.ts'
import type { Tasks } from '../tasks/tasks.ts'
import type { Event, EventKind } from '../wire/events.ts'

interface Parts {
  history: History
  guardian: Guardian
  tasks: Tasks
}

/** Every agent in order of creation, and what it runs. */
export async function agentRows({ history, guardian, tasks }: Parts) {
  const all = tasks.states()
  const created = [
    ...(await everyEvent(history, 'agent.created')),
    // Arms of trials are shown with their trial.
    ...(await everyEvent(history, 'agent.forked')).filter(({ data }) => data.trial === undefined),
  ].sort((a, b) => a.seq - b.seq)
  return Promise.all(
    created.map(async (event) => {
      const agent = event.agent ?? ''
      const own = all.filter((task) => task.agent === agent)
      const active = await guardian.active(agent)
      return {
        agent,
        activation: active?.activation ?? 0,
        revision: active?.revision ?? event.data.revision,
        createdAt: event.at,
        tasks: own.length,
        regressed: guardian.breach(agent),
        runningTask: own.find((task) => task.state !== 'finished')?.task ?? null,
      }
    }),
  )
}

async function everyEvent<K extends EventKind>(history: History, kind: K): Promise<Event<K>[]> {
  const found: Event<K>[] = []
  let after: number | null = 0
  while (after !== null) {
    const page = await history.read({ agent: null }, { kinds: [kind], after, limit: 1000 })
    found.push(...(page.events as Event<K>[]))
    after = page.next
  }
  return found
}
