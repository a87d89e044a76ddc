import type { History } from '../../history/history.ts'
import type { Event, EventData, EventKind } from '../../wire/events.ts'
import { pointOf, type ReplayedTask, type ReplayPoint } from './points.ts'

/** Longer turns are replayed up to here. */
const stepsMost = 20
/** So many events of one turn are read at most. */
const eventsMost = 1000

/** One model call of a recorded turn, and what its tools did. */
export interface TapeStep {
  call: Event<'model.called'>
  point: ReplayPoint
  /** Commands that were the only one of their tool call, so that its output is theirs. */
  commands: { what: string; exitCode: number | null; timedOut: boolean; durationMs: number; output: string }[]
  /** Calls of the step before whose outputs come from there. */
  answeredFromTape: ReadonlySet<string>
  /** Hashes of the answer of the step before. */
  previousOutput: ReadonlySet<string>
}

export interface Tape extends Pick<ReplayedTask, 'task' | 'created' | 'model'> {
  turn: number
  /** null: the turn has not ended. */
  outcome: EventData<'turn.ended'>['outcome'] | null
  steps: TapeStep[]
}

/** The newest turn of the agent's tasks that has ended well, else the one that runs. null: no model has answered yet. */
export async function readTape(history: History, agent: string): Promise<Tape | null> {
  const view = { agent }
  const ended = await history.read(view, { kinds: ['turn.ended'], order: 'desc', limit: 20 })
  const whole = ended.events.find(
    (event) =>
      event.kind === 'turn.ended' &&
      event.run === 'task' &&
      event.data.steps > 0 &&
      (event.data.outcome === 'yielded' || event.data.outcome === 'completed'),
  )
  const latest = await history.read(view, { kinds: ['model.called'], order: 'desc', limit: 20 })
  const place = whole ?? latest.events.find(({ run }) => run === 'task')
  if (place === undefined || place.task === null || place.turn === null) return null
  const created = await history.latest(view, 'task.created', { task: place.task })
  if (created === null) return null
  const { task, turn } = place
  const read = async (kinds: EventKind[]) =>
    (await history.read(view, { kinds, task, turn, order: 'asc', limit: eventsMost })).events
  const calls = (await read(['model.called']))
    .flatMap((event) => (isAnswered(event) ? [event] : []))
    .slice(0, stepsMost)
  if (calls.length === 0) return null
  const work = await read(['sandbox.executed', 'tool.finished'])
  const steps: TapeStep[] = []
  let answered = new Set<string>()
  for (const [index, call] of calls.entries()) {
    const own = work.filter(({ step }) => step === call.step)
    const { commands, calls: done } = await commandsOf(history, own)
    const previousOutput = new Set(calls[index - 1]?.data.output.map(({ hash }) => hash))
    steps.push({
      call,
      point: await pointOf(history, agent, task, call, index > 0),
      commands,
      answeredFromTape: answered,
      previousOutput,
    })
    answered = done
  }
  const outcome = whole?.kind === 'turn.ended' && calls.length === whole.data.steps ? whole.data.outcome : null
  return { task, turn, outcome, created: created.data, model: created.data.model, steps }
}

async function commandsOf(history: History, events: readonly Event[]) {
  const executed = events.filter((event) => event.kind === 'sandbox.executed')
  const commands: TapeStep['commands'] = []
  const calls = new Set<string>()
  for (const event of events) {
    if (event.kind !== 'tool.finished') continue
    const own = executed.filter(({ data }) => data.call === event.data.call)
    const [only] = own
    if (own.length !== 1 || only?.data.op !== 'exec') continue
    const { outputBlob, output } = event.data
    const { what, exitCode, timedOut, durationMs } = only.data
    const text = outputBlob === undefined ? output : (await history.getBlob(outputBlob)).toString('utf8')
    commands.push({ what, exitCode, timedOut, durationMs, output: text })
    calls.add(event.data.call)
  }
  return { commands, calls }
}

function isAnswered(event: Event): event is Event<'model.called'> {
  if (event.kind !== 'model.called' || event.run !== 'task') return false
  return event.data.status === 'completed' || event.data.status === 'incomplete'
}
