import type { TaskSummary } from '../../kernel/wire/operator.ts'
import { hint } from '../command-name.ts'
import type { Desk } from '../host-client.ts'
import { BadArguments, type Command, Ended, type ExitCode, exitCode, parseCommand } from './command.ts'
import { unlockKeys } from './credentials.ts'
import { type OpenDesk, openDesk, openRunningDesk } from './desk.ts'
import { followTask, untilStill } from './follow-task.ts'
import { amount } from './progress.ts'
import { dollars, inert, note, say, sayJson, table, time } from './text.ts'

const pollMs = 100

export const tasks: Command = {
  synopsis: '[--agent A]',
  summary: 'list all tasks',
  async run(args) {
    const { values, dataDir, json } = parseCommand(args, { agent: { type: 'string' } })
    return withDesk(await openDesk(dataDir, { proceed: false }), async ({ desk, isOwn }) => {
      const all = await desk.tasks.list()
      const rows = all.filter((task) => values.agent === undefined || task.agent === values.agent)
      if (json) for (const row of rows) sayJson(row)
      else if (rows.length === 0) say(hint('There are no tasks yet: exodesk run tasks/hollowmere/skills'))
      else {
        say(taskTable(rows))
        if (isOwn && rows.some((task) => task.state === 'interrupted'))
          note(hint('Interrupted tasks go on when a host starts: exodesk resume TASK, exodesk serve, or the desk.'))
      }
      return exitCode.done
    })
  },
}

function taskTable(rows: readonly TaskSummary[]): string {
  return table(
    ['task', 'agent', 'state', 'active', 'steps', 'progress', 'cost', 'created', 'title'],
    rows.map((row) => [
      row.task,
      row.agent,
      row.outcome ?? row.state,
      `r${row.activation}`,
      row.totals.steps,
      row.progress === null ? '—' : amount(row.progress),
      dollars(row.totals.costNanoUsd, row.model.simulated),
      time(row.createdAt),
      inert(row.title, 60),
    ]),
  )
}

export const packs: Command = {
  synopsis: '',
  summary: 'list the task packs that ship with Exodesk',
  async run(args) {
    const { dataDir, json } = parseCommand(args, {})
    return withDesk(await openDesk(dataDir, { proceed: false }), async ({ desk }) => {
      const rows = await desk.packs.list()
      if (json) for (const row of rows) sayJson(row)
      else
        for (const row of rows)
          say(
            [
              `${row.pack}  ${inert(row.description)}`,
              ...row.endpoints.map(({ name, address }) => `  asks for ${inert(name)}, a service at ${inert(address)}`),
              ...(row.blocked === null ? [] : [`  cannot run here: ${inert(row.blocked)}`]),
            ].join('\n'),
          )
      return exitCode.done
    })
  },
}

export const pause: Command = {
  synopsis: 'TASK',
  summary: 'pause a running task at its next safe point',
  async run(args) {
    const { task, dataDir, json } = taskArguments(args)
    return withDesk(await openRunningDesk(dataDir, 'pause'), async ({ desk }) => {
      await desk.tasks.pause({ task })
      return told(task, (await untilStill(desk, task))?.state ?? 'paused', json)
    })
  },
}

export const resume: Command = {
  synopsis: 'TASK',
  summary:
    'go on with a paused or interrupted task; where no host runs, this is the host and follows the task to its end',
  async run(args) {
    const { task, dataDir, json, data } = taskArguments(args)
    return withDesk(await openDesk(dataDir, { proceed: true }), async (open) => {
      const { desk, isOwn } = open
      // In a host that was opened just now, a task first takes up its box and its world.
      let before = await once(desk, task, (state) => state !== 'starting')
      if (before.state === 'interrupted' && before.model.credential !== undefined) {
        await unlockKeys(desk)
        before = await once(desk, task, (state) => state !== 'starting')
      }
      if (before.state === 'finished')
        throw new Ended(
          exitCode.doesNotHold,
          `${task} has finished (${before.outcome}): run its pack again for another`,
        )
      const { lastSeq } = await desk.host.status()
      if (before.state === 'paused' || before.state === 'interrupted') await desk.tasks.resume({ task })
      if (!isOwn) return told(task, (await once(desk, task, (state) => state !== 'paused')).state, json)
      const { events } = await desk.events.read({ task, kinds: ['task.created'], limit: 1 })
      const seq = events[0]?.seq ?? 0
      return followTask(open, { task, agent: before.agent, seq, showAfter: lastSeq, json, dataDir: data })
    })
  },
}

export const stop: Command = {
  synopsis: 'TASK',
  summary: 'stop a task for good',
  async run(args) {
    const { task, dataDir, json } = taskArguments(args)
    return withDesk(await openDesk(dataDir, { proceed: true }), async (open) => {
      await once(open.desk, task, (state) => state !== 'starting')
      await open.desk.tasks.stop({ task })
      return told(task, (await untilStill(open.desk, task))?.state ?? 'stopping', json)
    })
  },
}

export const steer: Command = {
  synopsis: 'TASK TEXT',
  summary: 'tell the agent of a running task something; it reads it in its next turn',
  run: (args) => tell(args, 'steer'),
}

export const answer: Command = {
  synopsis: 'TASK TEXT',
  summary: 'answer the question that a task waits with',
  run: (args) => tell(args, 'answer'),
}

async function tell(args: string[], kind: 'steer' | 'answer'): Promise<ExitCode> {
  const { positionals, dataDir, json } = parseCommand(args, {}, ['TASK', 'TEXT'])
  const [task, text] = positionals as [string, string]
  return withDesk(await openRunningDesk(dataDir, kind), async ({ desk }) => {
    const { seq } = await desk.tasks[kind]({ task, text })
    if (json) sayJson({ task, seq })
    else say(`${task} will read it in its next turn (event ${seq}).`)
    return exitCode.done
  })
}

function taskArguments(args: string[]) {
  const { values, positionals, dataDir, json } = parseCommand(args, {}, ['TASK'])
  const task = positionals[0] as string
  if (!/^T-\d+$/.test(task)) throw new BadArguments(`${JSON.stringify(task)} is not a task such as T-1`)
  return { task, dataDir, json, data: values.data as string | undefined }
}

function told(task: string, state: string, json: boolean): ExitCode {
  if (json) sayJson({ task, state })
  else say(`${task} is ${state}.`)
  return exitCode.done
}

/** The task as soon as its state is one that `holds`. */
async function once(desk: Desk, task: string, holds: (state: TaskSummary['state']) => boolean): Promise<TaskSummary> {
  for (;;) {
    const now = await desk.tasks.get({ task })
    if (holds(now.state)) return now
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}

async function withDesk(open: OpenDesk, work: (open: OpenDesk) => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await work(open)
  } finally {
    await open.close()
  }
}
