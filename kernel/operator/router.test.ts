// Every procedure of the operator contract, on a real kernel, as a client gets its answers.
import { createRouterClient } from '@orpc/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { boxMissing, complete, openTestKernel, shell, startSimulator, type TestKernel } from '../testing/kernel.ts'
import { operatorContract } from '../wire/operator.ts'
import { createRouter, type OperatorParts } from './router.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const simulator = startSimulator()
let test: TestKernel
let task = 'T-1'
const agent = 'counter'

const clientOf = (router: ReturnType<typeof createRouter>) => createRouterClient(router, { context: { via: 'socket' } })
let desk: ReturnType<typeof clientOf>

beforeAll(async () => {
  test = await openTestKernel(simulator)
  desk = clientOf(test.kernel.operator)
  if (boxMissing) return
  const pack = test.pack('beans', { goal: 2, script: [shell('count add'), shell('count add'), complete()] })
  test.pack('broken', { script: [], toml: '[agent]\ntimeout_sec = "soon"' })
  ;({ task } = await desk.tasks.run({ pack, agent, model: 'sim-script' }))
  await test.kernel.tasks.ended(task)
}, 120_000)
afterAll(async () => {
  await test.close()
  simulator.stop()
})

const unknown = { agent, proposal: 'P-9' }
const noBlob = '0'.repeat(64)
const verdict = { ...unknown, nonce: 'n', binding: { revision: noBlob, base: noBlob, checks: noBlob, profile: noBlob } }

describe.skipIf(boxMissing)('the operator’s desk', () => {
  it('says how the host is', async () => {
    expect(await desk.host.status()).toMatchObject({
      ...{ host: 'test', running: 0, decisions: 0, unattended: false, recovered: null, todaySimulated: true },
      verified: { ok: true, problem: null },
      sandbox: { available: true, provider: 'local', reason: null },
    })
    expect(await desk.host.pauseAll()).toEqual({ paused: [] })
  })

  it('lists packs as `run` takes them, the broken ones with the reason', async () => {
    const packs = await desk.packs.list()
    expect(packs.map(({ pack, blocked }) => [pack, blocked === null])).toEqual([
      ['beans', true],
      ['broken', false],
    ])
    expect(packs[0]).toMatchObject({ name: 'test/beans', goal: { goal: 2, unit: 'beans', source: 'measured' } })
    expect(packs[1]?.blocked).toContain('timeout_sec')
  })

  it('shows a task from every side, with figures that agree', async () => {
    const [summary, got, series, report, frame] = await Promise.all([
      desk.tasks.list(),
      desk.tasks.get({ task }),
      desk.tasks.series({ task }),
      desk.tasks.report({ task }),
      desk.tasks.frame({ task }),
    ])
    expect(summary).toMatchObject([{ task, agent, state: 'finished', outcome: 'completed' }])
    expect(got).toMatchObject({ ...summary[0], instruction: expect.stringContaining('Count.') })
    expect(series).toMatchObject({
      unit: 'beans',
      goal: 2,
      activations: [{ activation: 1, steps: 3, progressDelta: 2 }],
    })
    expect(series.steps.map(({ step, progress }) => [step, progress])).toEqual([
      [1, 1],
      [2, 2],
      [3, 2],
    ])
    expect(report).toMatchObject({ simulated: true, total: { calls: 3, output: got.totals.output, failed: 0 } })
    expect(report.byTool.map(({ name, calls }) => [name, calls])).toEqual([
      ['shell', 2],
      ['complete', 1],
    ])
    expect(report.repeatedCalls).toMatchObject([{ name: 'shell', count: 2 }])
    expect(frame.text).toBeNull()
    expect(await desk.tasks.report({ agent })).toMatchObject({ total: { calls: 3 }, byActivation: [] })
    expect(await desk.agents.list()).toMatchObject([{ agent, activation: 1, tasks: 1, runningTask: null }])
  })

  it('reads events by page, kind and words', async () => {
    const all = await desk.events.read({ task, limit: 1000 })
    expect(all.events.map(({ seq }) => seq)).toEqual(all.events.map(({ seq }) => seq).sort((a, b) => a - b))
    const page = await desk.events.read({ task, limit: 5 })
    const rest = await desk.events.read({ task, limit: 1000, after: page.next ?? 0 })
    expect([...page.events, ...rest.events]).toEqual(all.events)
    const found = await desk.events.read({ text: 'COUNT ADD', kinds: ['tool.called'] })
    expect(found.events.map(({ kind }) => kind)).toEqual(['tool.called', 'tool.called'])
    const [first] = all.events
    const { prevHash, hash, ...row } = await desk.events.get({ seq: first?.seq ?? 0 })
    expect(row).toEqual(first)
    expect([prevHash, hash].map((text) => text.length)).toEqual([64, 64])
  })

  it('follows without gap or repetition over a lost connection', async () => {
    const seen: number[] = []
    const { lastSeq } = await desk.host.status()
    for (let from = 0; (seen.at(-1) ?? 0) < lastSeq; from = seen.at(-1) ?? 0) {
      const lost = new AbortController()
      const batches = await desk.events.follow({ after: from }, { signal: lost.signal })
      for await (const batch of batches) {
        expect(batch.length).toBeLessThanOrEqual(500)
        // As much as arrived before the connection broke: the rest is asked for again.
        seen.push(...batch.slice(0, 20).map(({ seq }) => seq))
        break
      }
      lost.abort()
    }
    expect(seen.slice(0, lastSeq)).toEqual(Array.from({ length: lastSeq }, (_, index) => index + 1))
  })

  it('reads blobs in ranges that cut no character and exceed no cap', async () => {
    const text = `${'ä€😀'.repeat(60_000)}end`
    const bytes = Buffer.from(text)
    const hash = await test.kernel.history.putBlob(text)
    let whole = ''
    for (let offset = 0; offset < bytes.length; ) {
      const part = await desk.events.blob({ hash, offset, length: 100_001 })
      expect([part.binary, part.totalBytes]).toEqual([false, bytes.length])
      const size = Buffer.byteLength(part.text)
      expect(size).toBeGreaterThan(0)
      offset += size
      whole += part.text
    }
    expect(whole).toBe(text)
    expect(Buffer.byteLength((await desk.events.blob({ hash })).text)).toBeLessThanOrEqual(262_144)
    await expect(desk.events.blob({ hash, length: 1_048_577 })).rejects.toMatchObject({ code: 'BAD_REQUEST' })
    const noText = await test.kernel.history.putBlob(Buffer.from([0xff, 0xfe, 0x00]))
    expect(await desk.events.blob({ hash: noText })).toEqual({ text: '//4A', totalBytes: 3, binary: true })
  })

  it('takes a proposal through its life, and tells revisions apart', async () => {
    const [now] = await desk.revisions.list({ agent })
    const files = await desk.revisions.files({ revision: now?.revision ?? '' })
    const tree = files.map((file) =>
      file.path === 'SELF.md' ? { ...file, text: `${file.text}\nCount twice.\n` } : file,
    )
    const made = await desk.proposals.submit({ agent, tree, why: 'to count twice' })
    expect(made).toMatchObject({ proposal: 'P-1', state: 'checking' })
    expect(await desk.proposals.list({ agent })).toMatchObject([
      { proposal: 'P-1', claim: 'to count twice', by: 'operator' },
    ])
    expect(await desk.proposals.get({ agent, proposal: 'P-1' })).toMatchObject({ why: 'to count twice' })
    const sides = await desk.proposals.file({ agent, proposal: 'P-1', path: 'SELF.md' })
    expect(sides.after).toBe(`${sides.before}\nCount twice.\n`)
    const compared = await desk.revisions.compare({ from: now?.revision ?? '', to: made.revision })
    expect(compared.files).toMatchObject([{ path: 'SELF.md', change: 'changed' }])
    expect(compared.diff).toContain('+Count twice.')
    expect(await desk.proposals.withdraw({ agent, proposal: 'P-1' })).toEqual({ state: 'withdrawn' })
    await expect(desk.proposals.view({ agent, proposal: 'P-1' })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('verifies the whole history when asked', async () => {
    const report = await desk.history.verify()
    expect(report).toMatchObject({ ok: true, firstBadSeq: null, problem: null })
    expect((await desk.host.status()).verified).toMatchObject({ ok: true, events: report.events })
  })

  it('answers what cannot be done with a code and words', async () => {
    const cases: [string, () => Promise<unknown>, string][] = [
      ['tasks.get', () => desk.tasks.get({ task: 'T-99' }), 'not-found'],
      ['tasks.run', () => desk.tasks.run({ pack: 'nowhere' }), 'not-found'],
      ['tasks.series', () => desk.tasks.series({ task: 'T-99' }), 'not-found'],
      ['tasks.frame', () => desk.tasks.frame({ task: 'T-99' }), 'not-found'],
      ['tasks.report', () => desk.tasks.report({ task: 'T-99' }), 'not-found'],
      ['tasks.pause', () => desk.tasks.pause({ task }), 'conflict'],
      ['tasks.resume', () => desk.tasks.resume({ task }), 'conflict'],
      ['tasks.stop', () => desk.tasks.stop({ task }), 'conflict'],
      ['tasks.steer', () => desk.tasks.steer({ task, text: 'go' }), 'conflict'],
      ['tasks.answer', () => desk.tasks.answer({ task, text: 'yes' }), 'conflict'],
      ['events.get', () => desk.events.get({ seq: 1_000_000 }), 'not-found'],
      ['events.blob', () => desk.events.blob({ hash: noBlob }), 'not-found'],
      ['proposals.get', () => desk.proposals.get(unknown), 'not-found'],
      ['proposals.file', () => desk.proposals.file({ ...unknown, path: 'x' }), 'not-found'],
      ['proposals.view', () => desk.proposals.view(unknown), 'not-found'],
      ['proposals.approve', () => desk.proposals.approve(verdict), 'conflict'],
      ['proposals.reject', () => desk.proposals.reject({ ...verdict, reason: 'no' }), 'conflict'],
      ['proposals.withdraw', () => desk.proposals.withdraw(unknown), 'not-found'],
      ['revisions.files', () => desk.revisions.files({ revision: noBlob }), 'not-found'],
      ['revisions.list', () => desk.revisions.list({ agent: 'nobody' }), 'not-found'],
      ['rollbackPreview', () => desk.revisions.rollbackPreview({ agent, activation: 9 }), 'not-found'],
      ['rollback', () => desk.revisions.rollback({ agent, activation: 1, expectActive: noBlob }), 'conflict'],
      ['a task of no form', () => desk.tasks.get({ task: 'x' }), 'BAD_REQUEST'],
    ]
    for (const [name, ask, code] of cases) {
      const error = await ask().then(
        () => null,
        (thrown: { code: string; message: string }) => thrown,
      )
      expect([name, error?.code]).toEqual([name, code])
      expect(error?.message.length, name).toBeGreaterThan(8)
    }
  })
})

describe('what goes wrong inside', () => {
  it('is one word to whoever asked, and no more', async () => {
    const fails = () => {
      throw new Error('/home/someone/secret: permission denied')
    }
    const hint = (text: string) => text
    const parts = {
      tasks: { list: fails, states: fails },
      packs: fails,
      status: fails,
      hint,
    } as unknown as OperatorParts
    const broken = clientOf(createRouter(parts))
    for (const ask of [() => broken.tasks.list(), () => broken.packs.list(), () => broken.host.status()]) {
      const error = await ask().catch((thrown: unknown) => thrown as Error & { code: string })
      expect(error).toMatchObject({ code: 'internal', message: 'internal error' })
      expect(JSON.stringify(error)).not.toContain('secret')
    }
  })

  it('names commands in the reason of a task as they are typed', async () => {
    const state = await desk.tasks.get({ task })
    const reasons = ['Go on with: exodesk resume T-1', null]
    const tasks = {
      list: async () => reasons.map((reason) => ({ ...state, reason })),
      get: async () => ({ ...state, reason: reasons[0] }),
    }
    const hint = (text: string) => text.replace('exodesk resume', 'npm run -s exodesk -- resume')
    const typed = clientOf(createRouter({ tasks, hint } as unknown as OperatorParts))
    const told = 'Go on with: npm run -s exodesk -- resume T-1'
    expect((await typed.tasks.list()).map(({ reason }) => reason)).toEqual([told, null])
    expect((await typed.tasks.get({ task })).reason).toBe(told)
  })

  it('has an answer for every procedure of the contract', () => {
    const names = (tree: object): string[] =>
      Object.entries(tree).flatMap(([key, value]) =>
        '~orpc' in value ? [key] : names(value).map((name) => `${key}.${name}`),
      )
    const router = createRouter({} as OperatorParts)
    expect(names(router).sort()).toEqual(names(operatorContract).sort())
  })
})
