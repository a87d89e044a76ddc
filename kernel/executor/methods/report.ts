import type { EventData } from '../../wire/events.ts'
import type { TokenUsage, UsageReport, UsageRow } from '../../wire/executor.ts'
import { cachedShareOf } from '../../wire/statistics.ts'
import type { Methods } from '../channel.ts'
import type { Running } from '../running.ts'

const breaksShown = 50
const repeatsShown = 20
/** An agent's report goes this many tasks back for its activations. */
const tasksShown = 50

/** Everything measured by the kernel, from roll-ups: no report scans the log. Breaks and repeated calls are the running task's in either scope. */
export function reportMethods(running: Running): Pick<Methods, 'report.usage'> {
  const { history, gateway } = running.parts
  const { agent } = running.spec
  const { task, brief } = running.spec.task

  return {
    async 'report.usage'(params) {
      const scope = params.scope ?? 'task'
      const of = scope === 'task' ? { task } : { agent }
      const [totals, ofTask, byModel, tools, cacheBreaks, repeatedCalls, latestCall, byActivation] = await Promise.all([
        history.totals(of),
        history.totals({ task }),
        history.byModel(of),
        history.tools(of),
        history.cacheBreaks(task, breaksShown),
        history.repeatedCalls(task, repeatsShown),
        history.latest({ agent }, 'model.called', { task }),
        activations(running, scope),
      ])
      const budget = gateway.budget(task)
      return {
        scope,
        total: row('total', totals.modelCalls, totals.failedCalls, totals),
        byModel: byModel.map((model) => row(model.model, model.calls, model.failed, model)),
        byActivation,
        byTool: tools,
        cachedShare: cachedShareOf(totals),
        cacheBreaks: cacheBreaks.map((found) => ({ ...found, kind: found.kind as BreakKind })),
        composition: parts(latestCall?.data.composition),
        repeatedCalls,
        budgetLeft: {
          nanoUsd: left(budget?.limitNanoUsd, budget?.spentNanoUsd),
          tokens: left(budget?.limitTokens, budget?.spentTokens),
          steps: left(brief.limits.maxSteps, ofTask.steps),
        },
        progress: ofTask.progress,
      }
    },
  }
}

/** The wire knows no memory: it is told as the messages that it is in. */
function parts(found?: EventData<'model.called'>['composition']): UsageReport['composition'] {
  if (found === undefined) return { instructions: 0, tools: 0, messages: 0, toolResults: 0 }
  const { memory = 0, ...others } = found
  return { ...others, messages: others.messages + memory }
}

type BreakKind = UsageReport['cacheBreaks'][number]['kind']

async function activations(running: Running, scope: 'task' | 'agent'): Promise<UsageReport['byActivation']> {
  const { history } = running.parts
  const { agent, task } = running.spec
  const rows = []
  for (const name of scope === 'task' ? [task.task] : await latestTasks(running, agent)) {
    rows.push(...(await history.activations(name)))
  }
  return rows.map((found) => ({
    ...row(`r${found.activation}`, found.modelCalls, found.failedCalls, found),
    activation: found.activation,
    revision: found.revision,
    steps: found.steps,
    progressDelta:
      found.progressFrom === null || found.progressTo === null ? null : found.progressTo - found.progressFrom,
  }))
}

async function latestTasks(running: Running, agent: string): Promise<string[]> {
  const { events } = await running.parts.history.read(
    { agent },
    { kinds: ['task.created'], order: 'desc', limit: tasksShown },
  )
  return events.flatMap((event) => event.task ?? []).reverse()
}

function row(key: string, calls: number, failed: number, from: TokenUsage & { costNanoUsd: number | null }): UsageRow {
  const { uncached, cacheRead, cacheWrite, output, reasoning, costNanoUsd } = from
  return { key, calls, failed, uncached, cacheRead, cacheWrite, output, reasoning, costNanoUsd }
}

function left(limit: number | null | undefined, used: number | undefined): number | null {
  return limit === null || limit === undefined ? null : Math.max(0, limit - (used ?? 0))
}
