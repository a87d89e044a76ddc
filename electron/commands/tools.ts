import type { ToolRow } from '../../kernel/wire/operator-tools.ts'
import { agentOf, parseAgentCommand } from './agent.ts'
import { BadArguments, type Command, exitCode } from './command.ts'
import { withDesk } from './desk.ts'
import { inert, percent, say, sayJson, table, time } from './text.ts'

export const tools: Command = {
  synopsis: '[--agent A]',
  summary: 'list what an agent can do: who made each tool, what it reaches for, how its calls went',
  notes: ['A reach with ! was seen in its calls, and its source does not name it.'],
  async run(args) {
    const { named, dataDir, json } = parseAgentCommand(args, {})
    return withDesk(dataDir, async ({ desk }) => {
      const agent = await agentOf(desk, named)
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
  const { values, positionals, named, dataDir, json } = parseAgentCommand(args, { reason: { type: 'string' } }, [
    'TOOL',
  ])
  const tool = positionals[0] as string
  const reason = ((values.reason as string | undefined) ?? '').trim()
  if (what === 'quarantine' && reason === '') throw new BadArguments('--reason is missing: the agent reads it')
  return withDesk(dataDir, async ({ desk }) => {
    const agent = await agentOf(desk, named)
    const { seq } = await desk.tools[what]({ agent, tool, reason })
    if (json) sayJson({ agent, tool, seq })
    else if (what === 'quarantine')
      say(`${inert(tool)} of ${agent} is in quarantine from the next model call on (event ${seq}).`)
    else say(`${inert(tool)} of ${agent} is offered again from the next model call on (event ${seq}).`)
    return exitCode.done
  })
}

function toolTable(rows: readonly ToolRow[]): string {
  return table(
    ['tool', 'origin', 'reach', 'since', 'author', 'approved', 'calls', 'failed', 'used', 'audit', ''],
    rows.map((row) => [
      inert(row.tool, 40),
      row.origin,
      [...row.declared, ...row.undeclared.map((reach) => `!${reach}`)].join(' ') || '-',
      row.introduced === null ? '-' : `r${row.introduced.activation}`,
      row.introduced?.author ?? '-',
      row.introduced?.by ?? '-',
      row.calls,
      row.calls === 0 ? '-' : percent((row.errors + row.interrupted) / row.calls),
      row.lastUsedAt === null ? 'never' : time(row.lastUsedAt),
      row.audit,
      row.quarantined === null ? '' : `in quarantine: ${inert(row.quarantined.reason, 60)}`,
    ]),
  )
}
