import type { Desk } from '../host-client.ts'
import { agentOf, parseAgentCommand } from './agent.ts'
import { BadArguments, type Command, exitCode, nanoUsd, oneOf, wholeNumber } from './command.ts'
import { unlockKeys } from './credentials.ts'
import { openDesk } from './desk.ts'
import { inert, inertLines, note, say, sayJson } from './text.ts'
import { armNames, trialLines } from './trial-lines.ts'

const tried = {
  budget: { type: 'string' },
  'budget-tokens': { type: 'string' },
  steps: { type: 'string' },
} as const

export const trial: Command = {
  synopsis: 'P-n (--budget USD | --budget-tokens N) [--steps N] [--agent A]',
  summary: 'try a proposal beside the active revision, on copies of its agent’s task, before anyone decides',
  notes: [
    'Both go on from the same moment, one after the other, for N steps each (default 10), and each may spend half of the budget.',
    'Nothing of it touches the task. What it costs counts in the budgets of the agent and the day.',
    'One run of each shows that it works, and no more. Ctrl-C stops the trial. Exit code 1 where it failed or was stopped.',
  ],
  async run(args) {
    const { values, positionals, named, dataDir, json } = parseAgentCommand(args, tried, ['P-n'])
    const { budget, 'budget-tokens': budgetTokens, steps } = values as Record<string, string | undefined>
    const proposal = positionals[0] as string
    if (budget === undefined && budgetTokens === undefined)
      throw new BadArguments('--budget or --budget-tokens is missing: a trial spends no more than its own')
    const caps = {
      capNanoUsd: budget === undefined ? null : nanoUsd('--budget', budget),
      capTokens: budgetTokens === undefined ? null : wholeNumber('--budget-tokens', budgetTokens),
      maxSteps: steps === undefined ? 10 : wholeNumber('--steps', steps),
    }
    const open = await openDesk(dataDir, { proceed: false })
    const { desk } = open
    let stop = () => {}
    try {
      const agent = await agentOf(desk, named)
      stop = () => void stopTrial(desk, agent, proposal)
      // Whichever of its tasks is copied, whoever made the proposal.
      const tasks = await desk.tasks.list()
      if (tasks.some((task) => task.agent === agent && task.model.credential !== undefined)) await unlockKeys(desk)
      const shown = await shownOf(desk, agent, proposal)
      const started = await desk.trials.start({ agent, proposal, ...shown, ...caps })
      process.once('SIGINT', stop)
      const row = await followed(desk, started, agent)
      if (json) sayJson(row)
      else for (const line of trialLines(row)) say(line)
      return row.state === 'finished' ? exitCode.done : exitCode.doesNotHold
    } finally {
      process.removeListener('SIGINT', stop)
      await open.close()
    }
  },
}

/** While its checks run there is no view to bind to, but there are the bytes; in any other state it is refused. */
async function shownOf(desk: Desk, agent: string, proposal: string) {
  const { state, revision, base } = await desk.proposals.get({ agent, proposal })
  if (state === 'ready') {
    const { nonce, binding } = await desk.proposals.view({ agent, proposal })
    return { nonce, binding }
  }
  const nothing = '0'.repeat(64)
  return { nonce: '', binding: { revision, base, checks: nothing, profile: nothing } }
}

async function stopTrial(desk: Desk, agent: string, proposal: string): Promise<void> {
  const rows = await desk.trials.list({ agent, proposal })
  const running = rows.find(({ state }) => state === 'starting' || state === 'running')
  if (running !== undefined) await desk.trials.stop({ trial: running.trial }).catch(() => {})
}

async function followed(desk: Desk, { trial: name, seq }: { trial: string; seq: number }, agent: string) {
  const stop = new AbortController()
  let told = ''
  try {
    for await (const batch of await desk.events.follow({ after: seq - 1 }, { signal: stop.signal })) {
      if (!batch.some(({ run }) => run === 'trial')) continue
      const row = (await desk.trials.list({ agent })).find((one) => one.trial === name)
      if (row === undefined) continue
      if (row.endedAt !== null) return row
      const now = row.arms.find(({ state }) => state === 'running')
      const line = now === undefined ? `${name} is ${row.state}` : `${name}: ${armNames[now.arm]}, step ${now.steps}`
      if (line !== told) note(line)
      told = line
    }
    throw new Error('the host ended before the trial did: it shows as failed at the next start')
  } finally {
    stop.abort()
  }
}

const asked = {
  model: { type: 'string' },
  'base-url': { type: 'string' },
  'key-env': { type: 'string' },
  key: { type: 'string' },
  api: { type: 'string' },
} as const

export const opinion: Command = {
  synopsis: 'P-n [--model NAME [--base-url URL] [--key NAME|--key-env VAR] [--api responses|chat]] [--agent A]',
  summary: 'ask another model what it makes of a proposal: claimed, never a verdict',
  notes: [
    'It is sent the diff, the checks and the claim. Default: --model sim-reviewer (offline, figures only).',
    'What it costs counts in the budgets of the agent and the day, not in the task’s. Exit code 1 where the model gave no answer.',
  ],
  async run(args) {
    const { values, positionals, named, dataDir, json } = parseAgentCommand(args, asked, ['P-n'])
    const {
      model,
      'base-url': baseUrl,
      'key-env': keyEnv,
      key: credential,
      api,
    } = values as Record<string, string | undefined>
    const proposal = positionals[0] as string
    const open = await openDesk(dataDir, { proceed: false })
    try {
      const { desk } = open
      const agent = await agentOf(desk, named)
      if (credential !== undefined) await unlockKeys(desk)
      const { seq } = await desk.reviewer.opinion({
        ...{ agent, proposal, model, baseUrl, keyEnv, credential },
        ...(api === undefined ? {} : { api: oneOf('--api', api, ['responses', 'chat']) }),
      })
      const { data } = await desk.events.get({ seq })
      const { text, error, model: name } = data as { text: string; error: string | null; model: string }
      if (json) sayJson({ seq, ...data })
      else {
        say(`${name} says of ${proposal} (event ${seq}; claimed, no verdict):`)
        say(text === '' ? '  nothing' : inertLines(text))
        if (error !== null) say(`It failed: ${inert(error, 1000)}`)
      }
      return error === null ? exitCode.done : exitCode.doesNotHold
    } finally {
      await open.close()
    }
  },
}
