import { stallMs, type TaskSummary } from '../../kernel/wire/operator.ts'
import { duration, money, whole } from './format.ts'

/** Since when nothing has come of a task that runs, epoch ms, and in what; null: it is not stalled. */
export function stallOf(
  { state, lastEventAt, now }: Pick<TaskSummary, 'state' | 'lastEventAt' | 'now'>,
  at: number,
): { since: number; what: string | null } | null {
  if (state !== 'running' && state !== 'starting') return null
  return at - lastEventAt < stallMs ? null : { since: lastEventAt, what: now?.what ?? null }
}

/** The limit with the smallest part left, in words; null: there is none. */
export function nextLimit({
  limits,
  totals,
  workedMs,
}: Pick<TaskSummary, 'limits' | 'totals' | 'workedMs'>): string | null {
  const used = totals.uncached + totals.cacheRead + totals.cacheWrite + totals.output
  const left = [
    rest(limits.maxSteps, totals.steps, (count) => `${whole(count)} steps left`),
    rest(limits.budgetNanoUsd, totals.costNanoUsd, (amount) => `${money(amount)} left`),
    rest(limits.budgetTokens, used, (count) => `${whole(count)} tokens left`),
    rest(limits.maxMs, workedMs ?? null, (ms) => `${duration(ms)} of work left`),
  ]
  return left.flatMap((each) => each ?? []).sort((a, b) => a.part - b.part)[0]?.text ?? null
}

function rest(limit: number | null, used: number | null, say: (left: number) => string) {
  if (limit === null || used === null) return null
  const left = Math.max(0, limit - used)
  return { part: limit === 0 ? 0 : left / limit, text: say(left) }
}
