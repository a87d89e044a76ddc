import type { BudgetRow } from '../../kernel/wire/operator-budgets.ts'
import { BadArguments, type Command, exitCode, nanoUsd, parseCommand, wholeNumber } from './command.ts'
import { type OpenDesk, openDesk } from './desk.ts'
import { dollars, say, sayJson, table } from './text.ts'

const options = {
  day: { type: 'string' },
  'day-tokens': { type: 'string' },
  agent: { type: 'string' },
  task: { type: 'string' },
  usd: { type: 'string' },
  tokens: { type: 'string' },
} as const

export const budget: Command = {
  synopsis: '[--day USD|none] [--day-tokens N|none] [--agent A | --task T] [--usd USD|none] [--tokens N|none]',
  summary: 'show what may be spent, or set it: of the day, of an agent with its forks, of a task',
  notes: [
    'Without a limit to set it lists the budgets and what was spent against them. "none" takes a limit away.',
    'A budget of the day or of an agent is in force at once; tasks that need more wait, and go on at midnight (the day) or when it is raised.',
    'With --task the budget of a task that is not over is raised; it cannot be lowered.',
    'Calls of simulated models count as if they were paid. Calls without a known price count in tokens alone, and are held back',
    'where any budget in USD applies, also that of the day: "exodesk price" gives a model its price.',
  ],
  async run(args) {
    const { values, dataDir, json } = parseCommand(args, options)
    const change = budgetChange(values)
    const open = await openDesk(dataDir, { proceed: false })
    try {
      if (change !== null) await apply(open, change)
      const rows = await open.desk.budgets.get()
      if (json) for (const row of rows) sayJson(row)
      else say(budgetTable(rows))
      return exitCode.done
    } finally {
      await open.close()
    }
  },
}

interface Limits {
  nanoUsd?: number | null
  tokens?: number | null
}
type Change =
  | ({ of: 'day' } & Limits)
  | ({ of: 'agent'; agent: string } & Limits)
  | ({ of: 'task'; task: string } & Limits)

/** The change that the flags ask for; null: none, show what there is. @throws BadArguments */
export function budgetChange(values: { readonly [option: string]: unknown }): Change | null {
  const text = (name: keyof typeof options) => values[name] as string | undefined
  const limits = (usd: 'day' | 'usd', tokens: 'day-tokens' | 'tokens'): Limits => ({
    ...limit('nanoUsd', text(usd), (given) => nanoUsd(`--${usd}`, given)),
    ...limit('tokens', text(tokens), (given) => wholeNumber(`--${tokens}`, given)),
  })
  const [ofDay, ofOne] = [limits('day', 'day-tokens'), limits('usd', 'tokens')]
  const [agent, task] = [text('agent'), text('task')]
  const isOfDay = Object.keys(ofDay).length > 0
  const isOfOne = Object.keys(ofOne).length > 0
  if (agent !== undefined && task !== undefined) throw new BadArguments('--agent and --task: name one of them')
  if (isOfDay && (isOfOne || agent !== undefined || task !== undefined))
    throw new BadArguments(
      '--day sets the budget of the day alone: set that of an agent or a task by a command of its own',
    )
  if (isOfOne && agent === undefined && task === undefined)
    throw new BadArguments('--usd and --tokens need --agent A or --task T; the budget of the day is --day USD')
  if (!isOfOne && (agent !== undefined || task !== undefined))
    throw new BadArguments('--agent and --task need the limit to set: --usd USD|none or --tokens N|none')
  if (isOfDay) return { of: 'day', ...ofDay }
  if (agent !== undefined) return { of: 'agent', agent, ...ofOne }
  if (task !== undefined) return { of: 'task', task, ...ofOne }
  return null
}

function limit(name: 'nanoUsd' | 'tokens', given: string | undefined, parse: (text: string) => number): Limits {
  if (given === undefined) return {}
  return { [name]: given === 'none' ? null : parse(given) }
}

async function apply({ desk }: OpenDesk, { nanoUsd, tokens, ...target }: Change): Promise<void> {
  const limits = { ...(nanoUsd === undefined ? {} : { nanoUsd }), ...(tokens === undefined ? {} : { tokens }) }
  if (target.of !== 'task') {
    await desk.budgets.set({ agent: target.of === 'agent' ? target.agent : null, ...limits })
    return
  }
  const raised = { budgetNanoUsd: nanoUsd, budgetTokens: tokens }
  const given = Object.fromEntries(Object.entries(raised).filter(([, value]) => value !== undefined))
  await desk.tasks.raiseBudget({ task: target.task, ...given })
  say(`The budget of ${target.task} is raised, for its next call.`)
}

function budgetTable(rows: readonly BudgetRow[]): string {
  return table(
    ['budget of', 'USD', 'spent', 'tokens', 'spent'],
    rows.map((row) => [
      row.agent === null ? 'the day' : `${row.agent} and its forks`,
      row.limitNanoUsd === null ? 'no limit' : dollars(row.limitNanoUsd),
      dollars(row.spentNanoUsd),
      row.limitTokens === null ? 'no limit' : row.limitTokens,
      row.spentTokens,
    ]),
  )
}
