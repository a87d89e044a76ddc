import type { KernelError } from '../errors.ts'
import { draft, type EventData } from '../wire/events.ts'
import type { Running } from './running.ts'

type Budget = EventData<'budget.reached'>['budget']
const budgets: readonly string[] = ['usd', 'tokens', 'steps', 'time'] satisfies Budget[]

/** Records that a limit was reached: once per limit, and again only when it has been raised since. */
export async function announceBudget(running: Running, error: KernelError): Promise<void> {
  const reached = reachedBy(error)
  if (reached === null) return
  await running.exclusively(async () => {
    const { history } = running.parts
    const { events } = await history.read(
      { agent: running.spec.agent },
      { task: running.spec.task.task, kinds: ['budget.reached', 'budget.raised'], order: 'desc', limit: 100 },
    )
    const latest = events.find(({ data }) => {
      const { budget, scope } = data as { budget?: string; scope?: string }
      return budget === reached.budget && (scope ?? 'task') === (reached.scope ?? 'task')
    })
    if (latest?.kind === 'budget.reached' && latest.data.limit === reached.limit) return
    await history.append([draft('budget.reached', reached, running.place('kernel'))])
  })
}

/** What an over-budget error says of itself; null where it names no limit (stored bytes, say). */
function reachedBy({ details }: KernelError): EventData<'budget.reached'> | null {
  const { budget, limit, used, spent, scope } = details ?? {}
  if (typeof budget !== 'string' || !budgets.includes(budget)) return null
  const of: { scope?: 'agent' | 'day' } = scope === 'agent' || scope === 'day' ? { scope } : {}
  return { budget: budget as Budget, limit: whole(limit), used: whole(used ?? spent), ...of }
}

function whole(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.round(value) : 0
}
