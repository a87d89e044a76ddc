import { BadArguments, type Command, exitCode, parseCommand } from './command.ts'
import { openDesk } from './desk.ts'
import { say, sayJson } from './text.ts'

export const leaveSafeMode: Command = {
  synopsis: '--agent A [--reason TEXT]',
  summary: 'let an agent in safe mode try again with the revision that is active',
  notes: [
    'Safe mode: its executors failed so often, the starting policy too, that none is started any more. A rollback, or an approved proposal, ends it as well.',
  ],
  async run(args) {
    const options = { agent: { type: 'string' }, reason: { type: 'string' } } as const
    const { values, dataDir, json } = parseCommand(args, options)
    const agent = values.agent as string | undefined
    if (agent === undefined) throw new BadArguments('--agent is missing: whose safe mode?')
    const open = await openDesk(dataDir, { proceed: false })
    try {
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
