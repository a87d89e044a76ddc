import { failpoint } from '../failpoints.ts'
import type { History, ReadOptions } from '../history/history.ts'
import { draft, type Event, type EventData, type EventDraft, type EventKind, type ModelChoice } from '../wire/events.ts'
import { lostJobs } from './jobs.ts'
import type { MeterState } from './meter.ts'
import { closeModelCalls } from './open-model-calls.ts'

const endKinds = ['executor.stopped', 'executor.crashed', 'executor.hung'] as const satisfies EventKind[]
/** Events that only work in hand leaves. */
const workKinds = [
  'turn.started',
  'model.attempted',
  'model.called',
  'sandbox.executed',
  'task.progressed',
] as const satisfies EventKind[]

/**
 * Closes what a kill left open in a task: model calls without an end (what was set aside for them is charged), executors
 * without one, tool calls without one (their effect is unknown), and a turn without one. The order is that of a live interruption, so a policy rebuilds the same context in both cases.
 */
export async function closeOpenWork(
  history: History,
  { agent, task, model }: { agent: string; task: string; model: Pick<ModelChoice, 'api' | 'simulated'> },
): Promise<{ calls: number; turns: number; charged: number }> {
  const executors = new Map<number | null, Event>()
  for await (const event of every(history, agent, task, { kinds: ['executor.started', ...endKinds] })) {
    if (event.kind === 'executor.started') executors.set(event.generation, event)
    else executors.delete(event.generation)
  }
  // An executor that ends takes its open calls along: what is open now is of those that have no end.
  const since = Math.min(...[...executors.values()].map(({ seq }) => seq))
  const calls = executors.size === 0 ? [] : await openCalls(history, agent, task, since)
  const turn = await openTurn(history, agent, task)
  const modelKinds = ['model.reserved', 'model.attempted', 'model.called'] as const
  // Of the whole task: an executor may have had its end before what it had asked for had.
  const asked = await closeModelCalls(every(history, agent, task, { kinds: modelKinds }), model)
  const drafts: EventDraft[] = [
    ...asked.drafts,
    ...[...executors.values()].map((event) =>
      draft('executor.stopped', { reason: 'the kernel ended' }, { ...headerOf(event), turn: null, step: null }),
    ),
    ...calls.map((event) =>
      draft(
        'tool.finished',
        {
          call: event.data.call,
          name: event.data.name,
          outcome: 'interrupted',
          output: unknownEffect,
          outputBytes: Buffer.byteLength(unknownEffect),
          durationMs: null,
        },
        headerOf(event),
      ),
    ),
  ]
  if (turn !== null) {
    const { event, steps } = turn
    const data = { outcome: 'interrupted', reason: 'the kernel ended in the middle of it', steps } as const
    drafts.push(draft('turn.ended', data, { ...headerOf(event), step: null }))
  }
  drafts.push(...(await lostJobs(history, agent, task)))
  failpoint('recovery:before-closed')
  if (drafts.length > 0) await history.append(drafts)
  failpoint('recovery:after-closed')
  return { calls: calls.length, turns: turn === null ? 0 : 1, charged: asked.charged }
}

const unknownEffect = 'interrupted: effect unknown'

/** Where the meter of a task goes on. */
export async function meterState(history: History, agent: string, task: string): Promise<MeterState> {
  const [totals, steps, lastTurn, claimed] = await Promise.all([
    history.totals({ task }),
    history.steps(task),
    history.latest({ agent }, 'turn.started', { task }),
    history.latest({ agent }, 'task.claimed', { task }),
  ])
  const last = steps.reduce<MeterState['lastStep']>(
    (latest, { turn, step }) => (latest === null || step > latest.step ? { turn, step } : latest),
    null,
  )
  return {
    lastStep: last,
    lastTurn: lastTurn?.turn ?? 0,
    workedMs: await workedMs(history, agent, task),
    progress: totals.progress,
    accepted: claimed?.data.reason ?? null,
  }
}

/** What the operator and the executor left open in a task that an earlier kernel had started: a pause, a question. */
export async function leftOpen(
  history: History,
  agent: string,
  task: string,
): Promise<{ paused: EventData<'task.paused'> | null; question: string | null }> {
  const latest = <K extends EventKind>(kind: K) => history.latest({ agent }, kind, { task })
  const [paused, resumed, asked, answered, steered] = await Promise.all([
    latest('task.paused'),
    latest('task.resumed'),
    latest('task.asked'),
    latest('task.answered'),
    latest('task.steered'),
  ])
  const said = Math.max(answered?.seq ?? 0, steered?.seq ?? 0)
  return {
    paused: paused !== null && paused.seq > (resumed?.seq ?? 0) ? paused.data : null,
    question: asked !== null && asked.seq > said ? asked.data.question : null,
  }
}

/** Where some step's cost is not known, it counts as the dearest one that is: never as nothing while there is one. */
export async function knownSpend(history: History, task: string): Promise<number> {
  const costs = (await history.steps(task)).map(({ costNanoUsd }) => costNanoUsd)
  const dearest = costs.reduce<number>((most, cost) => Math.max(most, cost ?? 0), 0)
  return costs.reduce<number>((sum, cost) => sum + (cost ?? dearest), 0)
}

/**
 * How long the turns of a task have run, ms: the time between hosts is no work. Of a turn that a kill cut there are only the
 * times of its events, and what the wall clock did in between: it counts as no longer than it could have lasted.
 */
async function workedMs(history: History, agent: string, task: string): Promise<number> {
  let worked = 0
  let turn: Event<'turn.started'> | null = null
  for await (const event of every(history, agent, task, { kinds: ['turn.started', 'turn.ended'] })) {
    if (event.kind === 'turn.started') turn = event
    if (event.kind !== 'turn.ended' || turn === null) continue
    worked += event.data.durationMs ?? (await estimatedMs(history, agent, task, turn, event))
    turn = null
  }
  return worked
}

async function estimatedMs(
  history: History,
  agent: string,
  task: string,
  from: Event<'turn.started'>,
  end: Event<'turn.ended'>,
): Promise<number> {
  const until = end.data.outcome === 'interrupted' ? await lastWork(history, agent, task, end.seq) : end.at
  return Math.min(Math.max(0, until - from.at), from.data.maxMs + overtimeMs)
}

/** A turn is cancelled when it has run so long beyond its time. */
const overtimeMs = 60_000

async function lastWork(history: History, agent: string, task: string, before: number): Promise<number> {
  const { events } = await history.read({ agent }, { task, before, kinds: workKinds, order: 'desc', limit: 1 })
  return events[0]?.at ?? 0
}

async function openCalls(
  history: History,
  agent: string,
  task: string,
  after: number,
): Promise<Event<'tool.called'>[]> {
  const open = new Map<string, Event<'tool.called'>>()
  for await (const event of every(history, agent, task, { after, kinds: ['tool.called', 'tool.finished'] })) {
    if (event.kind === 'tool.called') open.set(event.data.call, event)
    if (event.kind === 'tool.finished') open.delete(event.data.call)
  }
  return [...open.values()]
}

async function openTurn(
  history: History,
  agent: string,
  task: string,
): Promise<{ event: Event<'turn.started'>; steps: number } | null> {
  const event = await history.latest({ agent }, 'turn.started', { task })
  const ended = await history.latest({ agent }, 'turn.ended', { task })
  if (event === null || (ended !== null && ended.seq > event.seq)) return null
  const steps = new Set<number | null>()
  for await (const { step } of every(history, agent, task, { after: event.seq, kinds: ['model.called'] }))
    steps.add(step)
  return { event, steps: steps.size }
}

function headerOf({ generation, turn, step, revision, agent, task, run }: Event): Omit<EventDraft, 'kind' | 'data'> {
  return { actor: 'kernel', agent, task, run, generation, turn, step, revision }
}

async function* every(
  history: History,
  agent: string,
  task: string,
  options: Pick<ReadOptions, 'kinds' | 'after'>,
): AsyncGenerator<Event> {
  let after: number | null = options.after ?? 0
  while (after !== null) {
    const page = await history.read({ agent }, { ...options, task, after, limit: 1000 })
    yield* page.events
    after = page.next
  }
}
