import type { History } from '../../history/history.ts'
import type { Event, EventData, ModelChoice } from '../../wire/events.ts'

/** A recorded model call at which a policy is run again. */
export interface ReplayPoint {
  turn: number
  step: number
  /** Of its `model.called`. */
  seq: number
  /** The last event that there was when its request was about to be made. */
  asOf: number
  /** When it was made, epoch ms. */
  at: number
  request: number
  revision: string | null
  /** Input tokens as the provider metered them; null: it did not. */
  inputTokens: number | null
  outputTokens: number
  /** The call before it is a point too. */
  followsLast: boolean
}

/** The task that is replayed: the agent's latest in which a model has answered. */
export interface ReplayedTask {
  task: string
  created: EventData<'task.created'>
  model: ModelChoice
  points: ReplayPoint[]
}

type Called = Event<'model.called'>
/** Further than this from a point's request nobody looks for its reservation. */
const eventsLookedBack = 20

/**
 * The newest steps one after the other, and pairs of steps spread over what came before, oldest first.
 * null: no task of this agent has a step that a model has answered.
 */
export async function replayPoints(history: History, agent: string, count: number): Promise<ReplayedTask | null> {
  const view = { agent }
  const latest = await history.read(view, { kinds: ['model.called'], order: 'desc', limit: eventsLookedBack })
  const task = latest.events.filter(isCalled).find(isAnswered)?.task
  if (typeof task !== 'string') return null
  const created = await history.latest(view, 'task.created', { task })
  if (created === null) return null
  const calls = await chosenCalls(history, agent, task, count)
  const points: ReplayPoint[] = []
  for (const { call, followsLast } of calls) points.push(await pointOf(history, agent, task, call, followsLast))
  return { task, created: created.data, model: created.data.model, points }
}

async function chosenCalls(history: History, agent: string, task: string, count: number) {
  const options = { kinds: ['model.called'] as const, task }
  const newest = (await history.read({ agent }, { ...options, order: 'desc', limit: Math.ceil(count / 2) })).events
  const first = (await history.read({ agent }, { ...options, order: 'asc', limit: 1 })).events[0]?.seq ?? 0
  const chosen = new Map<number, { call: Called; next: number | null }>()
  const add = (events: readonly Event[]) => {
    for (const [index, call] of events.entries())
      if (isCalled(call))
        chosen.set(call.seq, { call, next: events[index + 1]?.seq ?? chosen.get(call.seq)?.next ?? null })
  }
  add([...newest].reverse())
  const windowFrom = Math.min(...chosen.keys())
  const pairs = Math.floor((count - chosen.size) / 2)
  for (let index = 0; index < pairs; index += 1) {
    const after = first - 1 + Math.floor(((windowFrom - first) * index) / pairs)
    const pair = await history.read({ agent }, { ...options, order: 'asc', after, limit: 2 })
    add(pair.events)
  }
  const ordered = [...chosen.values()].filter(({ call }) => isAnswered(call)).sort((a, b) => a.call.seq - b.call.seq)
  return ordered.map(({ call }, index) => ({ call, followsLast: ordered[index - 1]?.next === call.seq }))
}

/** The moment at which this call's request was made. */
export async function pointOf(
  history: History,
  agent: string,
  task: string,
  call: Called,
  followsLast: boolean,
): Promise<ReplayPoint> {
  const { events } = await history.read(
    { agent },
    { kinds: ['model.reserved', 'model.attempted'], task, before: call.seq, order: 'desc', limit: eventsLookedBack },
  )
  // The first try of this very request; older histories have no reservations.
  const own = events.filter((event) => event.turn === call.turn && event.step === call.step)
  const { usage, request } = call.data
  return {
    turn: call.turn ?? 0,
    step: call.step ?? 0,
    seq: call.seq,
    asOf: (own.at(-1)?.seq ?? call.seq) - 1,
    at: own.at(-1)?.at ?? call.at,
    request,
    revision: call.revision,
    inputTokens: usage === null ? null : usage.uncached + usage.cacheRead + usage.cacheWrite,
    outputTokens: usage?.output ?? 0,
    followsLast,
  }
}

function isCalled(event: Event): event is Called {
  return event.kind === 'model.called'
}

function isAnswered({ run, data }: Called): boolean {
  return run === 'task' && (data.status === 'completed' || data.status === 'incomplete')
}
