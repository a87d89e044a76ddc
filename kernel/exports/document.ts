import { isKind } from './entries.ts'
import type { Entry, WriteContext } from './exports.ts'
import { answerOf } from './items.ts'

/** What a readable export is made of, before it is Markdown or HTML. Texts are as they were said: a form makes them harmless. */
export type Block =
  | { type: 'title'; text: string }
  | { type: 'heading'; level: 2 | 3; text: string }
  | { type: 'facts'; rows: [name: string, value: string][] }
  /** By whom: what an agent or a tool says is never taken for the kernel's words. */
  | { type: 'said'; by: string; text: string }
  | { type: 'line'; text: string }

/** Of one text; more is told by its length. */
const longestText = 64 * 1024
/** Their content is in what comes of them. */
const left: readonly string[] = ['model.reserved', 'credential.used', 'executor.stopped', 'executor.drained']

/** A run as a person reads it: task by task, turn by turn, step by step. */
export async function* documentOf(entries: AsyncIterable<Entry>, context: WriteContext): AsyncGenerator<Block> {
  const { task, agent } = context.scope
  yield { type: 'title', text: `Exodesk: ${task ?? (agent === undefined ? 'the whole history' : `agent ${agent}`)}` }
  yield {
    type: 'facts',
    rows: [
      ['Exported', time(context.at)],
      ['By', `Exodesk ${context.version}`],
      [
        'Left out',
        'keys, and what else the person who exported it had taken out; the events themselves stay in the history',
      ],
    ],
  }
  let place = ''
  for await (const entry of entries) {
    const { event } = entry
    if (left.includes(event.kind)) continue
    const at = event.turn === null ? '' : `${event.task}, turn ${event.turn}`
    if (at !== '' && at !== place) {
      place = at
      yield { type: 'heading', level: 2, text: at }
    }
    yield* blocksOf(entry)
  }
}

function* blocksOf(entry: Entry): Generator<Block> {
  const { event } = entry
  const where = `#${event.seq} · ${time(event.at)}`
  if ('tombstoned' in event.data) {
    yield { type: 'line', text: `${where} · ${event.kind}: its content was removed by the operator` }
  } else if (isKind(event, 'task.created')) {
    const { title, instruction, model, pack, sandbox, goal } = event.data
    yield { type: 'heading', level: 2, text: `${event.task}: ${title}` }
    yield {
      type: 'facts',
      rows: [
        ['Agent', event.agent ?? ''],
        ['Model', `${model.name}${model.simulated ? ' (simulated: its figures are no bill)' : ''}`],
        ['Pack', pack ?? 'none'],
        ['Sandbox', sandbox],
        ['Goal', goal === null ? 'not measured' : `${goal.goal ?? 'open'} ${goal.unit} (${goal.source})`],
      ],
    }
    yield { type: 'said', by: 'operator', text: instruction }
  } else if (isKind(event, 'model.called')) {
    const { model, status, usage, costNanoUsd, simulated, durationMs, error } = event.data
    const input = usage === null ? null : usage.uncached + usage.cacheRead + usage.cacheWrite
    const figures = [
      model,
      status === 'completed' ? null : status,
      usage === null
        ? 'tokens not reported'
        : `${input} tokens in (${usage.cacheRead} from the cache), ${usage.output} out`,
      costNanoUsd === null ? 'cost unknown' : `$${(costNanoUsd / 1e9).toFixed(4)}${simulated ? ' simulated' : ''}`,
      `${(durationMs / 1000).toFixed(1)} s`,
    ]
    yield { type: 'heading', level: 3, text: `Step ${event.step ?? '?'} · ${where}` }
    yield { type: 'line', text: figures.filter((part) => part !== null).join(' · ') }
    if (error !== null) yield { type: 'said', by: 'provider', text: error }
    const { text, reasoning } = answerOf(entry.output)
    if (reasoning !== '') yield { type: 'said', by: 'model, thinking', text: shortened(reasoning) }
    if (text !== '') yield { type: 'said', by: 'model', text: shortened(text) }
  } else if (isKind(event, 'tool.called')) {
    yield {
      type: 'said',
      by: `model calls ${event.data.name} (#${event.seq})`,
      text: shortened(entry.text, entry.cutBytes),
    }
  } else if (isKind(event, 'tool.finished')) {
    const { name, outcome, durationMs } = event.data
    const took = durationMs === null ? '' : `, ${(durationMs / 1000).toFixed(1)} s`
    yield {
      type: 'said',
      by: `${name}: ${outcome}${took} (#${event.seq})`,
      text: shortened(entry.text, entry.cutBytes),
    }
  } else if (isKind(event, 'task.steered') || isKind(event, 'task.answered')) {
    yield { type: 'said', by: `operator (#${event.seq})`, text: event.data.text }
  } else if (isKind(event, 'message.appended') && event.data.role === 'summary') {
    yield { type: 'said', by: `agent’s summary (#${event.seq})`, text: shortened(event.data.text) }
  } else if (
    isKind(event, 'message.appended') ||
    (isKind(event, 'model.attempted') && event.data.status === 'completed')
  ) {
    // Said already: by the model, or as its answer.
  } else if (isKind(event, 'proposal.made')) {
    const { proposal, claim, why, files } = event.data
    const changed = files.map(({ path, addedLines, removedLines }) => `${path} +${addedLines} −${removedLines}`)
    yield { type: 'line', text: `${where} · proposal ${proposal}: ${changed.join(', ')}` }
    yield { type: 'said', by: `${event.data.by}, claimed`, text: `${claim}\n\n${why}` }
  } else {
    yield { type: 'line', text: `${where} · ${event.kind} ${shortJson(event.data)}` }
  }
}

function shortened(text: string, lacking = 0): string {
  const cut = text.length > longestText
  const rest = (cut ? Buffer.byteLength(text.slice(longestText)) : 0) + lacking
  return rest === 0 ? text : `${text.slice(0, longestText)}\n… ${rest} bytes more are in the history`
}

function shortJson(data: unknown): string {
  const text = JSON.stringify(data)
  return text === '{}' ? '' : text.length > 400 ? `${text.slice(0, 400)}…` : text
}

const time = (at: number) => `${new Date(at).toISOString().replace('T', ' ').slice(0, 19)} UTC`
