import type { CostReport, CostSums } from './operator-cost.ts'

/** The tables of a report as they leave it: whole figures, units in the head, and empty where a figure is not known. */

export const costTableNames = [
  ...(['models', 'revisions', 'tasks', 'tools', 'series', 'breaks', 'context', 'repeats', 'troubled'] as const),
]
export type CostTableName = (typeof costTableNames)[number]

export interface CostTable {
  head: readonly string[]
  rows: readonly (readonly (string | number | null)[])[]
}

const usageHead = ['calls', 'failed', 'unpriced', 'uncached_tokens', 'cache_read_tokens', 'cache_write_tokens'].concat([
  ...['output_tokens', 'reasoning_tokens', 'cost_usd', 'known_cost_usd', 'simulated_calls', 'estimated_calls'],
  'cache_not_reported_calls',
])
const usage = (row: CostSums) => [
  ...[row.calls, row.failed, row.unpriced, row.uncached, cacheReadOf(row), row.cacheWrite, row.output, row.reasoning],
  ...[usd(row.costNanoUsd), usd(row.knownNanoUsd), row.simulated, row.estimated, row.cacheUnreported],
]

/** null: no provider in it said what it read. */
export function cacheReadOf(row: Pick<CostSums, 'cacheRead' | 'calls' | 'cacheUnreported'>): number | null {
  return row.cacheUnreported > 0 && row.cacheUnreported === row.calls ? null : row.cacheRead
}

const name = (own: string, others: number | undefined) => (others === undefined ? own : `${others} others`)

export function costTable(report: CostReport, which: CostTableName): CostTable {
  switch (which) {
    case 'models':
      return {
        head: ['model', ...usageHead],
        rows: report.byModel.map((row) => [name(row.model, row.others), ...usage(row)]),
      }
    case 'revisions':
      return {
        head: ['agent', 'activation', 'revision', ...usageHead],
        rows: report.byRevision.map((row) => [
          name(row.agent, row.others),
          ...[row.activation, row.revision, ...usage(row)],
        ]),
      }
    case 'tasks':
      return {
        head: ['agent', 'task', ...usageHead],
        rows: report.byTask.map((row) => [row.agent, name(row.task, row.others), ...usage(row)]),
      }
    case 'tools':
      return {
        head: ['tool', 'purpose', 'tool_calls', 'uncached_tokens', 'cache_read_tokens', 'cache_write_tokens'].concat([
          ...['output_tokens', 'cost_usd', 'known_cost_usd'],
        ]),
        rows: report.byTool.map((row) => [
          ...[name(row.name, row.others), row.purpose, row.toolCalls, row.uncached, row.cacheRead, row.cacheWrite],
          ...[row.output, usd(row.costNanoUsd), usd(row.knownNanoUsd)],
        ]),
      }
    case 'series':
      return {
        head: [
          report.series.unit === 'step' ? 'first_step' : 'from',
          'calls',
          'uncached_tokens',
          'cache_read_tokens',
        ].concat([
          ...['cache_write_tokens', 'output_tokens', 'known_cost_usd', 'unpriced', 'cache_breaks', 'activation'],
          ...['instructions_tokens', 'tools_tokens', 'memory_tokens', 'messages_tokens', 'tool_results_tokens'],
        ]),
        rows: report.series.points.map((point) => [
          report.series.unit === 'step' ? point.from : new Date(point.from).toISOString(),
          ...[point.calls, point.uncached, point.cacheRead, point.cacheWrite, point.output, usd(point.knownNanoUsd)],
          ...[point.unpriced, point.breaks, point.activation, point.instructions, point.tools, point.memory],
          ...[point.messages, point.toolResults],
        ]),
      }
    case 'breaks':
      return {
        head: ['event', 'at', 'agent', 'task', 'turn', 'step', 'activation', 'model', 'item', 'kind', 'cause'].concat([
          ...['because', 'missed_tokens_estimated', 'missed_usd_estimated', 'call_cost_usd'],
        ]),
        rows: report.breaks.rows.map((row) => [
          ...[row.seq, new Date(row.at).toISOString(), row.agent, row.task, row.turn, row.step, row.activation],
          ...[row.model, row.item, row.what ?? row.kind, row.cause, row.because, row.missed],
          ...[usd(row.missedNanoUsd), usd(row.costNanoUsd)],
        ]),
      }
    case 'context':
      return {
        head: ['part', 'tokens_in_all_requests', 'tokens_in_latest', 'rent_usd_estimated'],
        rows: report.context.blocks.map((row) => [row.block, row.tokens, row.latest, usd(row.rentNanoUsd)]),
      }
    case 'repeats':
      return {
        head: ['task', 'tool', 'arguments', 'calls', 'tokens_of_repeats', 'cost_of_repeats_usd'],
        rows: report.repeats.map((row) => [
          ...[row.task, row.name, row.arguments, row.calls, row.tokens, usd(row.costNanoUsd)],
        ]),
      }
    case 'troubled':
      return {
        head: ['event', 'at', 'agent', 'task', 'model', 'status', 'usage', 'cost_usd', 'reason'],
        rows: report.troubled.map((row) => [
          ...[row.seq, new Date(row.at).toISOString(), row.agent, row.task, row.model, row.status, row.usageSource],
          ...[usd(row.costNanoUsd), row.reason],
        ]),
      }
  }
}

/** All of it: nano-dollars are the ninth decimal. null: not known. */
function usd(nanoUsd: number | null): string | null {
  if (nanoUsd === null) return null
  return `${Math.floor(nanoUsd / 1e9)}.${String(nanoUsd % 1e9).padStart(9, '0')}`
}

/** RFC 4180. Text that a spreadsheet would take for a formula is marked as text: names and arguments are a model's. */
export function csvOf({ head, rows }: CostTable): string {
  const cell = (value: string | number | null) => {
    if (value === null) return ''
    if (typeof value === 'number') return String(value)
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  }
  return `${[head, ...rows].map((row) => row.map(cell).join(',')).join('\r\n')}\r\n`
}
