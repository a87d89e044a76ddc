import { isAbsolute, resolve } from 'node:path'
import { findRunningHost } from '../host-client.ts'
import { hostResources, version } from '../resources.ts'
import { agentOf, parseAgentCommand } from './agent.ts'
import { BadArguments, type Command, Ended, exitCode, parseCommand, wholeNumber } from './command.ts'
import { openDesk } from './desk.ts'
import { inert, note, say, sayJson } from './text.ts'

export const verify: Command = {
  synopsis: '',
  summary: 'verify the whole history: its chain, its payloads, what is derived from them, and its signed head',
  notes: [
    'Exit code 1 where it does not verify. Where no Exodesk runs on the directory, nothing is written in it:',
    'a backup, a read-only disk or a full one can be verified with --data FOLDER.',
  ],
  async run(args) {
    const { dataDir, json } = parseCommand(args, {})
    const { ok, events, head, firstBadSeq, problem, notes } = await verified(dataDir)
    if (json) sayJson({ ok, events, head, firstBadSeq, problem, notes })
    else if (ok) say(`${events} events verify. Head ${head ?? 'none'}`)
    else
      say(
        `The history does NOT verify: ${inert(problem ?? 'no reason given', 500)} (first bad event: ${firstBadSeq ?? 'not known'})`,
      )
    for (const line of notes) note(`Not checked: ${inert(line, 500)}.`)
    return ok ? exitCode.done : exitCode.doesNotHold
  },
}

/** By the host that holds the directory, else here. */
async function verified(dataDir: string) {
  const running = await findRunningHost(dataDir)
  if (running !== null) {
    const { desk, close } = await running.connect()
    try {
      return await desk.history.verify()
    } finally {
      close()
    }
  }
  const { verifyDataDir } = await import('../../kernel/kernel.ts')
  const { writer } = hostResources()
  const where = { dataDir, version: version() }
  const report = await verifyDataDir(writer === undefined ? where : { ...where, writerUrl: writer }).catch(
    (error: Error) => {
      throw new Ended(exitCode.cannotRun, error.message)
    },
  )
  return { ...report, head: report.head?.hash ?? null }
}

export const backup: Command = {
  synopsis: 'FOLDER',
  summary: 'copy the whole history into a new folder, while it is in use, and verify the copy',
  notes: [
    'The folder is a data directory of its own: "exodesk verify --data FOLDER" checks it, "exodesk serve --data FOLDER" works on it.',
    'To restore, end Exodesk and put the folder in the place of the damaged one. Sealed credentials are not part of it.',
  ],
  async run(args) {
    const { positionals, dataDir, json } = parseCommand(args, {}, ['FOLDER'])
    const folder = absolute(positionals[0] ?? '')
    const open = await openDesk(dataDir, { proceed: false })
    try {
      const done = await open.desk.history.backup({ folder })
      if (json) sayJson(done)
      else say(`${done.folder} has history up to event ${done.seq} (${megabytes(done.sizeBytes)}), verified.`)
      return exitCode.done
    } finally {
      await open.close()
    }
  },
}

export const archive: Command = {
  synopsis: '--older-than DAYS [--least BYTES]',
  summary: 'move large contents of old events into files beside the database; no event is dropped',
  notes: [
    'Contents of at least --least bytes (default 65536) that agents were given more than DAYS days ago go to DATA/archive.',
    'They are read from there; while a file is away, what lies in it cannot be read, and everything else goes on.',
    'The database does not shrink: the room in it is used again.',
  ],
  async run(args) {
    const options = { 'older-than': { type: 'string' }, least: { type: 'string' } } as const
    const { values, dataDir, json } = parseCommand(args, options)
    const text = values['older-than'] as string | undefined
    if (text === undefined) throw new BadArguments('--older-than is missing: a number of days')
    const days = wholeNumber('--older-than', text)
    const least = values.least as string | undefined
    const open = await openDesk(dataDir, { proceed: false })
    try {
      const done = await open.desk.history.archive({
        before: Date.now() - days * 86_400_000,
        ...(least === undefined ? {} : { minBytes: wholeNumber('--least', least, 1) }),
      })
      if (json) sayJson(done)
      else if (done.blobs === 0) say('There is nothing so old and so large.')
      else say(`${done.blobs} contents (${megabytes(done.sizeBytes)}) moved to ${done.files.join(', ')}`)
      return exitCode.done
    } finally {
      await open.close()
    }
  },
}

export const fork: Command = {
  synopsis: '--at SEQ --as NAME [--agent A]',
  summary: 'a new agent that remembers what another did up to event SEQ, with the revision that was active then',
  notes: ['SEQ is an event of the agent ("exodesk history --agent A"), which itself stays as it is.'],
  async run(args) {
    const options = { at: { type: 'string' }, as: { type: 'string' } } as const
    const { values, named, dataDir, json } = parseAgentCommand(args, options)
    const { at, as } = values as { at?: string; as?: string }
    if (at === undefined || as === undefined) throw new BadArguments('--at SEQ and --as NAME are both needed')
    const seq = wholeNumber('--at', at, 1)
    const open = await openDesk(dataDir, { proceed: false })
    try {
      const agent = await agentOf(open.desk, named)
      const done = await open.desk.agents.fork({ agent, seq, name: as })
      if (json) sayJson(done)
      else say(`${done.agent} stands on ${agent} up to event ${seq}, with revision ${done.revision.slice(0, 12)}.`)
      return exitCode.done
    } finally {
      await open.close()
    }
  },
}

/** The host may run in another folder than this command. */
function absolute(path: string): string {
  return isAbsolute(path) ? path : resolve(path)
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MB`
}
