import type { History } from '../history/history.ts'
import type { Tasks } from '../tasks/tasks.ts'
import type { Event, EventKind } from '../wire/events.ts'
import type { Digest } from '../wire/operator-digest.ts'

const kinds = [
  'revision.activated',
  'revision.rolled-back',
  'proposal.reviewed',
  'proposal.expired',
  'task.finished',
] as const satisfies EventKind[]

/** What an operator who comes back is told. Trials are told with their proposal. */
export async function digestSince(
  { history, tasks }: { history: History; tasks: Pick<Tasks, 'states'> },
  since: number,
): Promise<Digest> {
  const { costNanoUsd, modelCalls } = await history.totals({ sinceMs: since })
  const digest: Digest = {
    ...{ since, activated: 0, rolledBack: 0, rejected: 0, expired: 0, costNanoUsd, modelCalls },
    finished: { completed: 0, failed: 0, stopped: 0, budget: 0, claimed: 0 },
    isSimulated: tasks.states().some((task) => task.simulated && task.lastEventAt > since),
  }
  let before: number | null = Number.MAX_SAFE_INTEGER
  while (before !== null) {
    const page = await history.read({ agent: null }, { kinds, before, order: 'desc', limit: 200 })
    for (const event of page.events) {
      if (event.at <= since) return digest
      if (event.run !== 'trial') count(digest, event)
    }
    before = page.next
  }
  return digest
}

function count(digest: Digest, event: Event): void {
  if (event.data === null) return
  if (event.kind === 'revision.activated') digest.activated += event.data.cause === 'proposal' ? 1 : 0
  else if (event.kind === 'revision.rolled-back') digest.rolledBack++
  else if (event.kind === 'proposal.reviewed') digest.rejected += event.data.verdict === 'rejected' ? 1 : 0
  else if (event.kind === 'proposal.expired') digest.expired++
  else if (event.kind === 'task.finished') digest.finished[event.data.outcome]++
}
