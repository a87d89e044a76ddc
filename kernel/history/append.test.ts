import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '../clock.ts'
import { openForWriting } from '../store/sqlite.ts'
import type { Event, EventDraft } from '../wire/events.ts'
import { openTestHistory, type TestHistory } from './fixture.ts'

let now = 1_000_000
const clock: Clock = { now: () => now, monotonic: () => 0 }
let test: TestHistory
beforeAll(async () => {
  test = await openTestHistory({ clock })
})
afterAll(() => test.close())

const note = (text: string, header: Partial<EventDraft> = {}): EventDraft<'note.added'> =>
  ({
    kind: 'note.added',
    data: { text },
    actor: 'executor',
    agent: 'a',
    ...header,
  }) as EventDraft<'note.added'>

const activated = (agent: string, activation: number, revision: string) =>
  ({
    kind: 'revision.activated',
    data: { activation, revision, previous: null, cause: 'seed', proposal: null, probationSteps: 0 },
    actor: 'kernel',
    agent,
  }) as const
const [first, second] = ['1'.repeat(64), '2'.repeat(64)] as const

describe('append', () => {
  it('returns what a reader then finds, with every header field', async () => {
    const header = { task: 'T-1', run: 'task', generation: 2, turn: 3, step: 4, revision: first } as const
    const [event] = await test.history.append([note('héllo "w\u0000rld"', header)])
    expect(event).toMatchObject({
      seq: 1,
      at: now,
      agent: 'a',
      actor: 'executor',
      data: { text: 'héllo "w\u0000rld"' },
      ...header,
    })
    expect(await test.history.get({ agent: 'a' }, 1)).toEqual(event)
    expect(test.history.head()).toEqual({ seq: 1, hash: event?.hash })
  })

  it('numbers concurrent callers’ events without gap, each caller’s together and in order', async () => {
    const from = test.history.head()?.seq ?? 0
    const batches = await Promise.all(
      Array.from({ length: 40 }, (_, n) => test.history.append([note(`${n} one`), note(`${n} two`)])),
    )
    expect(batches.flat().map(({ seq }) => seq)).toEqual(Array.from({ length: 80 }, (_, n) => from + n + 1))
    expect(batches.flat().every((event, n, all) => n === 0 || event.prevHash === all[n - 1]?.hash)).toBe(true)
  })

  it('[C5] [F10] orders by seq, whatever the clock does', async () => {
    const seqs: number[] = []
    for (const at of [5_000_000, 10, 320_000_000_000_000, -86_400_000]) {
      now = at
      const [event] = await test.history.append([note('at')])
      expect(event?.at).toBe(at)
      seqs.push(event?.seq ?? 0)
    }
    const page = await test.history.read({ agent: 'a' }, { after: (seqs[0] ?? 0) - 1 })
    expect(page.events.map(({ seq }) => seq)).toEqual(seqs)
    now = 1_000_000
  })

  it.each<[string, unknown, RegExp]>([
    ['an unknown kind', { ...note('x'), kind: 'history.deleted' }, /no kind of event 'history\.deleted'/],
    ['a kind from the prototype', { ...note('x'), kind: 'toString' }, /no kind of event/],
    ['data of another kind', { ...note('x'), kind: 'task.steered', data: { words: 1 } }, /task\.steered/],
    ['a field too many', { ...note('x'), data: { text: 'x', actor: 'operator' } }, /Unrecognized key/],
    ['too much data', note('x'.repeat(256 * 1024)), /at most 262144.*blob/],
    ['a hundred megabytes', note('x'.repeat(100 * 1024 * 1024)), /at most 262144/],
    ['too much data, counted in bytes', note('é'.repeat(140_000)), /at most 262144/],
    ['an actor of its own', note('x', { actor: 'root' as never }), /actor/],
    ['an agent with a newline', note('x', { agent: 'a\nb' }), /control/],
    ['a negative step', note('x', { step: -1 }), /step/],
  ])('[H6] refuses %s, and adds nothing of its batch', async (_name, draft, problem) => {
    const before = test.history.head()
    await expect(test.history.append([note('fine'), draft as EventDraft])).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(problem),
    })
    expect(test.history.head()).toEqual(before)
  })

  it('refuses data nested deeper than the stack, and goes on', async () => {
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)
    const setting = {
      kind: 'setting.changed',
      data: { key: 'k', value: deep, previous: null },
      actor: 'operator',
    } as const
    await expect(test.history.append([setting])).rejects.toMatchObject({ code: 'invalid' })
    await test.history.append([note('still here')])
  })

  it('lets the neighbours in a commit go on when one of them is refused by the store', async () => {
    const hash = await test.history.putBlob('v')
    const written = (version: number) =>
      ({
        kind: 'artifact.written',
        data: { name: 'poison', version, hash, sizeBytes: 1 },
        actor: 'kernel',
        agent: 'a',
      }) as const
    const before = test.history.head()?.seq ?? 0
    const [one, two, three, four] = await Promise.allSettled([
      test.history.append([note('before')]),
      test.history.append([note('lost with it'), written(7)]),
      test.history.append([written(1), note('after')]),
      test.history.append([written(1)]),
    ])
    expect([one, two, three, four].map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
    ])
    expect((two as PromiseRejectedResult).reason).toMatchObject({ code: 'conflict' })
    expect((four as PromiseRejectedResult).reason).toMatchObject({ code: 'conflict', details: { latest: 1 } })
    const texts = (await test.history.read({ agent: 'a' }, { after: before })).events.map(
      ({ data }) => (data as { text?: string }).text,
    )
    expect(texts).toEqual(['before', undefined, 'after'])
    expect(await test.history.verify()).toMatchObject({ ok: true })
  })

  it('[F7] waits while another program holds the database, and drops nothing', async () => {
    const other = openForWriting(join(test.dataDir, 'history.db'))
    other.exec('BEGIN IMMEDIATE')
    let isDone = false
    const waiting = test.history.append([note('patient')]).then((events) => {
      isDone = true
      return events
    })
    // Reading goes on meanwhile.
    for (let n = 0; n < 20; n += 1) await test.history.read({ agent: 'a' }, { limit: 1 })
    expect(isDone).toBe(false)
    other.exec('ROLLBACK')
    other.close()
    expect((await waiting)[0]?.data).toEqual({ text: 'patient' })
  })

  it('tells listeners of each commit, in order, before its callers, until they leave; one that throws disturbs nobody', async () => {
    const seen: Event[] = []
    const warnings: unknown[] = []
    const onWarning = (warning: unknown) => warnings.push(warning)
    process.on('warning', onWarning)
    const leaveBad = test.history.onCommit(() => {
      throw new Error('a listener failed')
    })
    const leave = test.history.onCommit((events) => seen.push(...events))
    const told = await Promise.all([1, 2, 3].map(async (n) => test.history.append([note(`told ${n}`)])))
    expect(seen).toEqual(told.flat())
    leave()
    leaveBad()
    await test.history.append([note('untold')])
    expect(seen).toHaveLength(3)
    process.off('warning', onWarning)
    expect(warnings).toContainEqual(new Error('a listener failed'))
  })
})

describe('appendIfActive', () => {
  it('moves the pointer only from the revision that is still active', async () => {
    const { history } = test
    await history.appendIfActive('swap', null, [activated('swap', 1, first)])
    await expect(history.appendIfActive('swap', null, [activated('swap', 2, second)])).rejects.toMatchObject({
      code: 'conflict',
      details: { active: first },
    })
    const race = await Promise.allSettled([
      history.appendIfActive('swap', first, [note('a', { agent: 'swap' }), activated('swap', 2, second)]),
      history.appendIfActive('swap', first, [note('b', { agent: 'swap' }), activated('swap', 2, first)]),
    ])
    expect(race.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    const events = (await history.read({ agent: 'swap' })).events
    expect(events.map(({ kind }) => kind)).toEqual(['revision.activated', 'note.added', 'revision.activated'])
    await history.appendIfActive('swap', second, [])
  })
})
