import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recordRun } from '../exports/fixture.ts'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import { sha256 } from '../store/chain.ts'
import { draft } from '../wire/events.ts'
import { createEventDesk } from './events.ts'

let test: TestHistory
let desk: ReturnType<typeof createEventDesk>
beforeAll(async () => {
  test = await openTestHistory()
  const by = { actor: 'kernel', agent: 'a' } as const
  const activated = (activation: number, revision: string) =>
    draft(
      'revision.activated',
      { activation, revision, previous: null, cause: 'seed', proposal: null, probationSteps: 0 },
      { ...by, revision },
    )
  await test.history.append([activated(1, sha256('one'))])
  await recordRun(test.history)
  const hash = await test.history.putBlob('first')
  const later = await test.history.putBlob('second')
  await test.history.putBlob('w')
  await test.history.append([
    draft('artifact.written', { name: 'memory/x', version: 1, hash, sizeBytes: 5 }, by),
    draft('sandbox.snapshotted', { name: 'early', sizeBytes: 1, world: sha256('w') }, { ...by, task: 'T-1' }),
    draft('note.added', { text: 'between' }, { ...by, task: 'T-1' }),
    draft('artifact.written', { name: 'memory/x', version: 2, hash: later, sizeBytes: 6 }, by),
    activated(2, sha256('two')),
    draft('note.added', { text: 'after' }, { ...by, task: 'T-1' }),
  ])
  desk = createEventDesk({ history: test.history, typed: (text) => text.replace('sk-live-key', '[redacted key]') })
})
afterAll(() => test.close())

const found = async (query: string) => (await desk.find({ query })).events.map(({ kind }) => kind)

describe('the operator’s query', () => {
  it('finds by field, text, revision and cost, newest first', async () => {
    expect(await found('tool:shell')).toEqual(['tool.finished', 'tool.called'])
    expect(await found('tool:shell "beans.txt"')).toEqual(['tool.finished'])
    expect(await found('cost>0.0005 task:T-1')).toEqual(['model.called', 'model.called'])
    expect(await found('cost>0.0006')).toEqual([])
    expect(await found('rev:r2')).toEqual(['revision.activated'])
    expect(await found(`rev:${sha256('one').slice(0, 8)} kind:turn`)).toEqual(['turn.ended', 'turn.started'])
    expect(await found('rev:r9')).toEqual([])
    expect(await found('agent:b')).toEqual(['task.created'])
    const page = await desk.find({ query: 'task:T-1', limit: 2 })
    expect((await desk.find({ query: 'task:T-1', limit: 2, before: page.next ?? 0 })).events[0]?.seq).toBeLessThan(
      page.events[1]?.seq ?? 0,
    )
    expect(await desk.facets('task:T-1 kind:tool')).toMatchObject({ count: 2, isCut: false, tools: [['shell', 2]] })
  })

  it('that cannot be understood is refused with the places', async () => {
    await expect(desk.find({ query: 'tool:shell cost:1' })).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(/compared with >.*character 12/),
      details: { problems: [{ at: 11, length: 6 }] },
    })
    await expect(desk.facets('kind:x')).rejects.toMatchObject({ code: 'invalid' })
  })

  it('shows what an agent was and had at an event', async () => {
    const [between] = (await desk.find({ query: 'between' })).events
    const [after] = (await desk.find({ query: 'after kind:note' })).events
    expect(await desk.past(between?.seq ?? 0)).toMatchObject({
      agent: 'a',
      task: 'T-1',
      active: { activation: 1, revision: sha256('one'), seq: 1 },
      artifacts: [{ name: 'memory/x', version: 1, hash: sha256('first') }],
      snapshot: { name: 'early', hasWorld: true },
    })
    expect(await desk.past(after?.seq ?? 0)).toMatchObject({
      active: { activation: 2, revision: sha256('two') },
      artifacts: [{ name: 'memory/x', version: 2, hash: sha256('second') }],
    })
    expect(await desk.past(1)).toMatchObject({ artifacts: [], snapshot: null })
    await expect(desk.past(9_999)).rejects.toMatchObject({ code: 'not-found' })
  })
})

describe('marks', () => {
  it('are events of no agent: notes and labels are found, a label can be taken off, and the agent does not see them', async () => {
    const before = test.history.head()?.seq ?? 0
    await desk.note(3, 'odd: sk-live-key')
    await desk.label(3, 'odd', true)
    await desk.label(5, 'odd', true)
    await desk.label(5, 'slow', true)
    await desk.label(5, 'odd', false)
    expect(await desk.marks()).toEqual([
      { seq: 3, labels: ['odd'], notes: [{ seq: before + 1, at: expect.any(Number), text: 'odd: [redacted key]' }] },
      { seq: 5, labels: ['slow'], notes: [] },
    ])
    const seqs = async (query: string) => (await desk.find({ query })).events.map(({ seq }) => seq)
    expect(await seqs('label:odd')).toEqual([3])
    expect(await seqs('is:noted')).toEqual([5, 3])
    expect(await seqs('label:none')).toEqual([])
    await desk.label(5, 'slow', false)
    expect(await seqs('is:noted')).toEqual([3])
    expect((await test.history.read({ agent: 'a' }, { after: before, limit: 100 })).events).toEqual([])
    // The events that were marked are what they were.
    expect(await test.history.verify()).toMatchObject({ ok: true, problem: null })
    await expect(desk.note(9_999, 'x')).rejects.toMatchObject({ code: 'not-found' })
    // Another desk folds the same.
    const again = createEventDesk({ history: await test.reopen(), typed: (text) => text })
    expect((await again.marks()).map(({ seq, labels }) => [seq, labels])).toEqual([[3, ['odd']]])
  })
})
