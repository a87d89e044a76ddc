import type { UsageReport, UsageRow } from '#wire'
import type { Tool } from '../tool.ts'

export const tool: Tool<Record<string, never>> = {
  name: 'report',
  description: 'What this task has cost so far and where it went: tokens, tools, repeated calls, budget left.',
  properties: {},
  required: [],
  run: async (_args, kernel) => compact(await kernel.call('report.usage', { scope: 'task' })),
}

function compact(report: UsageReport): string {
  const { composition, budgetLeft, progress } = report
  const lines = [`all: ${spend(report.total)}`]
  for (const row of report.byActivation) {
    lines.push(`r${row.activation}: ${row.steps} steps, ${spend(row)}, progress ${row.progressDelta ?? 'unknown'}`)
  }
  if (report.cachedShare !== null) lines.push(`cached share of input: ${(report.cachedShare * 100).toFixed(1)} %`)
  lines.push(
    `last request: instructions ${composition.instructions}, tools ${composition.tools}, messages ${composition.messages}, results ${composition.toolResults} tokens`,
  )
  for (const row of report.byTool.slice(0, 12)) {
    lines.push(
      `${row.name}: ${row.calls} calls, ${row.errors} errors, ${row.outputBytes} bytes, ${Math.round(row.durationMs)} ms`,
    )
  }
  for (const row of report.repeatedCalls.slice(0, 5)) {
    lines.push(`repeated ${row.count} times: ${row.name} ${row.arguments.slice(0, 120)}`)
  }
  for (const row of report.cacheBreaks.slice(-5))
    lines.push(`cache break at seq ${row.seq}: ${row.kind} ${row.index} differs`)
  const left = [
    budgetLeft.nanoUsd === null ? null : `${usd(budgetLeft.nanoUsd)}`,
    budgetLeft.tokens === null ? null : `${budgetLeft.tokens} tokens`,
    budgetLeft.steps === null ? null : `${budgetLeft.steps} steps`,
  ].filter((part) => part !== null)
  lines.push(`budget left: ${left.length === 0 ? 'no limit' : left.join(', ')}`)
  if (progress !== null)
    lines.push(`progress: ${progress.value} of ${progress.goal ?? '?'} ${progress.unit} (${progress.source})`)
  return lines.join('\n')
}

function spend(row: UsageRow): string {
  const cost = row.costNanoUsd === null ? 'cost unknown' : usd(row.costNanoUsd)
  return `${row.calls} model calls (${row.failed} failed), tokens ${row.uncached} new + ${row.cacheRead} cached + ${row.output} out, ${cost}`
}

function usd(nanoUsd: number): string {
  return `$${(nanoUsd / 1e9).toFixed(4)}`
}
