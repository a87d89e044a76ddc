import type { EventData, EventKind } from '../../kernel/wire/events.ts'
import type { EventRow, TaskSummary } from '../../kernel/wire/operator.ts'
import { hint } from '../command-name.ts'
import { dollars, inert, percent, short } from './text.ts'

/** Steps between two lines about steps, whatever time has passed. */
const everySteps = 25
const everyMs = 2_000

/**
 * What a person reads while a task runs: a line for every event that changes something, and one every few steps.
 * Feed it the agent's events in order.
 */
export class Progress {
  private readonly agent: string
  private readonly now: () => number
  private step = 0
  private shownStep = 0
  private shownAt = Number.NEGATIVE_INFINITY
  private calls = 0
  private input = 0
  private cached = 0
  private costNanoUsd: number | null = 0
  private simulated = false
  private progress: TaskSummary['progress'] = null
  private tool = ''

  /** @param from where the figures stand before the first event that is fed in. */
  constructor(agent: string, now: () => number, from?: Pick<TaskSummary, 'totals' | 'progress'>) {
    this.agent = agent
    this.now = now
    if (from === undefined) return
    const { totals } = from
    this.step = totals.steps
    this.shownStep = totals.steps
    this.calls = totals.modelCalls
    this.input = totals.uncached + totals.cacheRead + totals.cacheWrite
    this.cached = totals.cacheRead
    this.costNanoUsd = totals.costNanoUsd
    this.progress = from.progress
  }

  /** The line that an event gives rise to, or null. */
  line(event: EventRow): string | null {
    this.add(event)
    const told = tell(event, this.agent)
    if (told !== null) return told
    if (event.kind !== 'model.called' || this.step === this.shownStep) return null
    if (this.step - this.shownStep < everySteps && this.now() - this.shownAt < everyMs) return null
    this.shownStep = this.step
    this.shownAt = this.now()
    return this.summary()
  }

  private add(event: EventRow): void {
    if (event.step !== null && event.kind === 'model.called') this.step += 1
    if (is(event, 'task.progressed')) this.progress = event.data
    else if (is(event, 'tool.called')) this.tool = event.data.name
    else if (is(event, 'model.called')) {
      const { usage, costNanoUsd, simulated } = event.data
      this.calls += 1
      this.simulated ||= simulated
      this.costNanoUsd = this.costNanoUsd === null || costNanoUsd === null ? null : this.costNanoUsd + costNanoUsd
      this.input += (usage?.uncached ?? 0) + (usage?.cacheRead ?? 0) + (usage?.cacheWrite ?? 0)
      this.cached += usage?.cacheRead ?? 0
    }
  }

  private summary(): string {
    const { progress } = this
    const parts = [
      `step ${this.step}`,
      progress && amount(progress),
      this.calls !== this.step && `${this.calls} model calls`,
      this.input > 0 && `${percent(this.cached / this.input)} cached`,
      dollars(this.costNanoUsd, this.simulated),
      this.tool !== '' && `last tool ${inert(this.tool, 40)}`,
    ]
    return `  ${parts.filter((part) => part !== null && part !== false).join(' · ')}`
  }
}

export function amount(progress: { value: number; goal: number | null; unit: string; source: string }): string {
  const goal = progress.goal === null ? '' : `/${progress.goal}`
  return `${progress.value}${goal} ${inert(progress.unit, 40)}${progress.source === 'reported' ? ' (reported)' : ''}`
}

function is<K extends EventKind>(event: EventRow, kind: K): event is EventRow & { kind: K; data: EventData<K> } {
  return event.kind === kind
}

/** Events worth a line of their own. Text of the agent is quoted and inert. */
function tell(event: EventRow, agent: string): string | null {
  const task = event.task ?? ''
  if (is(event, 'task.started')) return `${task} runs.`
  if (is(event, 'task.paused') && event.data.by === 'kernel')
    return `${task} is paused: ${inert(event.data.reason)}${waitsUntil(event.data, agent)}`
  if (is(event, 'task.paused')) return `${task} pauses at the next safe point: ${inert(event.data.reason)}`
  if (is(event, 'task.resumed')) return `${task} goes on.`
  if (is(event, 'task.asked'))
    return `${task} asks: "${inert(event.data.question, 1000)}"\n  ${hint(`answer with: exodesk answer ${task} TEXT`)}`
  if (is(event, 'task.graded') && event.data.error !== null)
    return `${task} could not be graded: ${inert(event.data.error)}`
  if (is(event, 'budget.reached')) {
    const { budget, scope = 'task', used, limit } = event.data
    const of = { task: 'its limit', agent: 'the limit of its agent', day: 'the limit of the day' }[scope]
    const amount = (n: number): string =>
      budget === 'usd' ? dollars(n) : budget === 'time' ? `${Math.round(n / 1000)} s` : `${n}`
    return `${task} has reached ${of} in ${budget === 'usd' ? 'USD' : budget}: ${amount(used)} of ${amount(limit)}`
  }
  if (is(event, 'executor.crashed')) {
    const why = event.data.outOfMemory ? 'out of memory' : `${event.data.signal ?? `exit ${event.data.exitCode}`}`
    return `the executor crashed (${why})`
  }
  if (is(event, 'executor.escalated'))
    return `after ${event.data.crashes} failures the kernel falls back to ${event.data.to}: ${inert(event.data.reason)}`
  if (is(event, 'executor.hung')) return `the executor hung (no ${event.data.watchdog} for ${event.data.afterMs} ms)`
  return tellPolicy(event, agent)
}

/** Of a pause that ends by itself: when. */
function waitsUntil({ cause, reason }: EventData<'task.paused'>, agent: string): string {
  if (cause === 'endpoint') return '\n  it waits, and goes on by itself once the endpoint answers again'
  if (cause !== 'budget') return ''
  return /\bbudget of the day\b/.test(reason)
    ? `\n  ${hint('it waits, and goes on by itself at midnight (local time), or once the budget is raised: exodesk budget --day USD (--day-tokens N)')}`
    : `\n  ${hint(`it waits, and goes on by itself once the budget is raised: exodesk budget --agent ${agent} --usd USD (--tokens N)`)}`
}

function tellPolicy(event: EventRow, agent: string): string | null {
  if (is(event, 'proposal.made')) {
    const { proposal, by, claim, files, problems } = event.data
    const changed = `${files.length} ${files.length === 1 ? 'file' : 'files'}`
    const refused = problems.length > 0 ? `, refused: ${inert(problems[0]?.problem ?? '')}` : ''
    return `${proposal} proposed by the ${by === 'executor' ? 'agent' : 'operator'}, ${changed}${refused}. It claims: "${inert(claim)}"`
  }
  if (is(event, 'proposal.checked') && event.data.verdict !== 'pass')
    return `${event.data.proposal} check ${event.data.check}: ${event.data.verdict}: ${inert(event.data.summary)}`
  if (is(event, 'proposal.readied'))
    return `${event.data.proposal} is ready for a verdict, risk ${event.data.risk}. ${hint(`Read it: exodesk proposals ${event.data.proposal} --agent ${agent}`)}`
  if (is(event, 'proposal.reviewed')) {
    const { proposal, verdict, by, reason } = event.data
    return `${proposal} ${verdict} by ${by === 'flag' ? "this run's flag" : `the ${by}`}${reason === '' ? '' : `: ${inert(reason)}`}`
  }
  if (is(event, 'proposal.recalled'))
    return `${event.data.proposal} waits for a verdict again: the time until which it was put off has come`
  if (is(event, 'revision.activated')) {
    const { activation, revision, cause, proposal } = event.data
    return `r${activation} is active (${proposal ?? cause}, revision ${short(revision)})`
  }
  if (is(event, 'revision.activation-failed'))
    return `${event.data.proposal ?? 'the revision'} could not be activated (${event.data.stage}): ${inert(event.data.error)}`
  if (is(event, 'revision.confirmed')) return `r${event.data.activation} has passed its probation`
  if (is(event, 'revision.rolled-back'))
    return `r${event.data.from.activation} was rolled back (${event.data.cause}): ${inert(event.data.reason)}`
  return null
}
