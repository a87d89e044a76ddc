import { ORPCError } from '@orpc/server'
import type { EventRow } from '../../kernel/wire/operator.ts'
import type { EventMarks } from '../../kernel/wire/operator-events.ts'
import { parseQuery } from '../../kernel/wire/operator-query.ts'
import { os } from './fake-contract.ts'
import { hash } from './fake-hash.ts'
import type { FakeWorld } from './fake-world.ts'

/** Queries and marks over the invented events. */
export function fakeEvents(world: FakeWorld) {
  const marks = new Map<number, EventMarks>()
  const mark = (seq: number) => marks.get(seq) ?? { seq, labels: [], notes: [] }

  function found(text: string): EventRow[] {
    const { query, problems } = parseQuery(text)
    if (problems[0]) throw new ORPCError('invalid', { message: problems[0].message })
    const words = query.text?.toLowerCase()
    return world.events
      .filter(
        (event) =>
          (query.task === null || event.task === query.task) &&
          (query.agent === null || event.agent === query.agent) &&
          (query.actor === null || event.actor === query.actor) &&
          (query.turn === null || event.turn === query.turn) &&
          (query.step === null || event.step === query.step) &&
          (query.after === null || event.seq > query.after) &&
          (query.before === null || event.seq < query.before) &&
          (query.kinds.length === 0 || query.kinds.includes(event.kind)) &&
          (query.tool === null || (event.kind.startsWith('tool.') && event.data.name === query.tool)) &&
          (query.minCost === null || Number(event.data.costNanoUsd ?? -1) >= query.minCost) &&
          (!query.failed || hasFailed(event)) &&
          (query.label === null || mark(event.seq).labels.includes(query.label)) &&
          (!query.noted || marks.has(event.seq)) &&
          (!words || JSON.stringify(event.data).toLowerCase().includes(words)),
      )
      .reverse()
  }

  return {
    find: os.events.find.handler(({ input }) => {
      const all = found(input.query).filter((event) => input.before === undefined || event.seq < input.before)
      const events = all.slice(0, input.limit ?? 100)
      return { events, next: all.length > events.length ? (events.at(-1)?.seq ?? null) : null }
    }),
    facets: os.events.facets.handler(({ input }) => {
      const all = found(input.query)
      const by = (of: (event: EventRow) => unknown): [string, number][] => {
        const counts = new Map<string, number>()
        for (const event of all) {
          const value = of(event)
          if (typeof value === 'string') counts.set(value, (counts.get(value) ?? 0) + 1)
        }
        return [...counts].sort((a, b) => b[1] - a[1])
      }
      return {
        count: all.length,
        isCut: false,
        kinds: by((event) => event.kind),
        tasks: by((event) => event.task),
        agents: by((event) => event.agent),
        tools: by((event) => event.kind.startsWith('tool.') && event.data.name),
        actors: by((event) => event.actor),
        failed: all.filter(hasFailed).length,
      }
    }),
    past: os.events.past.handler(({ input }) => {
      const event = world.events[input.seq - 1]
      return {
        seq: input.seq,
        agent: event?.agent ?? null,
        task: event?.task ?? null,
        active: event?.agent ? { activation: 2, revision: hash(2), seq: 40 } : null,
        artifacts: event?.agent
          ? [
              { name: 'memory/world', version: 3, hash: hash(31), sizeBytes: 812 },
              { name: 'skills/fishing', version: 1, hash: hash(32), sizeBytes: 2204 },
            ]
          : [],
        snapshot: event?.task ? { name: 'before-quest', seq: 60, at: event.at - 60_000, hasWorld: true } : null,
      }
    }),
    marks: os.events.marks.handler(() => [...marks.values()]),
    note: os.events.note.handler(({ input }) => {
      const data = { about: input.seq, text: input.text }
      const { seq, at } = world.append({ kind: 'event.noted', task: null, actor: 'operator', data })
      const of = mark(input.seq)
      marks.set(input.seq, { ...of, notes: [...of.notes, { seq, at, text: input.text }] })
      return { seq }
    }),
    label: os.events.label.handler(({ input: { seq: about, label, isSet } }) => {
      const { seq } = world.append({
        kind: 'event.labelled',
        task: null,
        actor: 'operator',
        data: { about, label, isSet },
      })
      const of = mark(about)
      marks.set(about, { ...of, labels: [...of.labels.filter((each) => each !== label), ...(isSet ? [label] : [])] })
      return { seq }
    }),
  }
}

function hasFailed({ kind, data }: EventRow): boolean {
  return (
    (kind === 'tool.finished' && data.outcome !== 'ok') ||
    (kind === 'proposal.checked' && data.verdict === 'fail') ||
    (kind === 'model.called' && data.status !== 'completed')
  )
}
