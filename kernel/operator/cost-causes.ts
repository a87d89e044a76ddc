import type { CostRows, History } from '../history/history.ts'
import type { Event } from '../wire/events.ts'
import type { CacheBreakRow } from '../wire/operator-cost.ts'

/** After which providers commonly forget a prompt that nobody asks for. */
const idleFromMs = 300_000

type Broken = Pick<CostRows['breaks'][number], 'seq' | 'agent' | 'task' | 'kind' | 'what' | 'activation'> &
  Pick<CostRows['breaks'][number], 'since' | 'sinceRevision' | 'revision' | 'idleMs' | 'model'>
type Cause = Pick<CacheBreakRow, 'cause' | 'because' | 'event' | 'proposal'>

const kinds = [
  'revision.activated',
  'tool.quarantined',
  'tool.released',
  'message.appended',
  'artifact.written',
] as const

/** What happened between a call and the one before that explains where they part. Where nothing does, that is said. */
export async function causeOf(history: Pick<History, 'read'>, broken: Broken): Promise<Cause> {
  const { kind, what, since, sinceRevision, revision, activation } = broken
  const said = (cause: Cause['cause'], because: string, event?: Event, proposal: string | null = null): Cause => ({
    ...{ cause, because, event: event?.seq ?? null, proposal },
  })
  if (kind === 'none') return said(...idle(broken))
  if (kind === 'model') return said('model', `the request went to ${broken.model}, another model than the one before`)
  const found = await between(history, broken)
  const last = <K extends (typeof kinds)[number]>(name: K) =>
    found.findLast((event): event is Event<K> & Event => event.kind === name)
  const activated = last('revision.activated')
  if (sinceRevision !== null && sinceRevision !== revision) {
    const { proposal = null, cause } = activated?.data ?? {}
    const by = proposal === null ? (cause === 'rollback' ? ', a rollback' : '') : `, which ${proposal} brought`
    return said('revision', `r${activation}${by} sends other ${words[what ?? kind]}`, activated, proposal)
  }
  const switched = last('tool.quarantined') ?? last('tool.released')
  if (kind === 'tools' && switched !== undefined) {
    const done = switched.kind === 'tool.quarantined' ? 'in quarantine' : 'released from quarantine'
    return said(
      'setting',
      `the tool ${switched.data.tool} was put ${done}`.replace('put released', 'released'),
      switched,
    )
  }
  const summary = found.findLast((event) => event.kind === 'message.appended' && event.data.role === 'summary')
  if (summary !== undefined) return said('memory', 'the agent put a summary in the place of its earlier steps', summary)
  const kept = last('artifact.written')
  if (what === 'memory' && kept !== undefined) return said('memory', `the agent wrote ${kept.data.name}`, kept)
  if (since === null) return said('unknown', 'no call before it is known')
  return said('policy', `r${activation} itself sent other ${words[what ?? kind]} than in the call before`)
}

function idle({ idleMs }: Broken): ['idle' | 'unknown', string] {
  if (idleMs !== null && idleMs >= idleFromMs)
    return [
      'idle',
      `nothing differed; the task was idle for ${Math.round(idleMs / 60_000)} min, after which providers forget`,
    ]
  return ['unknown', 'nothing differed; why the provider read less is not known']
}

const words: Readonly<Record<string, string>> = {
  ...{ instructions: 'instructions', tools: 'tool definitions', memory: 'memory', message: 'messages' },
  ...{ 'tool-call': 'tool calls', 'tool-result': 'tool results', reasoning: 'reasoning', item: 'items' },
}

async function between(history: Pick<History, 'read'>, { agent, seq, since }: Broken): Promise<Event[]> {
  if (since === null) return []
  const { events } = await history.read({ agent }, { kinds, after: since, before: seq, limit: 100 })
  return events
}
