import { budget } from './budget.ts'
import type { Command } from './command.ts'
import { cost } from './cost.ts'
import { key } from './credentials.ts'
import { edit, hunks, part } from './derive.ts'
import { doctor } from './doctor.ts'
import { effects, keep } from './effects.ts'
import { exportCommand, importCommand } from './export.ts'
import { history, report } from './history.ts'
import { price } from './price.ts'
import { profile } from './profile.ts'
import { proposals, propose, revisions, rollback } from './proposals.ts'
import { rules } from './rules.ts'
import { run } from './run.ts'
import { leaveSafeMode } from './safe-mode.ts'
import { serveCommand } from './serve.ts'
import { snapshots } from './snapshots.ts'
import { answer, packs, pause, resume, steer, stop, tasks } from './tasks.ts'
import { quarantine, releaseTool, tools } from './tools.ts'
import { opinion, trial } from './trial.ts'
import { approve, defer, reject, returnCommand } from './verdicts.ts'
import { archive, backup, fork, verify } from './verify.ts'

/** Every command, in the order in which the usage lists them. */
export const commands: Readonly<Record<string, Command>> = {
  run,
  serve: serveCommand,
  propose,
  proposals,
  trial,
  opinion,
  approve,
  reject,
  return: returnCommand,
  defer,
  hunks,
  part,
  edit,
  rules,
  profile,
  rollback,
  effects,
  keep,
  revisions,
  tools,
  quarantine,
  'release-tool': releaseTool,
  'leave-safe-mode': leaveSafeMode,
  tasks,
  pause,
  resume,
  stop,
  steer,
  answer,
  snapshots,
  budget,
  price,
  cost,
  packs,
  history,
  verify,
  report,
  backup,
  archive,
  export: exportCommand,
  import: importCommand,
  fork,
  key,
  doctor,
}

/** Named in the design, and to come: told apart from a misspelt command. */
export const commandsToCome: readonly string[] = ['study']

export function usage(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length))
  return [
    'Usage: exodesk COMMAND …',
    '',
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'Every command takes --data DIR (default: the folder exodesk, in the place for application data) and --json (one object, or one a line).',
    'It speaks to the Exodesk that runs on that directory, and opens it itself only where none does.',
    '"exodesk COMMAND --help" tells more. Exit codes: 0 done, 1 the thing asked about does not hold, 2 bad arguments, 3 cannot run here.',
    '',
  ].join('\n')
}

export function usageOf(name: string, { synopsis, summary, notes = [] }: Command): string {
  return [`Usage: exodesk ${name} ${synopsis}`.trimEnd(), summary, ...notes, ''].join('\n')
}
