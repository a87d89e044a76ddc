import type { Clock } from '../clock.ts'
import type { History } from '../history/history.ts'
import type { Event, EventKind } from '../wire/events.ts'
import { type ReviewerHealth, reviewerHealthSchema } from '../wire/operator-review.ts'
import { median } from '../wire/statistics.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000
/** Of one kind, the latest that are looked at. */
const eventsRead = 5000

type Decided = Event<'proposal.reviewed'>

/** How the operator's reviews go, from what they did. Rules and runs that decide by themselves are counted apart. */
export async function reviewerHealth(history: History, clock: Clock, days = 30): Promise<ReviewerHealth> {
  const since = clock.now() - days * dayMs
  const [reviewed, expired, looks, undone] = await Promise.all([
    latest(history, 'proposal.reviewed', since),
    latest(history, 'proposal.expired', since),
    latest(history, 'proposal.looked', 0),
    latest(history, 'revision.rolled-back', since),
  ])
  const decided = reviewed.filter(({ data }) => data.by === 'operator')
  const wanted = new Set(decided.map(keyOf))
  const [made, readied] = await Promise.all([
    latest(history, 'proposal.made', 0, wanted),
    latest(history, 'proposal.readied', 0, wanted),
  ])
  const linesOf = new Map(
    made.map((event) => [
      keyOf(event),
      event.data.files.reduce((sum, file) => sum + file.addedLines + file.removedLines, 0),
    ]),
  )
  const riskOf = new Map(readied.map((event) => [keyOf(event), event.data.risk]))
  /** When each was first looked through: what is looked through after the verdict was not read for it. */
  const looked = new Map(looks.filter(({ data }) => data.viewed).map((event) => [keyOf(event), event.seq]))
  const openMs = (event: Decided) => event.data.looked?.openMs ?? event.data.viewedMs
  const approved = decided.filter(({ data }) => data.verdict === 'approved')
  const approvedKeys = new Set(approved.map(keyOf))
  const tiers = reviewerHealthSchema.shape.byTier.element.shape.risk.options
  return {
    days,
    decisions: decided.length,
    byVerdict: Object.fromEntries(countsOf(decided, ({ data }) => data.verdict)),
    byTier: tiers.flatMap((risk) => {
      const own = decided.filter((event) => riskOf.get(keyOf(event)) === risk)
      const yes = own.filter(({ data }) => data.verdict === 'approved').length
      return own.length === 0 ? [] : [{ risk, decided: own.length, approved: yes }]
    }),
    medianOpenMs: median(decided.flatMap((event) => openMs(event) ?? [])),
    medianMsPerChangedLine: median(
      decided.flatMap((event) => {
        const [open, lines] = [openMs(event), linesOf.get(keyOf(event)) ?? 0]
        return open === null || lines === 0 ? [] : [open / lines]
      }),
    ),
    approvedUnread: approved
      .filter(
        (event) => !((looked.get(keyOf(event)) ?? event.seq) < event.seq) && (event.data.looked?.files ?? 0) === 0,
      )
      .map(refOf),
    laterRolledBack: undone
      .filter((event) => event.data.proposal !== null && approvedKeys.has(keyOf(event)))
      .map((event) => ({ ...refOf(event), reason: event.data.reason })),
    perHour: [...countsOf(decided, ({ at }) => Math.floor(at / hourMs) * hourMs)]
      .map(([at, decisions]) => ({ at, decisions }))
      .sort((a, b) => a.at - b.at),
    ruleHits: reviewed.filter(({ data }) => data.by === 'rule').length,
    expired: expired.length,
  }
}

/** Of one kind, newest first, back to `since`, or until each of `wanted` is found. */
async function latest<K extends EventKind>(
  history: History,
  kind: K,
  since: number,
  wanted?: ReadonlySet<string>,
): Promise<Event<K>[]> {
  const found: Event<K>[] = []
  const left = wanted === undefined ? null : new Set(wanted)
  let before: number | null | undefined
  while (before !== null && found.length < eventsRead && left?.size !== 0) {
    const page: { events: Event[]; next: number | null } = await history.read(
      { agent: null },
      { kinds: [kind], order: 'desc', limit: 1000, ...(before === undefined ? {} : { before }) },
    )
    for (const event of page.events) {
      if (event.at < since) return found
      found.push(event as Event<K>)
      left?.delete(keyOf(event))
    }
    before = page.next
  }
  return found
}

/** Proposals are numbered by agent. */
function keyOf(event: Event): string {
  return `${event.agent} ${(event.data as { proposal?: string | null }).proposal}`
}

function refOf(event: Event): { agent: string; proposal: string } {
  return { agent: event.agent ?? '', proposal: (event.data as { proposal?: string | null }).proposal ?? '' }
}

function countsOf<T, K>(values: readonly T[], key: (value: T) => K): Map<K, number> {
  const counts = new Map<K, number>()
  for (const value of values) counts.set(key(value), (counts.get(key(value)) ?? 0) + 1)
  return counts
}
