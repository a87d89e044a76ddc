import { BadArguments, type Command, exitCode, parseCommand } from './command.ts'
import { openRunningDesk } from './desk.ts'
import { inert, say, sayJson, table, time } from './text.ts'

export const snapshots: Command = {
  synopsis: 'TASK [--take NAME | --restore NAME]',
  summary: 'list, take or restore snapshots of the sandbox of a task; restoring needs it paused',
  notes: ['A snapshot holds the files of the sandbox and the state of its world, not /policy and not history.'],
  async run(args) {
    const option = { type: 'string' } as const
    const { values, positionals, dataDir, json } = parseCommand(args, { take: option, restore: option }, ['TASK'])
    const task = positionals[0] as string
    if (!/^T-\d+$/.test(task)) throw new BadArguments(`${JSON.stringify(task)} is not a task such as T-1`)
    const { take, restore } = values as { take?: string; restore?: string }
    if (take !== undefined && restore !== undefined)
      throw new BadArguments('--take and --restore cannot be given together')
    for (const [flag, name] of Object.entries({ take, restore }))
      if (name !== undefined && !/^[A-Za-z0-9._-]{1,64}$/.test(name))
        throw new BadArguments(`--${flag} takes a name of 1 to 64 of A-Z a-z 0-9 . _ -, not ${JSON.stringify(name)}`)
    const { desk, close } = await openRunningDesk(dataDir, 'snapshot')
    try {
      if (take !== undefined) {
        const kept = await desk.snapshots.take({ task, name: take })
        if (json) sayJson({ task, ...kept })
        else say(`${task} is kept as ${inert(kept.name)} (${size(kept.sizeBytes)}).`)
      } else if (restore !== undefined) {
        const { seq } = await desk.snapshots.restore({ task, name: restore })
        if (json) sayJson({ task, name: restore, seq })
        else say(`${task} is as it was at ${inert(restore)} (event ${seq}).`)
      } else {
        const all = await desk.snapshots.list({ task })
        if (json) for (const row of all) sayJson({ task, ...row })
        else if (all.length === 0) say(`${task} has no snapshots.`)
        else
          say(
            table(
              ['name', 'taken', 'size'],
              all.map((row) => [inert(row.name), time(row.at), size(row.sizeBytes)]),
            ),
          )
      }
      return exitCode.done
    } finally {
      await close()
    }
  },
}

function size(bytes: number): string {
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}
