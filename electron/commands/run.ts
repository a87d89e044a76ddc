import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { RunRequest } from '../../kernel/wire/operator.ts'
import { hint } from '../command-name.ts'
import type { Desk } from '../host-client.ts'
import { BadArguments, type Command, Ended, exitCode, nanoUsd, oneOf, parseCommand, wholeNumber } from './command.ts'
import { unlockKeys } from './credentials.ts'
import { type OpenDesk, openDesk } from './desk.ts'
import { followTask } from './follow-task.ts'
import { note } from './text.ts'

const options = {
  agent: { type: 'string' },
  model: { type: 'string' },
  'base-url': { type: 'string' },
  'key-env': { type: 'string' },
  api: { type: 'string' },
  key: { type: 'string' },
  sandbox: { type: 'string' },
  approve: { type: 'string' },
  propose: { type: 'string' },
  budget: { type: 'string' },
  'budget-tokens': { type: 'string' },
  'max-steps': { type: 'string' },
  seed: { type: 'string' },
  unattended: { type: 'boolean' },
  'allow-endpoint': { type: 'string', multiple: true },
} as const

export const run: Command = {
  synopsis: 'PACK [--agent A] [--model NAME [--base-url URL] [--key NAME|--key-env VAR]] [--sandbox docker|local]',
  summary: 'run a task and follow it to its end',
  notes: [
    '    [--approve none|rules|all] [--propose on|off] [--budget USD] [--budget-tokens N] [--max-steps N] [--seed N] [--unattended]',
    '    [--allow-endpoint NAME[=ADDRESS] …]',
    '    [--api responses|chat]',
    'PACK is a folder here, or one that ships with Exodesk ("exodesk packs" lists them).',
    'Defaults: --model sim-apprentice (offline, no key), --api responses, --approve none, --propose on, --seed 0.',
    '--api chat is for servers that speak Chat Completions alone: OpenRouter, Ollama, vLLM, llama.cpp, LM Studio.',
    'A pack that asks for a service of this machine is run only with --allow-endpoint NAME for each ("exodesk packs" shows them).',
    '--approve all with a model that is not simulated needs --unattended.',
    'Progress goes to stdout; with --json to stderr, and stdout gets one object at the end.',
    'Ctrl-C once pauses the task and keeps it, twice stops it. Exit code 0 when it completed, 1 when it ended otherwise.',
  ],
  async run(args) {
    const { values, positionals, dataDir, json } = parseCommand(args, options, ['PACK'])
    const request = runRequest(positionals[0] as string, values)
    const open = await openDesk(dataDir, { proceed: true })
    try {
      await tellWhatGoesOn(open)
      await requireModel(open, request)
      if (request.credential !== undefined) await unlockKeys(open.desk)
      if (request.approve === 'rules') await tellWithoutRules(open.desk, request.agent)
      const started = await open.desk.tasks.run(request).catch((error: Error & { code?: string }) => {
        // The pack is an argument: one that is not there is a wrong one.
        throw error.code === 'not-found' ? new Ended(exitCode.badArguments, error.message) : error
      })
      return await followTask(open, { ...started, json, dataDir: values.data as string | undefined })
    } finally {
      await open.close()
    }
  },
}

/** A run by rules where there are none is one without: the proposals wait, and nobody may be there. */
async function tellWithoutRules(desk: Desk, agent: string | undefined): Promise<void> {
  const rules = await desk.rules.list()
  const covers = (of: string | null) => of === null || agent === undefined || of === agent
  if (rules.some((rule) => rule.state === 'active' && covers(rule.agent))) return
  note(hint('No rule is in force for --approve rules: every proposal waits for you. Add one with exodesk rules add'))
}

type Values = { [K in keyof typeof options]?: string | boolean | string[] | undefined }

/** The request that the flags stand for. @throws BadArguments */
export function runRequest(pack: string, values: Values): RunRequest {
  const text = (name: keyof typeof options) => values[name] as string | undefined
  const number = (name: keyof typeof options, least: number) => {
    const given = text(name)
    return given === undefined ? undefined : wholeNumber(`--${name}`, given, least)
  }
  const budget = text('budget')
  const propose = oneOf('--propose', text('propose'), ['on', 'off'])
  if (text('model') === undefined && (text('base-url') ?? text('key-env') ?? text('key')) !== undefined)
    throw new BadArguments('--base-url, --key-env and --key need --model NAME')
  if (text('key') !== undefined && text('key-env') !== undefined)
    throw new BadArguments('--key and --key-env both name a key: give one')
  const request: { [K in keyof RunRequest]: RunRequest[K] | undefined } = {
    pack: packPath(pack),
    agent: text('agent'),
    model: text('model'),
    baseUrl: text('base-url'),
    keyEnv: text('key-env'),
    api: oneOf('--api', text('api'), ['responses', 'chat']),
    credential: text('key'),
    sandbox: oneOf('--sandbox', text('sandbox'), ['docker', 'local']),
    approve: oneOf('--approve', text('approve'), ['none', 'rules', 'all']),
    propose: propose === undefined ? undefined : propose === 'on',
    budgetNanoUsd: budget === undefined ? undefined : nanoUsd('--budget', budget),
    budgetTokens: number('budget-tokens', 1),
    maxSteps: number('max-steps', 1),
    seed: number('seed', 0),
    unattended: values.unattended === true ? true : undefined,
    endpoints: allowedEndpoints(values['allow-endpoint'] as string[] | undefined),
  }
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined)) as RunRequest
}

/** `NAME` stands for the address that the pack names now, `NAME=ADDRESS` for that address alone. */
function allowedEndpoints(given: readonly string[] | undefined): RunRequest['endpoints'] {
  return given?.map((text) => {
    const [, name = '', address] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? []
    if (name === '' || address === '')
      throw new BadArguments(`--allow-endpoint takes NAME or NAME=ADDRESS, not ${JSON.stringify(text)}`)
    return address === undefined ? { name } : { name, address }
  })
}

/** A folder here goes by its full path: the host may have another working directory. */
function packPath(pack: string): string {
  return existsSync(join(pack, 'task.toml')) ? resolve(pack) : pack
}

/** A host opened here takes up whatever was not over: said, so that nobody wonders who else works. */
async function tellWhatGoesOn({ desk, isOwn }: OpenDesk): Promise<void> {
  if (!isOwn) return note('A running Exodesk holds the data directory: the task is submitted to it.')
  const open = (await desk.tasks.list()).filter(
    // One that starts with a reason was paused, and will be when it is open.
    ({ state, reason }) => state !== 'finished' && state !== 'paused' && (state !== 'starting' || reason === null),
  )
  if (open.length > 0)
    note(`Not over from before, and going on too: ${open.map((task) => `${task.task} (${task.agent})`).join(', ')}`)
}

/** `sim-…` is ours: a misspelt one must not be sent to a paid endpoint as if it were a model there. */
async function requireModel({ desk }: OpenDesk, request: RunRequest): Promise<void> {
  if (!request.model?.startsWith('sim-') || request.baseUrl !== undefined) return
  const { models } = await desk.host.status()
  if (models.some(({ name }) => name === request.model)) return
  const lines = models.map(({ name, description }) => `  ${name}: ${description}`)
  throw new BadArguments(`there is no simulated model ${request.model}; there are\n${lines.join('\n')}`)
}
