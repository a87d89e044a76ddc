import { hint } from '../command-name.ts'
import type { Desk } from '../host-client.ts'
import { askSecret, passphraseFromFile, secretFromStdin } from '../passphrase.ts'
import { BadArguments, type Command, Ended, type ExitCode, exitCode, parseCommand } from './command.ts'
import { openDesk, openRunningDesk } from './desk.ts'
import { note, say, sayJson, table, time } from './text.ts'

export const key: Command = {
  synopsis: 'add NAME --for BASE-URL | list | remove NAME | unlock',
  summary: 'keep keys of model endpoints sealed on this machine',
  notes: [
    'add asks for the key at the terminal without showing it, or reads it from stdin; it is never an argument.',
    'Each key is sent to the host of its base URL alone: exodesk run PACK --model M --base-url URL --key NAME.',
    'Without a keychain, keys are sealed with a passphrase: asked for at the terminal, or read from the file that',
    'EXODESK_PASSPHRASE_FILE names (/dev/fd/N for a descriptor). unlock gives it to a host that runs.',
  ],
  async run(args) {
    const [action, ...rest] = args
    const act = action === undefined ? undefined : actions[action]
    if (act !== undefined) return act(rest)
    throw new BadArguments(`say what to do: ${Object.keys(actions).join(', ')}`)
  },
}

const actions: Readonly<Record<string, (args: string[]) => Promise<ExitCode>>> = { add, list, remove, unlock }

async function add(args: string[]): Promise<ExitCode> {
  // Not `unexpected argument "…"`: it may be a key.
  if (args.filter((word) => !word.startsWith('-')).length > 1 + args.filter(takesValue).length)
    throw new BadArguments('give the name alone: the key is asked for, or read from stdin, and never an argument')
  const { values, positionals, dataDir, json } = parseCommand(args, { for: { type: 'string' } } as const, ['NAME'])
  const name = positionals[0] as string
  const baseUrl = values.for as string | undefined
  if (baseUrl === undefined) throw new BadArguments('--for BASE-URL is missing: the key is sent to that host alone')
  if (!URL.canParse(baseUrl))
    throw new BadArguments('what follows --for is not a base URL: give one such as https://api.openai.com/v1')
  const open = await openDesk(dataDir, { proceed: false })
  try {
    const { state, problem } = await open.desk.credentials.status()
    if (state === 'unusable') throw new Ended(exitCode.cannotRun, problem ?? 'keys cannot be sealed here')
    await unlockKeys(open.desk)
    const given = process.stdin.isTTY ? await askSecret(`Key for ${new URL(baseUrl).host}`) : await secretFromStdin()
    const row = await open.desk.credentials.put({ name, key: given ?? '', baseUrl })
    if (json) sayJson(row)
    else say(`${row.name} (version ${row.version}) is sealed, for ${row.origin} alone`)
    return exitCode.done
  } finally {
    await open.close()
  }
}

const takesValue = (word: string) => word === '--for' || word === '--data'

async function list(args: string[]): Promise<ExitCode> {
  const { dataDir, json } = parseCommand(args, {})
  const open = await openDesk(dataDir, { proceed: false })
  try {
    const { keys, state, problem } = await open.desk.credentials.status()
    if (json) for (const row of keys) sayJson(row)
    else if (keys.length === 0) say(hint('There are no keys yet: exodesk key add NAME --for BASE-URL'))
    else
      say(
        table(
          ['name', 'version', 'for', 'sealed by', 'since'],
          keys.map((row) => [row.name, row.version, row.origin, row.sealer, time(row.sealedAt)]),
        ),
      )
    if (problem !== null && state !== 'empty') note(problem)
    return exitCode.done
  } finally {
    await open.close()
  }
}

async function remove(args: string[]): Promise<ExitCode> {
  const { positionals, dataDir, json } = parseCommand(args, {}, ['NAME'])
  const name = positionals[0] as string
  const open = await openDesk(dataDir, { proceed: false })
  try {
    const { seq } = await open.desk.credentials.remove({ name })
    if (json) sayJson({ name, seq })
    else say(`${name} is removed. Where it was seen elsewhere, have its provider revoke it`)
    return exitCode.done
  } finally {
    await open.close()
  }
}

async function unlock(args: string[]): Promise<ExitCode> {
  const { dataDir, json } = parseCommand(args, {})
  const open = await openRunningDesk(dataDir, 'unlock')
  try {
    const resumed = await unlockKeys(open.desk)
    const { state, problem } = await open.desk.credentials.status()
    if (json) sayJson({ state, resumed })
    else if (state !== 'open') throw new Ended(exitCode.cannotRun, problem ?? `the keys are ${state}`)
    else say(resumed.length === 0 ? 'The keys are open' : `The keys are open; ${resumed.join(', ')} went on`)
    return exitCode.done
  } finally {
    await open.close()
  }
}

/**
 * Opens the keys where a passphrase is wanted: from its file, else asked for; that of a new vault twice. One that was given for
 * keys that are open must fit as well. @returns the tasks that went on. @throws Ended `cannotRun` where there is nobody to ask.
 */
export async function unlockKeys(desk: Desk): Promise<string[]> {
  const { wantsPassphrase, state, sealer, problem } = await desk.credentials.status()
  const given = sealer === 'passphrase' ? passphraseFromFile() : undefined
  if (!wantsPassphrase && given === undefined) return []
  const passphrase = given ?? (await askPassphrase(state === 'empty', problem))
  return (await desk.credentials.unlock({ passphrase })).resumed
}

async function askPassphrase(isNew: boolean, problem: string | null): Promise<string> {
  if (isNew) note(problem ?? '')
  const passphrase = await askSecret(isNew ? 'New passphrase for the keys' : 'Passphrase of the keys')
  if (passphrase === null)
    throw new Ended(
      exitCode.cannotRun,
      'the keys need their passphrase, and there is no terminal to ask at: name a file that holds it in EXODESK_PASSPHRASE_FILE',
    )
  if (isNew && (await askSecret('The same again')) !== passphrase)
    throw new Ended(exitCode.badArguments, 'the two passphrases differ: nothing was changed')
  return passphrase
}
