import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Event, EventDraft } from '../wire/events.ts'
import { openTestHistory, type TestHistory } from './fixture.ts'
import type { ReadOptions, View } from './history.ts'

let test: TestHistory
beforeAll(async () => {
  test = await openTestHistory()
})
afterAll(() => test.close())

const revision = 'e'.repeat(64)
const note = (agent: string, text: string, header: Partial<EventDraft> = {}) =>
  ({ kind: 'note.added', data: { text }, actor: 'executor', agent, ...header }) as EventDraft
const called = (agent: string, task: string, name: string) =>
  ({
    kind: 'tool.called',
    data: { call: 'c', name, arguments: '{}', request: 0 },
    actor: 'kernel',
    agent,
    task,
  }) as EventDraft

const seqs = (events: readonly Event[]) => events.map(({ seq }) => seq)
async function all(view: View, options: ReadOptions): Promise<number[]> {
  const found: number[] = []
  let cursor: number | null | undefined
  const key = options.order === 'desc' ? 'before' : 'after'
  while (cursor !== null) {
    const page = await test.history.read(view, { ...options, ...(cursor === undefined ? {} : { [key]: cursor }) })
    found.push(...seqs(page.events))
    cursor = page.next
  }
  return found
}

describe('read', () => {
  let log: Event[]
  beforeAll(async () => {
    const drafts: EventDraft[] = []
    for (let n = 0; n < 60; n += 1) {
      const agent = n % 3 === 0 ? 'b' : 'a'
      const task = n % 2 === 0 ? 'T-1' : 'T-2'
      if (n % 5 === 0) drafts.push(called(agent, task, n % 2 === 0 ? 'shell' : 'edit'))
      else if (n % 7 === 0) drafts.push({ kind: 'task.started', data: {}, actor: 'kernel', agent, task })
      else drafts.push(note(agent, `note ${n}`, { task, turn: n % 4, ...(n % 11 === 0 ? { revision } : {}) }))
    }
    log = await test.history.append(drafts)
  })

  it.each<[string, ReadOptions, (event: Event) => boolean]>([
    ['everything', {}, () => true],
    ['one task', { task: 'T-2' }, ({ task }) => task === 'T-2'],
    ['one kind', { kinds: ['task.started'] }, ({ kind }) => kind === 'task.started'],
    [
      'two kinds',
      { kinds: ['tool.called', 'note.added'] },
      ({ kind }) => kind === 'tool.called' || kind === 'note.added',
    ],
    [
      'two kinds of a task',
      { kinds: ['tool.called', 'task.started'], task: 'T-1' },
      ({ kind, task }) => kind !== 'note.added' && task === 'T-1',
    ],
    ['a turn', { turn: 1, task: 'T-2' }, ({ turn, task }) => turn === 1 && task === 'T-2'],
    ['a revision', { revision }, (event) => event.revision === revision],
    [
      'a tool',
      { tool: 'shell' },
      ({ kind, data }) => kind === 'tool.called' && (data as { name: string }).name === 'shell',
    ],
    [
      'a tool by kind and task',
      { tool: 'edit', task: 'T-2', kinds: ['tool.called'] },
      ({ kind, data }) => kind === 'tool.called' && (data as { name: string }).name === 'edit',
    ],
    ['nothing', { kinds: [] }, () => false],
  ])(
    'finds %s in pages of any size, forwards and backwards, for one agent and for all',
    async (_name, options, wanted) => {
      for (const agent of ['a', 'b', null]) {
        const expected = seqs(log.filter((event) => wanted(event) && (agent === null || event.agent === agent)))
        for (const limit of [1, 7, 1000]) {
          expect(await all({ agent }, { ...options, limit })).toEqual(expected)
          expect(await all({ agent }, { ...options, limit, order: 'desc' })).toEqual([...expected].reverse())
        }
        const asOf = 31
        expect(await all({ agent, asOf }, { ...options, limit: 9 })).toEqual(expected.filter((seq) => seq <= asOf))
      }
    },
  )

  it('with every kind asked for is the same as with none', async () => {
    const { eventKinds } = await import('../wire/events.ts')
    expect(await all({ agent: 'a' }, { kinds: eventKinds, limit: 13 })).toEqual(await all({ agent: 'a' }, {}))
  })

  it('ends a page early rather than hold very much, and goes on from there', async () => {
    const big = await test.history.append(Array.from({ length: 60 }, () => note('big', 'x'.repeat(200_000))))
    const page = await test.history.read({ agent: 'big' }, { limit: 1000 })
    expect(page.events.length).toBeLessThan(60)
    expect(page.next).toBe(page.events.at(-1)?.seq)
    expect(await all({ agent: 'big' }, { limit: 1000 })).toEqual(seqs(big))
  })

  it('refuses a limit out of range', async () => {
    for (const limit of [0, -1, 1001, 1.5, Number.NaN]) {
      await expect(test.history.read({ agent: 'a' }, { limit })).rejects.toMatchObject({ code: 'invalid' })
    }
  })

  it('[H11] answers the same for another agent’s event as for none', async () => {
    const foreign = log.find(({ agent }) => agent === 'b')?.seq ?? 0
    expect(await test.history.get({ agent: 'a' }, foreign)).toBeNull()
    expect(await test.history.get({ agent: 'a' }, 1_000_000)).toBeNull()
    expect(await test.history.get({ agent: null }, foreign)).toMatchObject({ seq: foreign })
    expect(await test.history.get({ agent: 'b', asOf: foreign - 1 }, foreign)).toBeNull()
  })

  it('finds the latest of a kind', async () => {
    const wanted = log
      .filter(({ kind, task, agent }) => kind === 'task.started' && task === 'T-1' && agent === 'a')
      .at(-1)
    expect(await test.history.latest({ agent: 'a' }, 'task.started', { task: 'T-1' })).toEqual(wanted)
    expect(await test.history.latest({ agent: 'nobody' }, 'task.started')).toBeNull()
  })
})

describe('search', () => {
  it('finds text in any case, newest first, of one agent, with quotes, percent signs and newlines taken as they are', async () => {
    const texts = ['Größe 100%', 'GRÖSSE', 'größe 100x', 'say "Größe"\nagain', 'a_b', 'axb']
    const [one, , three, four, five] = await test.history.append(texts.map((text) => note('s', text)))
    await test.history.append([note('other', 'größe')])
    const find = async (text: string) => seqs((await test.history.search({ agent: 's' }, text)).events)
    expect(await find('GRÖßE')).toEqual(seqs([four, three, one] as Event[]))
    expect(await find('100%')).toEqual(seqs([one] as Event[]))
    expect(await find('"größe"\nA')).toEqual(seqs([four] as Event[]))
    expect(await find('A_B')).toEqual(seqs([five] as Event[]))
    const page = await test.history.search({ agent: 's' }, 'größe', { limit: 2 })
    expect(page.next).toBe(three?.seq)
    const rest = await test.history.search({ agent: 's' }, 'größe', { limit: 2, before: page.next ?? 0 })
    expect(seqs(rest.events)).toEqual(seqs([one] as Event[]))
    expect(rest.next).toBeNull()
    await expect(find('')).rejects.toMatchObject({ code: 'invalid' })
  })
})

describe('a fork', () => {
  it('[H9] stands on its parent’s events up to the fork and never sees later ones; the parent’s stay as they were', async () => {
    const { history } = test
    const [old] = await history.append([note('p', 'before')])
    const forkAt = history.head()?.seq ?? 0
    const [later] = await history.append([note('p', 'after')])
    const fork = (agent: string, parent: string, seq: number): EventDraft<'agent.forked'> => ({
      kind: 'agent.forked',
      data: { name: agent, parent: { agent: parent, seq }, revision },
      actor: 'operator',
      agent,
    })
    const [forked] = await history.append([fork('f', 'p', forkAt)])
    const [own] = await history.append([note('f', 'own')])
    const [again] = await history.append([fork('g', 'f', own?.seq ?? 0)])
    await history.append([note('f', 'later than the second fork')])
    expect(await all({ agent: 'f', asOf: own?.seq ?? 0 }, {})).toEqual(seqs([old, forked, own] as Event[]))
    expect(await all({ agent: 'g' }, { limit: 1 })).toEqual(seqs([old, forked, own, again] as Event[]))
    expect(await all({ agent: 'g' }, { order: 'desc', limit: 2 })).toEqual(seqs([again, own, forked, old] as Event[]))
    expect(await all({ agent: 'p' }, {})).toEqual(seqs([old, later] as Event[]))

    const refusals = [
      fork('h', 'p', 1_000_000),
      fork('h', 'nobody', forkAt),
      fork('f', 'p', forkAt),
      fork('p', 'f', own?.seq ?? 0),
    ]
    for (const refused of refusals) {
      await expect(history.append([refused])).rejects.toMatchObject({
        code: expect.stringMatching(/invalid|not-found|conflict/),
      })
    }
  })

  it('[A7] may read the blobs that its parent might read by then, and no others', async () => {
    const { history } = test
    await history.append([note('bp', 'x')])
    const early = await history.putBlob('early')
    await history.grantBlob('bp', early)
    const data = { name: 'bf', parent: { agent: 'bp', seq: history.head()?.seq ?? 0 }, revision }
    await history.append([{ kind: 'agent.forked', data, actor: 'operator', agent: 'bf' }])
    const late = await history.putBlob('late')
    await history.grantBlob('bp', late)
    expect(await Promise.all([early, late].map((hash) => history.mayRead('bf', hash)))).toEqual([true, false])
    expect(await Promise.all([early, late].map((hash) => history.mayRead('bp', hash)))).toEqual([true, true])
    expect(await Promise.all([early, 'f'.repeat(64)].map((hash) => history.mayRead('stranger', hash)))).toEqual([
      false,
      false,
    ])
    await expect(history.grantBlob('bp', 'f'.repeat(64))).rejects.toMatchObject({ code: 'not-found' })
  })
})
