import { agentOf, parseAgentCommand } from './agent.ts'
import { type Command, exitCode } from './command.ts'
import { openDesk } from './desk.ts'
import { say, sayJson } from './text.ts'

export const leaveSafeMode: Command = {
  synopsis: '[--reason TEXT] [--agent A]',
  summary: 'let an agent in safe mode try again with the revision that is active',
  notes: [
    'Safe mode: its executors failed so often, the starting policy too, that none is started any more. A rollback, or an approved proposal, ends it as well.',
  ],
  async run(args) {
    const { values, named, dataDir, json } = parseAgentCommand(args, { reason: { type: 'string' } })
    const open = await openDesk(dataDir, { proceed: false })
    try {
      const agent = await agentOf(open.desk, named)
      const reason = typeof values.reason === 'string' ? values.reason : ''
      const { seq } = await open.desk.agents.leaveSafeMode({ agent, reason })
      if (json) sayJson({ agent, seq })
      else say(`${agent} is out of safe mode: its executors are started again.`)
      return exitCode.done
    } finally {
      await open.close()
    }
  },
}
