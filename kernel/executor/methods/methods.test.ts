import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { answer, asks, openTestExecutors, says, type TestExecutors } from '../../testing/executors.ts'
import { draft } from '../../wire/events.ts'
import type { PolicyOrigin } from '../executor.ts'

let test: TestExecutors
afterEach(() => test.close())

const turn = { turn: 1, maxSteps: 5, maxMs: 60_000 }
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** What came of these calls, made by a policy in its box within one turn. */
async function made(calls: [string, object][]): Promise<Record<string, unknown>[]> {
  const generation = await test.start('script', { instruction: calls })
  const { reason } = await generation.runTurn(turn)
  await generation.stop('enough')
  return JSON.parse(reason ?? '')
}

const ask = (input: unknown, over: object = {}): [string, object] => [
  'model.call',
  { api: 'responses', body: { model: 'test-model', instructions: 'Be brief.', input, ...over } },
]

describe('history for an executor', () => {
  it('takes its two kinds with headers that the kernel sets, and shows them in its own task', async () => {
    test = await openTestExecutors()
    const results = await made([
      ['history.append', { kind: 'note.added', data: { text: 'remember', topic: 'maze' } }],
      ['history.append', { kind: 'message.appended', data: { role: 'summary', text: 'so far', keepFrom: 3 } }],
      ['history.read', { kinds: ['note.added'] }],
      ['history.query', { kinds: ['turn.started', 'note.added'], order: 'desc', limit: 1 }],
      ['history.search', { text: 'remember' }],
      ['history.read', { kinds: ['no.such'] }],
    ])
    const note = {
      task: 'T-1',
      turn: 1,
      step: null,
      actor: 'executor',
      kind: 'note.added',
      data: { text: 'remember', topic: 'maze' },
    }
    expect(results[2]).toEqual({ events: [expect.objectContaining(note)], next: null })
    expect(results[3]).toMatchObject({ events: [{ kind: 'note.added' }], next: (results[0] as { seq: number }).seq })
    expect(results[4]).toMatchObject({ events: [note] })
    expect(results[5]).toMatchObject({ refused: 'invalid' })
    expect((await test.events(['note.added']))[0]).toMatchObject({ agent: 'apprentice', run: 'task', generation: 1 })
  })

  it('shows nothing of another agent', async () => {
    test = await openTestExecutors()
    const other = { actor: 'executor', agent: 'rival', task: 'T-2' } as const
    await test.open.history.append([draft('note.added', { text: 'a secret plan' }, other)])
    const results = await made([
      ['history.read', { scope: 'agent', kinds: ['note.added'] }],
      ['history.search', { scope: 'agent', text: 'secret' }],
    ])
    expect(results).toEqual([
      { events: [], next: null },
      { events: [], next: null },
    ])
  })

  it('cuts a page where a frame would overflow, and goes on from there', async () => {
    test = await openTestExecutors()
    const place = { actor: 'executor', agent: 'apprentice', task: 'T-1' } as const
    const big = draft('note.added', { text: 'x'.repeat(200_000) }, place)
    const events = await test.open.history.append([big, big, big, big, big, big])
    const generation = await test.start('script', {
      instruction: [['history.read', { kinds: ['note.added'] }]],
    })
    const { historyMethods } = await import('./history.ts')
    const methods = historyMethods(generation as never)
    const first = await methods['history.read']({ kinds: ['note.added'] }, {} as never)
    expect(first).toMatchObject({ next: events[3]?.seq })
    const rest = await methods['history.read']({ kinds: ['note.added'], after: first.next ?? 0 }, {} as never)
    expect(rest).toMatchObject({ next: null })
    expect([...first.events, ...rest.events].map(({ seq }) => seq)).toEqual(events.map(({ seq }) => seq))
  })
})

describe('storage for an executor', () => {
  it('keeps versions of artifacts, and the kernel names to itself', async () => {
    test = await openTestExecutors()
    const results = await made([
      ['artifact.put', { name: 'notes/map', text: 'one', expectVersion: 0 }],
      ['artifact.put', { name: 'notes/map', text: 'two' }],
      ['artifact.put', { name: 'notes/map', text: 'three', expectVersion: 1 }],
      ['artifact.get', { name: 'notes/map', version: 1 }],
      ['artifact.put', { name: 'kernel/base', text: 'mine' }],
      ['artifact.list', {}],
      ['artifact.versions', { name: 'notes/map' }],
    ])
    expect(results[2]).toMatchObject({ refused: 'conflict' })
    expect(results[3]).toMatchObject({ text: 'one', version: 1 })
    expect(results[4]).toMatchObject({ refused: 'forbidden' })
    expect(results[5]).toMatchObject({ artifacts: [{ name: 'notes/map', version: 2 }] })
    expect(results[6]).toMatchObject({ versions: [expect.anything(), expect.anything()] })
    const written = await test.events(['artifact.written'])
    expect(written[0]).toMatchObject({ actor: 'executor', turn: 1, generation: 1 })
  })

  it('[A7] gives out only blobs that this agent has a right to', async () => {
    test = await openTestExecutors()
    const secret = await test.open.history.putBlob('of another agent')
    const results = await made([
      ['blob.put', { base64: Buffer.from('hello').toString('base64') }],
      ['blob.get', { hash: sha256('hello'), offset: 1, length: 3 }],
      ['blob.get', { hash: secret }],
      ['blob.get', { hash: sha256('never stored') }],
    ])
    expect(results[1]).toEqual({ base64: Buffer.from('ell').toString('base64'), offset: 1, totalBytes: 5 })
    expect(results[2]).toMatchObject({ refused: 'not-found' })
    expect(results[3]).toMatchObject({ refused: 'not-found' })
  })
})

describe('the sandbox for an executor', () => {
  it('runs commands, reads, writes and lists, each on record under its tool call', async () => {
    test = await openTestExecutors({
      model: () => asks(['c1', 'write', { path: 'a.txt' }], ['c2', 'shell', { command: 'wc -c' }]),
    })
    const results = await made([
      ask('go'),
      ['sandbox.write', { path: '/task/a.txt', text: 'hello', expect: 'absent' }],
      ['sandbox.write', { path: '/task/a.txt', text: 'again', expect: 'absent' }],
      ['sandbox.read', { path: '/task/a.txt', offset: 1, length: 3 }],
      ['sandbox.list', { path: '/task' }],
      ['sandbox.exec', { command: 'wc -c', stdin: '12345', cwd: '/tmp' }],
      ['sandbox.exec', { command: 'sleep 60', timeoutMs: 4000 }],
    ])
    expect(results[1]).toEqual({ hash: sha256('hello') })
    expect(results[2]).toMatchObject({ refused: 'conflict' })
    expect(results[3]).toEqual({ text: 'ell', totalBytes: 5, binary: false })
    expect(results[4]).toMatchObject({ entries: [{ name: 'a.txt', type: 'file', sizeBytes: 5 }] })
    expect(results[5]).toMatchObject({ exitCode: 0, stdout: '5\n', stdoutBytes: 2 })
    expect(results[6]).toMatchObject({ timedOut: true })
    const executed = await test.events(['sandbox.executed'])
    expect(executed.map(({ data }) => data)).toMatchObject([
      { op: 'write', call: 'c1' },
      { op: 'write', call: 'c1' },
      { op: 'read', call: 'c1' },
      { op: 'list', call: null },
      { op: 'exec', call: 'c2', what: 'wc -c', exitCode: 0 },
      { op: 'exec', call: null, timedOut: true },
    ])
    expect(executed[0]).toMatchObject({ actor: 'kernel', step: 1 })
  })

  it('leaves a command running as a job, with logs to read in pieces, and keeps and restores the sandbox', async () => {
    test = await openTestExecutors({
      model: () => asks(['c1', 'shell', { command: 'seq 1 3; sleep 1000', background: true }]),
    })
    const results = await made([
      ask('go'),
      ['sandbox.exec', { command: 'seq 1 3; sleep 1000', background: true }],
      ['sandbox.logs', { job: 'job-1', offset: 0, length: 4, waitMs: 30_000 }],
      ['sandbox.snapshot', { name: 'before' }],
      ['sandbox.write', { path: '/task/a.txt', text: 'new' }],
      ['sandbox.restore', { name: 'before' }],
      ['sandbox.list', { path: '/task' }],
      ['sandbox.snapshots', {}],
      ['sandbox.jobs', {}],
      ['sandbox.kill', { job: 'job-2' }],
      ['sandbox.exec', { command: 'true', timeoutMs: 4_000_000 }],
      ['sandbox.snapshot', { name: '../x' }],
    ])
    expect(results[1]).toMatchObject({ job: 'job-1', exitCode: null, stdout: '' })
    expect(results[2]).toMatchObject({ state: 'running', text: '1\n2\n', from: 0, to: 4 })
    expect(results[3]).toMatchObject({ name: 'before', sizeBytes: 0 })
    expect(results[6]).toEqual({ entries: [] })
    expect(results[7]).toMatchObject({ snapshots: [{ name: 'before' }] })
    expect(results[8]).toMatchObject({ jobs: [{ job: 'job-1', state: 'ended', ending: 'killed', stdoutBytes: 6 }] })
    expect(results.slice(9).map((result) => result.refused)).toEqual(['not-found', 'invalid', 'invalid'])
    const kinds = ['job.started', 'sandbox.snapshotted', 'job.ended', 'sandbox.restored'] as const
    const events = await test.events([...kinds])
    expect(events.map(({ kind, actor }) => [kind, actor])).toEqual([
      ['job.started', 'kernel'],
      ['sandbox.snapshotted', 'executor'],
      ['job.ended', 'kernel'],
      ['sandbox.restored', 'executor'],
    ])
    expect(events[0]).toMatchObject({ data: { job: 'job-1', call: 'c1' }, step: 1 })
  })

  it('cuts long output in the middle and keeps all of it as a blob', async () => {
    test = await openTestExecutors()
    const [result] = await made([['sandbox.exec', { command: 'seq 1 2000', outputBytes: 100 }]])
    const whole = `${Array.from({ length: 2000 }, (_, index) => index + 1).join('\n')}\n`
    expect(result).toMatchObject({ stdoutBytes: whole.length, stdoutBlob: sha256(whole), stderr: '' })
    expect(result?.stdout).toMatch(/^1\n2\n[\s\S]*\[… 8793 bytes are not shown …\][\s\S]*2000\n$/)
    expect(await test.open.history.mayRead('apprentice', sha256(whole))).toBe(true)
  })
})

describe('model calls', () => {
  it('take items by reference to what this task has sent or received', async () => {
    const message = { role: 'user', content: 'hello' }
    test = await openTestExecutors()
    const results = await made([
      ask([message]),
      ask([{ ref: sha256(JSON.stringify(message)) }, { role: 'user', content: 'more' }]),
      ask([{ ref: sha256('no such item') }]),
      ask([{ ref: 'x' }]),
    ])
    expect(results[1]).toMatchObject({ status: 'completed' })
    expect(results[2]).toMatchObject({ refused: 'invalid' })
    expect(results[3]).toMatchObject({ refused: 'invalid' })
    expect(test.calls.map(({ body }) => body.input)).toEqual([[message], [message, { role: 'user', content: 'more' }]])
  })

  it('still know earlier items after a restart of the kernel', async () => {
    const message = { role: 'user', content: 'hello' }
    test = await openTestExecutors()
    await made([ask([message])])
    const { References } = await import('../references.ts')
    const history = await test.open.reopen()
    const references = new References(history, 'apprentice', 'T-1')
    expect(await references.resolve([{ ref: sha256(JSON.stringify(message)) }])).toMatchObject([{ value: message }])
    const elsewhere = new References(history, 'apprentice', 'T-2')
    await expect(elsewhere.resolve([{ ref: sha256(JSON.stringify(message)) }])).rejects.toMatchObject({
      code: 'invalid',
    })
  })

  it('[M1] take their usage and cost from the provider, whatever the executor says of them', async () => {
    test = await openTestExecutors()
    const claimed = { usage: { uncached: 1, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }, costNanoUsd: 1 }
    const called = { model: 'test-model', status: 'completed', attempts: 1, ...claimed }
    const [plain, beside, recorded, noted] = await made([
      ask('a'),
      ['model.call', { ...ask('a')[1], ...claimed }],
      ['history.append', { kind: 'model.called', data: called }],
      ['history.append', { kind: 'note.added', data: { text: JSON.stringify(claimed) } }],
    ])
    expect([plain, noted]).toMatchObject([{ status: 'completed' }, { seq: expect.any(Number) }])
    expect([beside, recorded]).toMatchObject([{ refused: 'invalid' }, { refused: 'invalid' }])
    const { usage, costNanoUsd } = says('x')
    expect((await test.events(['model.called'])).map(({ data }) => data)).toMatchObject([{ usage, costNanoUsd }])
    expect(usage?.uncached).not.toBe(1)
    expect(await test.open.history.totals({ task: 'T-1' })).toMatchObject({ costNanoUsd, output: usage?.output })
  })

  it('name the item that broke the kept prefix', async () => {
    test = await openTestExecutors()
    await made([ask('a'), ask('a', { instructions: 'Be long.' })])
    const called = await test.events(['model.called'])
    expect(called[1]?.data).toMatchObject({ firstDifference: { index: 0, kind: 'instructions' } })
  })

  it('count what waits for the executor', async () => {
    test = await openTestExecutors({
      model: async (_, nth) => {
        const place = { actor: 'operator', agent: 'apprentice', task: 'T-1' } as const
        if (nth === 1) await test.open.history.append([draft('task.steered', { text: 'left' }, place)])
        return says('x')
      },
    })
    const results = await made([ask('a'), ask('b')])
    expect(results.map(({ pendingEvents }) => pendingEvents)).toEqual([1, 0])
  })

  it('are streamed in numbered chunks as far as credits go', async () => {
    test = await openTestExecutors({
      model: async (call) => {
        for (let piece = 0; piece < 300; piece += 1) await call.onDelta?.({ type: 'text', text: 'x'.repeat(10_000) })
        return says('x')
      },
    })
    const generation = await test.start('streamer')
    const { reason } = await generation.runTurn(turn)
    expect(JSON.parse(reason ?? '')).toEqual({ length: 3_000_000, start: 'xxxxx', isCounted: true, id: 'resp' })
  })

  it('derive no tool call from an answer that was cut off', async () => {
    const cut = { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{"comm', status: 'incomplete' }
    test = await openTestExecutors({ model: () => answer([cut], { status: 'incomplete' }) })
    const [result] = await made([ask('a')])
    expect(result).toMatchObject({ status: 'incomplete' })
    expect(await test.events(['tool.called'])).toEqual([])
  })

  it('report what they cost', async () => {
    test = await openTestExecutors()
    const results = await made([ask('a'), ask('b'), ['report.usage', {}]])
    expect(results[2]).toMatchObject({
      total: { calls: 2, failed: 0, uncached: 20, output: 10, costNanoUsd: 14 },
      byModel: [{ key: 'test-model', calls: 2 }],
      cachedShare: 0,
      progress: null,
    })
  })
})

describe('policy and task', () => {
  it('reach the guardian with the origin that the kernel knows', async () => {
    const origins: PolicyOrigin[] = []
    test = await openTestExecutors({
      policy: {
        propose: async (origin) => {
          origins.push(origin)
          return { proposal: 'P-1', revision: 'a'.repeat(64), state: 'checking' }
        },
      },
    })
    const results = await made([
      ['policy.propose', { claim: 'faster', why: 'because' }],
      ['policy.propose', { claim: '', why: 'because' }],
      ['policy.propose', { claim: 'x'.repeat(900_000), why: 'because' }],
      ['task.complete', { summary: 'not yet' }],
      ['task.complete', { summary: 'done' }],
      ['task.ask', { question: 'left or right?' }],
    ])
    expect(results[0]).toMatchObject({ proposal: 'P-1' })
    expect(results.slice(1, 3)).toMatchObject([{ refused: 'invalid' }, { refused: 'invalid' }])
    expect(results[3]).toEqual({ accepted: false, message: 'measured' })
    expect(results[4]).toMatchObject({ accepted: true })
    expect(results[5]).toEqual({ asked: true })
    expect(origins).toMatchObject([{ agent: 'apprentice', task: 'T-1', generation: 1, turn: 1, box: { label: 'T-1' } }])
  })
})
