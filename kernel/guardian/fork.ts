import { KernelError } from '../errors.ts'
import { draft, type Event } from '../wire/events.ts'
import type { Core } from './core.ts'
import type { ActiveRevision } from './guardian.ts'
import { requireOrdinary } from './trial.ts'

/** @see Guardian.fork */
export async function fork(
  core: Core,
  parent: { agent: string; seq: number },
  name: string,
): Promise<ActiveRevision & { seq: number }> {
  core.requireOpen()
  const { ledger } = core
  const { history } = core.parts
  requireOrdinary(ledger.state(parent.agent))
  if (ledger.find(name) !== undefined) throw new KernelError('conflict', `there is an agent ${name} already`)
  const at = await history.get({ agent: parent.agent }, parent.seq)
  // Another agent's event is answered as one that is not there.
  if (at === null)
    throw new KernelError('not-found', `agent ${parent.agent} has no event ${parent.seq}: fork at one of its own`)
  const view = { agent: parent.agent, asOf: parent.seq }
  const active = await history.latest(view, 'revision.activated')
  if (active === null)
    throw new KernelError('conflict', `agent ${parent.agent} had no active revision at event ${parent.seq} yet`)
  const { revision } = active.data
  await requireAuthorised(core, view, revision)
  return ledger.locked(name, async () => {
    const header = { actor: 'operator', agent: name, revision } as const
    const [forked] = await history.appendIfActive(name, null, [
      draft('agent.forked', { name, parent: { ...parent, hash: at.hash }, revision }, header),
      // It may run for having run: who forks lets exactly this content run again, under a name of its own.
      draft('revision.authorised', { revision, by: 'operator', proposal: null }, header),
      draft(
        'revision.activated',
        { activation: 1, revision, previous: null, cause: 'seed', proposal: null, probationSteps: 0 },
        header,
      ),
    ])
    return { revision, activation: 1, seq: forked?.seq ?? 0 }
  })
}

async function requireAuthorised(core: Core, view: { agent: string; asOf: number }, revision: string): Promise<void> {
  const { history } = core.parts
  for (let after: number | null = 0; after !== null; ) {
    const page: { events: Event[]; next: number | null } = await history.read(view, {
      kinds: ['revision.authorised'],
      after,
      limit: 1000,
    })
    if (page.events.some(({ data }) => (data as { revision?: string }).revision === revision)) return
    after = page.next
  }
  throw new KernelError('forbidden', `revision ${revision.slice(0, 12)} was never authorised: it cannot be forked`)
}
