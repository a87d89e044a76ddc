import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { Event, EventKind } from '../wire/events.ts'
import type { Entry, ExportScope } from './exports.ts'
import type { Redactor } from './redaction.ts'

const pageSize = 200
/** Of one argument or output, characters. */
const longestText = 1024 * 1024

/** Events of the scope in order, as far as `upTo`, with what they refer to. Nothing of another agent or task is in it. */
export async function* entriesOf(
  history: History,
  scope: Pick<ExportScope, 'task' | 'agent'>,
  upTo: number,
  redactor: Redactor,
): AsyncGenerator<Entry> {
  for (let after: number | null = 0; after !== null; ) {
    const page: { events: Event[]; next: number | null } = await history.read(
      { agent: scope.agent ?? null, asOf: upTo },
      { after, limit: pageSize, ...(scope.task === undefined ? {} : { task: scope.task }) },
    )
    for (const event of page.events) yield await entryOf(history, event, redactor)
    after = page.next
  }
}

async function entryOf(history: History, event: Event, redactor: Redactor): Promise<Entry> {
  const { seq } = event
  const clean = { ...event, data: redactor.value(event.data, seq) } as Event
  const entry = (more: Partial<Entry>): Entry => ({ event: clean, output: [], text: '', cutBytes: 0, ...more })
  if ('tombstoned' in event.data) return entry({})
  if (isKind(event, 'model.called')) {
    const output: unknown[] = []
    for (const { hash } of event.data.output) output.push(redactor.value(parsed(await contentOf(history, hash)), seq))
    return entry({ output })
  }
  if (isKind(event, 'tool.called')) {
    const { argumentsBlob: blob, arguments: text } = event.data
    return entry(await wholeText(history, blob, text, redactor, seq))
  }
  if (isKind(event, 'tool.finished')) {
    const { outputBlob: blob, output: text } = event.data
    return entry(await wholeText(history, blob, text, redactor, seq))
  }
  return entry({})
}

export function isKind<K extends EventKind>(event: Event, kind: K): event is Extract<Event, { kind: K }> {
  return event.kind === kind && !('tombstoned' in event.data)
}

async function wholeText(
  history: History,
  blob: string | undefined,
  text: string,
  redactor: Redactor,
  seq: number,
): Promise<Pick<Entry, 'text' | 'cutBytes'>> {
  const whole = blob === undefined ? text : await contentOf(history, blob)
  // Redacted before it is cut: what the cut goes through is found too.
  const clean = redactor.text(whole, seq)
  const shown = clean.slice(0, longestText)
  return { text: shown, cutBytes: Buffer.byteLength(clean) - Buffer.byteLength(shown) }
}

/** What lies in an archive that is away is said in its place; what is damaged ends the export. */
async function contentOf(history: History, hash: string): Promise<string> {
  try {
    return String(await history.getBlob(hash))
  } catch (error) {
    if (error instanceof KernelError && error.code === 'unavailable') return `[content ${hash}: ${error.message}]`
    throw error
  }
}

export function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}
