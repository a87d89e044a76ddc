import { hint } from './command-name.ts'
import { BadArguments, Ended, type ExitCode, exitCode } from './commands/command.ts'
import { commands, commandsToCome, usage, usageOf } from './commands/index.ts'
import { inertLines } from './commands/text.ts'
import { version } from './resources.ts'

// A reader that has seen enough (`… | head`) ends the command: that is no error of its own.
let isRead = true
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (!isRead) return
  isRead = false
  if (error.code === 'EPIPE') {
    // A task that is followed is left in order, as on a SIGTERM; anything else has nothing to lose.
    if (process.listenerCount('SIGTERM') > 0) process.emit('SIGTERM')
    else process.exit(exitCode.done)
    return
  }
  complain(`exodesk: its output cannot be written: ${error.message}`, exitCode.cannotRun)
  process.exit(exitCode.cannotRun)
})
// Who does not want to hear the notes still wants the work.
process.stderr.on('error', () => {})

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code
})

async function main([name, ...args]: string[]): Promise<ExitCode> {
  if (name === '--version') return print(`${version()}\n`)
  if (name === undefined || name === '--help' || name === 'help') {
    ;(name === undefined ? process.stderr : process.stdout).write(hint(usage()))
    return name === undefined ? exitCode.badArguments : exitCode.done
  }
  if (commandsToCome.includes(name)) return complain(`exodesk ${name} is not in this version.`, exitCode.cannotRun)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined)
    return complain(`There is no command ${JSON.stringify(name)}.\n\n${usage()}`, exitCode.badArguments)
  if (args.includes('--help')) return print(hint(usageOf(name, command)))
  try {
    return await command.run(args)
  } catch (error) {
    if (error instanceof BadArguments)
      return complain(`exodesk ${name}: ${error.message}\n\n${usageOf(name, command)}`, exitCode.badArguments)
    return complain(`exodesk ${name}: ${messageOf(error)}`, codeOf(error))
  }
}

function print(text: string): ExitCode {
  process.stdout.write(text)
  return exitCode.done
}

function complain(text: string, code: ExitCode): ExitCode {
  // An error may quote an agent, a world or a pack.
  process.stderr.write(`${hint(inertLines(text.trimEnd()))}\n`)
  return code
}

/** Codes of the operator contract, by what their user can do about them. */
const byCode: Readonly<Record<string, ExitCode>> = {
  BAD_REQUEST: exitCode.badArguments,
  invalid: exitCode.badArguments,
  forbidden: exitCode.badArguments,
  'not-found': exitCode.doesNotHold,
  conflict: exitCode.doesNotHold,
  'over-budget': exitCode.doesNotHold,
  cancelled: exitCode.doesNotHold,
  unavailable: exitCode.cannotRun,
}

function codeOf(error: unknown): ExitCode {
  if (error instanceof Ended) return error.code
  return byCode[(error as { code?: string }).code ?? ''] ?? exitCode.cannotRun
}

function messageOf(error: unknown): string {
  const { message, code, data } = error as { message: string; code?: string; data?: { issues?: Issue[] } }
  if (code !== 'BAD_REQUEST' || data?.issues === undefined) return message
  return data.issues.map(({ path = [], message: what }) => `${path.join('.') || 'input'}: ${what}`).join('; ')
}

interface Issue {
  path?: (string | number)[]
  message: string
}
