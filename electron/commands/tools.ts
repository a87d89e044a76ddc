import type { ToolRow } from '../../kernel/wire/operator-tools.ts'
import { BadArguments, type Command, Ended, exitCode, parseCommand } from './command.ts'
import { type OpenDesk, withDesk } from './desk.ts'
import { inert, percent, say, sayJson, table, time } from './text.ts'

export const tools: Command = {
  synopsis: '[--agent A]',
  summary: 'list what an agent can do: who made each tool, what it reaches for, how its calls went',
  notes: ['A reach with ! was seen in its calls, and its source does not name it.'],
  async run(args) {
    const { values, dataDir, json } = parseCommand(args, { agent: { type: 'string' } })
    return withDesk(dataDir, async ({ desk }) => {
      const agent = await agentOf(desk, values.agent as string | undefined)
      const rows = await desk.tools.list({ agent })
      if (json) for (const row of rows) sayJson({ agent, ...row })
      else say(rows.length === 0 ? `${agent} names its tools when it starts for the first time.` : toolTable(rows))
      return exitCode.done
    })
  },
}

export const quarantine: Command = {
  synopsis: 'TOOL --reason TEXT [--agent A]',
  summary: 'take a tool away from an agent at once: it is not offered, and nothing that a call of it asks for is done',
  notes: ['The agent is told the reason. A tool of another name is another tool, whatever it does.'],
  run: (args) => decided(args, 'quarantine'),
}

export const releaseTool: Command = {
  synopsis: 'TOOL [--reason TEXT] [--agent A]',
  summary: 'give a tool in quarantine back to the agent',
  run: (args) => decided(args, 'release'),
}

async function decided(args: string[], what: 'quarantine' | 'release') {
  const option = { type: 'string' } as const
  const { values, positionals, dataDir, json } = parseCommand(args, { agent: option, reason: option }, ['TOOL'])
  const tool = positionals[0] as string
  const reason = ((values.reason as string | undefined) ?? '').trim()
  if (what === 'quarantine' && reason === '') throw new BadArguments('--reason is missing: the agent reads it')
  return withDesk(dataDir, async ({ desk }) => {
    const agent = await agentOf(desk, values.agent as string | undefined)
    const { seq } = await desk.tools[what]({ agent, tool, reason })
    if (json) sayJson({ agent, tool, seq })
    else if (what === 'quarantine')
      say(`${inert(tool)} of ${agent} is in quarantine from the next model call on (event ${seq}).`)
    else say(`${inert(tool)} of ${agent} is offered again from the next model call on (event ${seq}).`)
    return exitCode.done
  })
}

/** The one that is named, or the only one. */
async function agentOf(desk: OpenDesk['desk'], named: string | undefined): Promise<string> {
  if (named !== undefined) return named
  const all = await desk.agents.list()
  if (all.length === 1 && all[0] !== undefined) return all[0].agent
  if (all.length === 0)
    throw new Ended(exitCode.doesNotHold, 'there is no agent yet: one comes into being with its first task')
  throw new BadArguments(`--agent is missing: there are ${all.map(({ agent }) => agent).join(', ')}`)
}

function toolTable(rows: readonly ToolRow[]): string {
  return table(
    ['tool', 'origin', 'reach', 'since', 'by', 'calls', 'failed', 'used', 'audit', ''],
    rows.map((row) => [
      inert(row.tool, 40),
      row.origin,
      [...row.declared, ...row.undeclared.map((reach) => `!${reach}`)].join(' ') || '-',
      row.introduced === null ? '-' : `r${row.introduced.activation}`,
      row.introduced?.by ?? '-',
      row.calls,
      row.calls === 0 ? '-' : percent((row.errors + row.interrupted) / row.calls),
      row.lastUsedAt === null ? 'never' : time(row.lastUsedAt),
      row.audit,
      row.quarantined === null ? '' : `in quarantine: ${inert(row.quarantined.reason, 60)}`,
    ]),
  )
}
