import { KernelError } from '../errors.ts'
import type { FindOptions, History, View } from '../history/history.ts'
import { draft } from '../wire/events.ts'
import type { Past } from '../wire/operator-events.ts'
import { parseQuery, type Query } from '../wire/operator-query.ts'
import { createMarks } from './marks.ts'

interface Prepared {
  view: View
  text: string | null
  options: FindOptions
}

/** What an operator looks for in history, and what they write beside it. */
export function createEventDesk({
  history,
  typed,
}: {
  history: History
  typed: (text: string, what: string) => string
}) {
  const marks = createMarks(history)

  /** null: nothing can match. */
  async function prepare(text: string): Promise<Prepared | null> {
    const { query, problems } = parseQuery(text)
    const [first] = problems
    if (first !== undefined)
      throw new KernelError('invalid', `${first.message} (character ${first.at + 1})`, { details: { problems } })
    const revisions = query.revision === null ? null : await history.revisionsNamed(query.revision, query.agent)
    const seqs = query.label !== null || query.noted ? await marks.seqs(query.label) : null
    if (revisions?.length === 0 || seqs?.length === 0) return null
    const options: FindOptions = {
      ...given(query),
      ...(revisions === null ? {} : { revisions }),
      ...(seqs === null ? {} : { seqs }),
    }
    return { view: { agent: query.agent }, text: query.text, options }
  }

  async function requireEvent(seq: number) {
    const event = await history.get({ agent: null }, seq)
    if (event === null) throw new KernelError('not-found', `there is no event ${seq}`)
    return event
  }

  return {
    async find({ query, before, limit }: { query: string; before?: number | undefined; limit?: number | undefined }) {
      const prepared = await prepare(query)
      if (prepared === null) return { events: [], next: null }
      const { view, text, options } = prepared
      const last = Math.min(before ?? Number.MAX_SAFE_INTEGER, options.before ?? Number.MAX_SAFE_INTEGER)
      return history.find(view, text, { ...options, before: last, ...(limit === undefined ? {} : { limit }) })
    },
    async facets(query: string) {
      const prepared = await prepare(query)
      if (prepared === null)
        return { count: 0, isCut: false, kinds: [], tasks: [], agents: [], tools: [], actors: [], failed: 0 }
      return history.facets(prepared.view, prepared.text, prepared.options)
    },
    async past(seq: number): Promise<Past> {
      const { agent, task } = await requireEvent(seq)
      if (agent === null) return { seq, agent, task, active: null, artifacts: [], snapshot: null }
      const view = { agent, asOf: seq }
      const [active, artifacts, kept] = await Promise.all([
        history.latest(view, 'revision.activated'),
        history.artifactNames(agent, '', seq),
        task === null ? null : history.latest(view, 'sandbox.snapshotted', { task }),
      ])
      return {
        ...{ seq, agent, task },
        active: active && { activation: active.data.activation, revision: active.data.revision, seq: active.seq },
        artifacts: artifacts.map(({ name, version, hash, sizeBytes }) => ({ name, version, hash, sizeBytes })),
        snapshot: kept && { name: kept.data.name, seq: kept.seq, at: kept.at, hasWorld: kept.data.world != null },
      }
    },
    marks: () => marks.list(),
    async note(about: number, text: string) {
      await requireEvent(about)
      const data = { about, text: typed(text, 'your note') }
      // Of no agent: what an operator thinks of an event is not among what the agent reads.
      const [event] = await history.append([draft('event.noted', data, { actor: 'operator' })])
      return { seq: event?.seq ?? 0 }
    },
    async label(about: number, label: string, isSet: boolean) {
      await requireEvent(about)
      const [event] = await history.append([draft('event.labelled', { about, label, isSet }, { actor: 'operator' })])
      return { seq: event?.seq ?? 0 }
    },
  }
}

function given(query: Query): FindOptions {
  const { kinds, task, tool, actor, minCost, maxCost, failed, turn, step, after, before } = query
  const options = {
    ...{ task, tool, actor, minCost, maxCost, turn, step, after, before },
    kinds: kinds.length === 0 ? null : kinds,
    failed: failed || null,
  }
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null)) as FindOptions
}
