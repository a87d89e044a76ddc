import type { CostReport, CostScope, CostSums } from '../../kernel/wire/operator-cost.ts'
import { cacheReadOf, costTable, costTableNames, csvOf } from '../../kernel/wire/operator-cost-tables.ts'
import { BadArguments, type Command, exitCode, oneOf, parseCommand, wholeNumber } from './command.ts'
import { withDesk } from './desk.ts'
import { dollars, inert, say, sayJson, table } from './text.ts'

const option = { type: 'string' } as const

export const cost: Command = {
  synopsis: '[--task T-n [--turn N] | --agent A | --today] [--csv TABLE]',
  summary: 'what was spent, by model, revision, task and tool; where the prompt cache broke, why, and what it cost',
  notes: [
    `--csv writes one table, whole: ${costTableNames.join(', ')}.`,
    'Money that was missed in the cache, and the rent of what every request carries, are estimates.',
  ],
  async run(args) {
    const options = { task: option, turn: option, agent: option, today: { type: 'boolean' }, csv: option } as const
    const { values, dataDir, json } = parseCommand(args, options)
    const scope = wantedScope(values)
    const csv = oneOf('--csv', values.csv as string | undefined, costTableNames)
    if (csv !== undefined && json) throw new BadArguments('--csv and --json do not go together')
    return withDesk(dataDir, async ({ desk }) => {
      const report = await desk.cost.report({ scope })
      if (json) sayJson(report)
      else if (csv !== undefined) process.stdout.write(csvOf(costTable(report, csv)))
      else for (const block of blocks(report)) say(`${block}\n`)
      return exitCode.done
    })
  },
}

/** @throws BadArguments where the options name more than one scope. */
export function wantedScope(values: { readonly [option: string]: unknown }): CostScope {
  const { task, turn, agent, today } = values as { task?: string; turn?: string; agent?: string; today?: boolean }
  const named = [task, agent, today === true ? '' : undefined].filter((value) => value !== undefined)
  if (named.length > 1) throw new BadArguments('--task, --agent and --today do not go together: give one of them')
  if (turn !== undefined && task === undefined) throw new BadArguments('--turn needs the --task that it is of')
  if (task !== undefined) {
    if (!/^T-\d+$/.test(task))
      throw new BadArguments(`--task takes the name of a task such as T-1, not ${JSON.stringify(task)}`)
    return turn === undefined ? { of: 'task', task } : { of: 'turn', task, turn: wholeNumber('--turn', turn) }
  }
  if (agent !== undefined) return { of: 'agent', agent }
  return today === true ? { of: 'today' } : { of: 'all' }
}

function blocks(report: CostReport): string[] {
  const { total, breaks } = report
  if (total.calls === 0) return ['No model has been called in this scope.']
  const simulated = total.simulated > 0
  const head = ['calls', 'failed', 'input', 'cache read', 'cache write', 'output', 'cost']
  const usage = (row: CostSums) => [
    ...[row.calls, row.failed, row.uncached, cacheReadOf(row) ?? 'not reported', row.cacheWrite, row.output],
    amount(row, row.simulated > 0),
  ]
  const shown = [
    table(
      ['model', ...head],
      [...report.byModel.map((row) => [named(row.model, row.others), ...usage(row)]), ['total', ...usage(total)]],
    ),
    table(
      ['revision', ...head],
      report.byRevision.map((row) => [
        row.others === undefined && row.activation > 0
          ? `${row.agent} r${row.activation}`
          : named('(the kernel)', row.others),
        ...usage(row),
      ]),
    ),
    table(
      ['tool', 'calls', 'input', 'cache read', 'output', 'cost'],
      report.byTool.map((row) => [
        named(row.name || (row.purpose === 'check' ? '(the kernel)' : '(no tool)'), row.others),
        ...[row.toolCalls, row.uncached, row.cacheRead, row.output, amount(row, simulated)],
      ]),
    ),
    table(
      ['in every request', 'tokens, all requests', 'rent, estimated'],
      report.context.blocks.map((row) => [
        ...[row.block, row.tokens],
        row.rentNanoUsd === null ? '—' : dollars(row.rentNanoUsd, simulated),
      ]),
    ),
  ]
  if (breaks.count > 0)
    shown.push(
      `${breaks.count} cache breaks, ${breaks.missed} tokens missed, ${dollars(breaks.missedNanoUsd, simulated)} estimated${
        breaks.missedUnknown > 0 ? ` (of ${breaks.missedUnknown} not known)` : ''
      }`,
      table(
        ['event', 'task', 'step', 'missed', 'estimated', 'why'],
        breaks.rows.map((row) => [
          ...[row.seq, row.task, row.step ?? '—', row.missed ?? 'not known'],
          ...[row.missedNanoUsd === null ? 'not known' : dollars(row.missedNanoUsd), inert(row.because, 120)],
        ]),
      ),
    )
  if (report.repeats.length > 0)
    shown.push(
      table(
        ['called again', 'task', 'times', 'tokens', 'cost', 'arguments'],
        report.repeats.map((row) => [
          ...[inert(row.name, 40), row.task, row.calls, row.tokens, amount(row, simulated), inert(row.arguments, 80)],
        ]),
      ),
    )
  if (report.troubled.length > 0)
    shown.push(
      table(
        ['event', 'task', 'model', 'ended', 'cost', 'why'],
        report.troubled.map((row) => [
          ...[
            row.seq,
            row.task || '—',
            inert(row.model, 40),
            row.status,
            dollars(row.costNanoUsd),
            inert(row.reason, 120),
          ],
        ]),
      ),
    )
  return shown
}

const named = (name: string, others: number | undefined) =>
  others === undefined ? inert(name, 60) : `${others} others`

/** What is known of it where not all of it is. */
function amount(
  { costNanoUsd, knownNanoUsd }: { costNanoUsd: number | null; knownNanoUsd: number },
  simulated: boolean,
) {
  if (costNanoUsd !== null || knownNanoUsd === 0) return dollars(costNanoUsd, simulated)
  return `${dollars(knownNanoUsd, simulated)} and unknown`
}
