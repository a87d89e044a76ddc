import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { Tasks } from '../tasks/tasks.ts'
import type { Event, EventKind } from '../wire/events.ts'
import { type DecisionTime, decisionWindowMs } from '../wire/operator-decision-time.ts'
import { median } from '../wire/statistics.ts'

const kinds = [
  'turn.started',
  'turn.ended',
  'sandbox.executed',
  'tool.finished',
  'model.called',
] as const satisfies EventKind[]

/** Tasks whose decisions are kept at hand. */
const atHand = 50

/** How long a task's decisions took, by windows of its active time; folded from its events in order. */
export class Decisions {
  readonly #windows: number[][] = []
  /** Of the turns that have ended. */
  #workedMs = 0
  #turnFrom: number | null = null
  #latest = 0
  /** When the model was given what it decides on; null: no turn runs. */
  #input: number | null = null
  /** The answer to that input so far: another may follow, as where the executor has the context summed up first. */
  #answer: { at: number; activeMs: number } | null = null

  add(event: Event): void {
    const before = this.#latest
    if (!isCut(event)) this.#latest = Math.max(before, event.at)
    switch (event.kind) {
      case 'turn.started':
        this.#settle()
        this.#turnFrom = event.at
        this.#input = event.at
        break
      case 'turn.ended':
        this.#settle()
        // A turn that a kill cut ended with its last work, whenever that was found.
        this.#workedMs +=
          event.data?.durationMs ?? this.#sinceTurn(event.data?.outcome === 'interrupted' ? before : event.at)
        this.#turnFrom = null
        this.#input = null
        break
      case 'sandbox.executed':
        this.#settle()
        if (this.#turnFrom !== null) this.#input = event.at
        break
      case 'tool.finished':
        // Recorded when its result is sent on: a tool that used the sandbox had ended before.
        if (this.#answer !== null && this.#turnFrom !== null) {
          this.#settle()
          this.#input = event.at
        }
        break
      case 'model.called':
        if (event.data === null || event.data.status === 'failed' || event.data.status === 'aborted') break
        if (this.#input !== null) this.#answer = { at: event.at, activeMs: this.#activeMs(event.at) }
        break
      default:
    }
  }

  figures(): DecisionTime {
    const windows = this.#windows.map((list) => [...list])
    if (this.#answer !== null) put(windows, this.#answer.activeMs, this.#answer.at - (this.#input ?? this.#answer.at))
    return {
      windowMs: decisionWindowMs,
      activeMs: this.#activeMs(this.#latest),
      windows: Array.from(windows, (list = [], index) => ({
        fromMs: index * decisionWindowMs,
        decisions: list.length,
        medianMs: median(list),
        longestMs: list.length === 0 ? null : list.reduce((longest, ms) => Math.max(longest, ms), 0),
      })),
    }
  }

  #settle(): void {
    if (this.#answer !== null && this.#input !== null)
      put(this.#windows, this.#answer.activeMs, this.#answer.at - this.#input)
    this.#answer = null
  }

  #activeMs(at: number): number {
    return this.#workedMs + this.#sinceTurn(at)
  }

  #sinceTurn(at: number): number {
    return this.#turnFrom === null ? 0 : Math.max(0, at - this.#turnFrom)
  }
}

/** What is closed for an executor that is gone, at whatever time: no work of its own. */
function isCut(event: Event): boolean {
  if (event.kind === 'tool.finished') return event.data?.outcome === 'interrupted'
  if (event.kind === 'model.called') return event.data?.status === 'aborted'
  return event.kind === 'turn.ended' && event.data?.outcome === 'interrupted'
}

function put(windows: number[][], activeMs: number, ms: number): void {
  const index = Math.floor(activeMs / decisionWindowMs)
  while (windows.length <= index) windows.push([])
  windows[index]?.push(Math.max(0, ms))
}

/**
 * A median needs every value, so this alone is no roll-up: a task's events are read once, and from then on only what came
 * since.
 */
export function createDecisionTime({ history, tasks }: { history: History; tasks: Pick<Tasks, 'states'> }) {
  const known = new Map<string, { decisions: Decisions; after: number; turn: Promise<unknown> }>()

  return async function decisionTime(task: string): Promise<DecisionTime> {
    if (!tasks.states().some((state) => state.task === task))
      throw new KernelError('not-found', `there is no task ${task}`)
    const found = known.get(task) ?? { decisions: new Decisions(), after: 0, turn: Promise.resolve() }
    known.delete(task)
    known.set(task, found)
    const [oldest] = known.keys()
    if (known.size > atHand && oldest !== undefined) known.delete(oldest)
    // One reader at a time: each event is added once.
    const read = found.turn.then(async () => {
      let next: number | null = found.after
      while (next !== null) {
        const page = await history.read({ agent: null }, { task, kinds, after: next, limit: 1000 })
        for (const event of page.events) {
          found.decisions.add(event)
          found.after = event.seq
        }
        next = page.next
      }
      return found.decisions.figures()
    })
    found.turn = read.catch(() => {})
    return read
  }
}
