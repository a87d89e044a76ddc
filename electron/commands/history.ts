import { type EventKind, eventKinds } from '../../kernel/wire/events.ts'
import type { EventRow } from '../../kernel/wire/operator.ts'
import { quotedValue } from '../../kernel/wire/operator-query.ts'
import { BadArguments, type Command, exitCode, parseCommand, wholeNumber } from './command.ts'
import { openDesk } from './desk.ts'
import { trialTotal } from './outcome.ts'
import { dollars, inert, note, percent, say, sayJson, table, time } from './text.ts'

export const history: Command = {
  synopsis: '[QUERY] [--follow] [--agent A] [--task T] [--kind KIND]… [--after SEQ] [--limit N]',
  summary: 'print events, oldest first; QUERY is text, or fields as on the History screen',
  notes: [
    'Without --after, the last N (default 50) are printed. --json prints one event a line, whole.',
    'QUERY: tool:shell rev:r4 kind:proposal task:T-1 turn:3 cost>0.05 status:error actor:operator label:odd "text". With it, the newest N.',
  ],
  async run(args) {
    const options = {
      follow: { type: 'boolean' },
      agent: { type: 'string' },
      task: { type: 'string' },
      kind: { type: 'string', multiple: true },
      after: { type: 'string' },
      limit: { type: 'string', default: '50' },
    } as const
    const { values, positionals, dataDir, json } = parseCommand(args, options, ['QUERY?'])
    const [text] = positionals
    const kinds = (values.kind as string[] | undefined)?.map(kindOf)
    const limit = wholeNumber('--limit', values.limit as string, 1)
    if (limit > 1000) throw new BadArguments('--limit is at most 1000')
    const after = values.after === undefined ? undefined : wholeNumber('--after', values.after as string)
    if (values.follow === true && text !== undefined) throw new BadArguments('--follow and QUERY do not go together')
    const place = {
      ...(values.agent === undefined ? {} : { agent: values.agent as string }),
      ...(values.task === undefined ? {} : { task: values.task as string }),
    }
    const show = (event: EventRow) => (json ? sayJson(event) : say(eventLine(event)))
    const open = await openDesk(dataDir, { proceed: false })
    try {
      const page =
        text === undefined
          ? await open.desk.events.read({
              ...place,
              ...(kinds === undefined ? {} : { kinds }),
              ...(after === undefined ? { order: 'desc' as const } : { after, order: 'asc' as const }),
              limit,
            })
          : await open.desk.events.find({ query: withOptions(text, { ...place, kinds, after }), limit })
      const events = page.events.toSorted((a, b) => a.seq - b.seq)
      for (const event of events) show(event)
      if (values.follow !== true) return exitCode.done
      if (open.isOwn) {
        // This command would hold the data directory, and nobody else could add to it.
        note('No Exodesk runs on this data directory: there is nothing to follow.')
        return exitCode.done
      }
      const last = events.at(-1)?.seq ?? after ?? (await open.desk.host.status()).lastSeq
      const stop = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
      void open.lost.then(() => stop.abort())
      try {
        for await (const batch of await open.desk.events.follow({ after: last, ...place }, { signal: stop.signal }))
          for (const event of batch) if (kinds === undefined || kinds.includes(event.kind)) show(event)
      } catch (error) {
        if (!stop.signal.aborted) throw error
      }
      return exitCode.done
    } finally {
      await open.close()
    }
  },
}

function withOptions(
  text: string,
  {
    agent,
    task,
    kinds,
    after,
  }: { agent?: string; task?: string; kinds?: EventKind[] | undefined; after?: number | undefined },
): string {
  return [
    ...(agent === undefined ? [] : [`agent:${quotedValue(agent)}`]),
    ...(task === undefined ? [] : [`task:${quotedValue(task)}`]),
    ...(kinds ?? []).map((kind) => `kind:${kind}`),
    ...(after === undefined ? [] : [`seq>${after}`]),
    text,
  ].join(' ')
}

function kindOf(name: string): EventKind {
  const kind = eventKinds.find((candidate) => candidate === name)
  if (kind === undefined) {
    const area = name.split('.')[0]
    const near = eventKinds.filter((candidate) => candidate.startsWith(`${area}.`))
    throw new BadArguments(
      `--kind ${name} is no kind of event${near.length > 0 ? `; there are ${near.join(', ')}` : ''}`,
    )
  }
  return kind
}

function eventLine(event: EventRow): string {
  const place = [event.agent, event.task, event.step === null ? null : `step ${event.step}`].filter(
    (part) => part !== null,
  )
  return `${event.seq}  ${time(event.at)}  ${event.kind}  ${place.join(' ')}  ${inert(JSON.stringify(event.data), 200)}`
}

export const report: Command = {
  synopsis: '[--task T | --agent A]',
  summary: 'what was spent: by model, revision and tool; cache breaks and repeated calls of a task',
  async run(args) {
    const options = { task: { type: 'string' }, agent: { type: 'string' } } as const
    const { values, dataDir, json } = parseCommand(args, options)
    const { task, agent } = values as { task?: string; agent?: string }
    if (task !== undefined && agent !== undefined) throw new BadArguments('--task and --agent do not go together')
    const open = await openDesk(dataDir, { proceed: false })
    try {
      const found = await open.desk.tasks.report({
        ...(task === undefined ? {} : { task }),
        ...(agent === undefined ? {} : { agent }),
      })
      if (json) sayJson(found)
      else {
        for (const block of reportBlocks(found)) say(`${block}\n`)
        const part =
          task === undefined && agent === undefined ? 'part of the figures above' : 'beside the figures above'
        for (const line of trialTotal(found.trials, found.simulated)) say(`${line.trim()} (${part})`)
      }
      return exitCode.done
    } finally {
      await open.close()
    }
  },
}

type Report = Awaited<ReturnType<Awaited<ReturnType<typeof openDesk>>['desk']['tasks']['report']>>

function reportBlocks(found: Report): string[] {
  const usageHead = ['calls', 'failed', 'input', 'cache read', 'cache write', 'output', 'cost']
  const usage = (row: Report['total']) => [
    row.calls,
    row.failed,
    row.uncached,
    row.cacheRead,
    row.cacheWrite,
    row.output,
    dollars(row.costNanoUsd, found.simulated),
  ]
  const blocks = [
    table(
      ['model', ...usageHead],
      [...found.byModel, found.total].map((row) => [inert(row.key, 60), ...usage(row)]),
    ),
  ]
  if (found.byActivation.length > 0)
    blocks.push(
      table(
        ['revision', 'steps', 'calls', 'cached', 'cost', 'progress'],
        found.byActivation.map((row) => [
          `r${row.activation}`,
          row.steps,
          row.modelCalls,
          percent(row.cachedShare),
          dollars(row.costNanoUsd, found.simulated),
          row.progressDelta === null ? '—' : `+${row.progressDelta}`,
        ]),
      ),
    )
  if (found.byTool.length > 0)
    blocks.push(
      table(
        ['tool', 'calls', 'errors', 'interrupted', 'output bytes', 'seconds'],
        found.byTool.map((row) => [
          inert(row.name, 60),
          row.calls,
          row.errors,
          row.interrupted,
          row.outputBytes,
          (row.durationMs / 1000).toFixed(1),
        ]),
      ),
    )
  if (found.cacheBreaks.length > 0)
    blocks.push(
      table(
        ['cache broke at event', 'step', 'first differing item', 'cost of the call'],
        found.cacheBreaks.map((row) => [
          row.seq,
          row.step ?? '—',
          `${row.index} ${row.kind}`,
          dollars(row.costNanoUsd, found.simulated),
        ]),
      ),
    )
  if (found.repeatedCalls.length > 0)
    blocks.push(
      table(
        ['repeated call', 'times', 'arguments'],
        found.repeatedCalls.map((row) => [inert(row.name, 60), row.count, inert(row.arguments, 80)]),
      ),
    )
  return blocks
}
