import { resolve } from 'node:path'
import { exportFormats, redactionRules } from '../../kernel/wire/operator-exports.ts'
import { hostResources, version } from '../resources.ts'
import { BadArguments, type Command, exitCode, oneOf, parseCommand } from './command.ts'
import { withDesk } from './desk.ts'
import { inert, note, say, sayJson, table } from './text.ts'

const rules: Readonly<Record<string, string>> = {
  keys: 'keys that Exodesk knows',
  lookalikes: 'what looks like a provider’s key',
  home: 'home folders',
  email: 'e-mail addresses',
}
const optional = redactionRules.filter((rule) => rule !== 'keys')

export const exportCommand: Command = {
  synopsis: 'FORMAT [--task T | --agent A] [--to FILE] [--keep RULE]… [--preview] [--consent]',
  summary: 'write a run as a file: to be read, for other tools, or whole',
  notes: [
    'FORMAT: markdown or html (to be read), atif (one task as an agent trajectory), otel (OpenTelemetry GenAI spans as OTLP JSON),',
    'fine-tuning (JSON lines; needs --consent of whoever worked on the task), bundle (the whole history; "exodesk import" reads it).',
    'Keys are taken out of all of them; home folders, e-mail addresses and what looks like a key too, unless --keep home, email or lookalikes.',
    '--preview says what would be taken out, and writes nothing. A bundle leaves nothing out, and is refused where a known key lies in it.',
  ],
  async run(args) {
    const text = { type: 'string' } as const
    const flag = { type: 'boolean' } as const
    const options = {
      task: text,
      agent: text,
      to: text,
      keep: { ...text, multiple: true },
      preview: flag,
      consent: flag,
    }
    const { values, positionals, dataDir, json } = parseCommand(args, options, ['FORMAT'])
    const format = oneOf('FORMAT', positionals[0], exportFormats) ?? 'markdown'
    const keep = ((values.keep ?? []) as string[]).map((rule) => oneOf('--keep', rule, optional) ?? 'home')
    const scope = {
      format,
      keep,
      ...(values.task === undefined ? {} : { task: values.task as string }),
      ...(values.agent === undefined ? {} : { agent: values.agent as string }),
    }
    return withDesk(dataDir, async ({ desk }) => {
      if (values.preview === true) {
        const preview = await desk.exports.preview(scope)
        if (json) sayJson(preview)
        else for (const line of previewLines(preview, keep)) say(line)
        return preview.blocked === null ? exitCode.done : exitCode.doesNotHold
      }
      const done = await desk.exports.write({
        ...scope,
        ...(values.to === undefined ? {} : { file: resolve(values.to as string) }),
        ...(values.consent === true ? { consent: true } : {}),
      })
      if (json) sayJson(done)
      else {
        say(`${done.file} has ${done.events} events (${done.sizeBytes} bytes, SHA-256 ${done.hash.slice(0, 12)}…).`)
        for (const { rule, count } of done.redacted) say(`  taken out: ${rules[rule]}, ${count} times`)
      }
      return exitCode.done
    })
  },
}

interface Preview {
  events: number
  blocked: string | null
  findings: { rule: string; count: number; examples: { text: string | null; count: number; seq: number }[] }[]
}

function previewLines({ events, blocked, findings }: Preview, keep: readonly string[]): string[] {
  const rows = findings.map(({ rule, count, examples }) => [
    rules[rule] ?? rule,
    count,
    count === 0 ? '' : keep.includes(rule) ? 'kept' : 'taken out',
    examples
      .slice(0, 3)
      .map(({ text, seq }) => (text === null ? `event ${seq}` : inert(text, 60)))
      .join(', '),
  ])
  return [
    `${events} events would be exported.`,
    ...(rows.length === 0 ? [] : [table(['found', 'times', '', 'such as'], rows)]),
    ...(blocked === null ? [] : [`It cannot be written: ${blocked}`]),
  ]
}

export const importCommand: Command = {
  synopsis: 'FILE --to FOLDER',
  summary: 'verify a bundle and lay it into a new folder, to be read only',
  notes: ['"exodesk serve --data FOLDER" shows it. Nothing is ever added to it, and no task runs there.'],
  async run(args) {
    const { values, positionals, json } = parseCommand(args, { to: { type: 'string' } }, ['FILE'])
    if (values.to === undefined) throw new BadArguments('--to FOLDER is missing: a new folder for the history')
    const file = resolve(positionals[0] as string)
    const folder = resolve(values.to as string)
    // No host is needed: nothing is read but the file, and nothing written but the folder.
    const { importBundle } = await import('../../kernel/kernel.ts')
    const { writer } = hostResources()
    const where = { file, folder, version: version(), at: Date.now() }
    const done = await importBundle(writer === undefined ? where : { ...where, writerUrl: writer })
    if (json) sayJson(done)
    else {
      say(`${done.folder} has ${done.events} events, all of them verified. Head ${done.head}`)
      note(`To see it: exodesk serve --data ${done.folder}`)
    }
    return exitCode.done
  },
}
