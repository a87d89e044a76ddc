import type { History } from '../history/history.ts'
import type { TokenCounter } from '../models/models.ts'
import type { Event } from '../wire/events.ts'
import type { ToolRow } from '../wire/operator-tools.ts'
import { median } from '../wire/statistics.ts'

/** Latest finished calls of each tool that medians are taken of. */
const sampled = 100
/** Of these, whose results are counted in tokens. */
const counted = 20
/** Latest calls of the agent, of all tools, whose steps are compared for cost. */
const costWindow = 1000
const costTasks = 20
/** Latest tasks that used a tool, whose steps before and since it are compared. */
const savedTasks = 10

const weekMs = 7 * 86_400_000

type Figures = Pick<
  ToolRow,
  | 'calls'
  | 'errors'
  | 'interrupted'
  | 'callsLast7Days'
  | 'medianMs'
  | 'outputBytes'
  | 'resultTokens'
  | 'costShare'
  | 'lastUsedAt'
>

/** Counts come from roll-ups; what has none is taken of the latest calls, never of the whole log. */
export function createFigures({ history, tokens }: { history: History; tokens: TokenCounter }) {
  async function finished(agent: string, tool: string, limit = sampled): Promise<Event<'tool.finished'>[]> {
    const page = await history.read({ agent }, { tool, kinds: ['tool.finished'], order: 'desc', limit })
    return page.events as Event<'tool.finished'>[]
  }

  async function lastUsedAt(agent: string, tool: string): Promise<number | null> {
    const { events } = await history.read({ agent }, { tool, kinds: ['tool.called'], order: 'desc', limit: 1 })
    return events[0]?.at ?? null
  }

  /** Cost of the steps that called a tool, as a share of all steps since the earliest call of the window. */
  async function costShares(agent: string): Promise<(tool: string) => number | null> {
    const { events } = await history.read({ agent }, { kinds: ['tool.called'], order: 'desc', limit: costWindow })
    const byTask = new Map<string, Event<'tool.called'>[]>()
    for (const event of events as Event<'tool.called'>[]) {
      if (event.task === null || event.turn === null || event.step === null || event.run === 'check') continue
      const own = byTask.get(event.task)
      if (own !== undefined) own.push(event)
      else if (byTask.size < costTasks) byTask.set(event.task, [event])
    }
    let total: number | null = 0
    const byTool = new Map<string, number>()
    for (const [task, calls] of byTask) {
      const first = calls.at(-1)
      const steps = await history.steps(task, { afterTurn: first?.turn ?? 0, afterStep: (first?.step ?? 0) - 1 })
      const costs = new Map(steps.map((step) => [`${step.turn} ${step.step}`, step.costNanoUsd]))
      for (const cost of costs.values()) total = total === null || cost === null ? null : total + cost
      const once = new Map(calls.map((call) => [`${call.turn} ${call.step} ${call.data.name}`, call]))
      for (const { turn, step, data } of once.values())
        byTool.set(data.name, (byTool.get(data.name) ?? 0) + (costs.get(`${turn} ${step}`) ?? 0))
    }
    const whole = total
    return (tool) => (whole === null || whole === 0 ? null : (byTool.get(tool) ?? 0) / whole)
  }

  return {
    finished,

    /** By tool; one that was never called has zeros. */
    async of(agent: string, names: readonly string[], now: number): Promise<(tool: string) => Figures> {
      const [totals, share] = await Promise.all([history.tools({ agent }), costShares(agent)])
      const byName = new Map(totals.map((row) => [row.name, row]))
      const found = new Map<string, Figures>()
      for (const name of names) {
        const row = byName.get(name)
        const [sample, at, week] = await Promise.all([
          finished(agent, name),
          lastUsedAt(agent, name),
          history.toolCallsSince(agent, name, now - weekMs),
        ])
        const bytes = row?.outputBytes ?? 0
        found.set(name, {
          calls: row?.calls ?? 0,
          errors: row?.errors ?? 0,
          interrupted: row?.interrupted ?? 0,
          callsLast7Days: week,
          medianMs: median(sample.flatMap(({ data }) => data.durationMs ?? [])),
          outputBytes: bytes,
          resultTokens: Math.round(bytes * tokensPerByte(sample)),
          costShare: share(name),
          lastUsedAt: at,
        })
      }
      return (tool) => found.get(tool) ?? none
    },

    /** Tokens a step before an activation and since, in the latest tasks that used the tool and ran under both; null: there are none. */
    async saved(agent: string, tool: string, activation: number): Promise<ToolRow['saved']> {
      const tasks = [...new Set((await finished(agent, tool)).flatMap((event) => event.task ?? []))].slice(
        0,
        savedTasks,
      )
      const sums = { before: 0, after: 0, stepsBefore: 0, stepsAfter: 0 }
      for (const task of tasks) {
        for (const row of await history.activations(task)) {
          const used = row.uncached + row.cacheRead + row.cacheWrite + row.output
          if (row.activation < activation) {
            sums.before += used
            sums.stepsBefore += row.steps
          } else {
            sums.after += used
            sums.stepsAfter += row.steps
          }
        }
      }
      const { before, after, stepsBefore, stepsAfter } = sums
      if (stepsBefore === 0 || stepsAfter === 0) return null
      return { before: before / stepsBefore, after: after / stepsAfter, stepsBefore, stepsAfter }
    },
  }

  function tokensPerByte(sample: readonly Event<'tool.finished'>[]): number {
    const outputs = sample.slice(0, counted).map(({ data }) => data.output)
    const bytes = outputs.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    return bytes === 0 ? 0 : outputs.reduce((sum, text) => sum + tokens.count(text), 0) / bytes
  }
}

const none: Figures = {
  calls: 0,
  errors: 0,
  interrupted: 0,
  callsLast7Days: 0,
  medianMs: null,
  outputBytes: 0,
  resultTokens: 0,
  costShare: null,
  lastUsedAt: null,
}
