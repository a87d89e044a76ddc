import { createRouterClient } from '@orpc/server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { boxMissing, complete, openTestKernel, shell, startSimulator, type TestKernel } from '../testing/kernel.ts'
import type { Event } from '../wire/events.ts'

const simulator = startSimulator()
let test: TestKernel
beforeEach(async () => {
  test = await openTestKernel(simulator)
})
afterEach(() => test.close())

const desk = () => createRouterClient(test.kernel.operator, { context: { via: 'socket' } })

async function run(name: string, script: Parameters<TestKernel['pack']>[1]['script'], options: object = {}) {
  const pack = test.pack(name, { script })
  const { task } = await test.kernel.tasks.run({
    pack,
    agent: 'a',
    model: 'sim-script',
    approve: 'all',
    ...options,
  } as never)
  await test.until((event) => event.kind === 'task.finished' && event.task === task)
  return task
}
const calls = async (task: string) => (await test.events(['tool.finished'], task)) as Event<'tool.finished'>[]

describe.skipIf(boxMissing)('the tools of an agent', () => {
  it('are listed with what they declare, what their calls did, and figures; shell is of the starting policy', async () => {
    await run('one', [shell('echo hello'), shell('exit 3'), complete()])
    const rows = await desk().tools.list({ agent: 'a' })
    const row = rows.find(({ tool }) => tool === 'shell')
    expect(row).toMatchObject({
      origin: 'seed',
      file: 'tools/shell.ts',
      declared: ['sandbox.exec'],
      declaredBy: 'syntax',
      observed: ['sandbox.exec'],
      undeclared: [],
      introduced: { activation: 1, proposal: null, author: 'seed', by: 'seed' },
      calls: 2,
      errors: 1,
      callsLast7Days: 2,
      audit: 'none',
      quarantined: null,
      saved: null,
    })
    expect(row?.medianMs).toBeGreaterThan(0)
    expect(row?.resultTokens).toBeGreaterThan(0)
    // Two of the three steps called it.
    expect(row?.costShare).toBeGreaterThan(0.5)
    expect(row?.costShare).toBeLessThan(1)
    expect(rows.map(({ tool }) => tool)).toContain('propose')
    expect(rows.find(({ tool }) => tool === 'write')).toMatchObject({ calls: 0, lastUsedAt: null, observed: [] })

    const detail = await desk().tools.get({ agent: 'a', tool: 'shell' })
    expect(detail.source).toMatch(/name: 'shell'/)
    expect(detail.schema).toMatchObject({ name: 'shell' })
    expect(detail.callers).toEqual(['tools/index.ts'])
    expect(detail.versions).toHaveLength(1)
    expect(detail.samples).toMatchObject([
      { outcome: 'error', arguments: '{"command":"exit 3"}' },
      { outcome: 'ok', arguments: '{"command":"echo hello"}', output: 'hello' },
    ])
    await expect(desk().tools.get({ agent: 'a', tool: 'no_such' })).rejects.toThrow(
      /agent a has no tool no_such; it has ask, complete/,
    )
    await expect(desk().tools.list({ agent: 'nobody' })).rejects.toThrow(/there is no agent nobody/)
  }, 120_000)

  it('are off in quarantine for a real run, over a restart, until they are released', async () => {
    await run('first', [shell('echo before'), complete()])
    await desk().tools.quarantine({ agent: 'a', tool: 'shell', reason: 'it reads what it should not' })
    await expect(desk().tools.quarantine({ agent: 'a', tool: 'shell', reason: 'again' })).rejects.toThrow(
      /in quarantine already/,
    )
    await test.restart()
    const off = await run('second', [shell('echo during'), complete()])
    expect(await test.events(['sandbox.executed'], off)).toEqual([])
    expect((await calls(off)).map(({ data }) => [data.name, data.outcome, data.output])).toEqual([
      ['shell', 'error', expect.stringMatching(/the tool shell is in quarantine \(it reads what it should not\)/)],
      ['complete', 'ok', expect.anything()],
    ])
    const [called] = (await test.events(['model.called'], off)) as Event<'model.called'>[]
    const { items } = await test.kernel.history.getRequest(called?.data.request ?? 0)
    const offered = (
      await test.kernel.history.getBlob(items.find(({ kind }) => kind === 'tools')?.hash ?? '')
    ).toString()
    expect(offered).not.toMatch(/"shell"/)
    expect(offered).toMatch(/"read"/)
    await desk().tools.release({ agent: 'a', tool: 'shell', reason: 'mended' })
    await expect(desk().tools.release({ agent: 'a', tool: 'shell', reason: '' })).rejects.toThrow(/not in quarantine/)
    const on = await run('third', [shell('echo after'), complete()])
    expect((await calls(on))[0]?.data).toMatchObject({ name: 'shell', outcome: 'ok', output: 'after' })
  }, 180_000)

  it('are asked to go: in the turn that runs, and at the start of each later task while they are there', async () => {
    await run('start', [complete()])
    await desk().tools.askRetirement({ agent: 'a', tool: 'snapshot', reason: 'nobody calls it' })
    const task = await run('later', [shell('true'), complete()])
    const [called] = (await test.events(['model.called'], task)) as Event<'model.called'>[]
    const { items } = await test.kernel.history.getRequest(called?.data.request ?? 0)
    const sent = await Promise.all(items.map(async ({ hash }) => (await test.kernel.history.getBlob(hash)).toString()))
    expect(sent.join('\n')).toMatch(/The operator asks you to retire the tool snapshot: nobody calls it/)
    const row = (await desk().tools.list({ agent: 'a' })).find(({ tool }) => tool === 'snapshot')
    expect(row?.retirementAskedAt).toBeGreaterThan(0)
  }, 120_000)

  it('that come back under another name are other tools: learned, unaudited, with what they do in sight', async () => {
    await run('start', [complete()])
    const shellNow = (await desk().tools.list({ agent: 'a' })).find(({ tool }) => tool === 'shell')
    await desk().tools.audit({ agent: 'a', tool: 'shell', hash: shellNow?.fileHash ?? '', note: 'read it' })
    await desk().tools.quarantine({ agent: 'a', tool: 'shell', reason: 'no' })
    const [active] = await desk().revisions.list({ agent: 'a' })
    const seed = await desk().revisions.files({ revision: active?.revision ?? '' })
    const tree = seed.map(({ path, text }) => ({
      path,
      text: path === 'tools/shell.ts' ? text.replace("name: 'shell'", "name: 'bash'") : text,
    }))
    const { proposal } = await desk().proposals.submit({ agent: 'a', tree, why: 'A better name.' })
    await test.until((event) => event.kind === 'proposal.readied')
    const { nonce, binding } = await desk().proposals.view({ agent: 'a', proposal })
    await desk().proposals.approve({ agent: 'a', proposal, nonce, binding })
    await test.until((event) => event.kind === 'revision.activated' && event.data.activation === 2)
    const task = await run('renamed', [
      { toolCalls: [{ name: 'bash', arguments: { command: 'echo again' } }] },
      complete(),
    ])
    expect((await calls(task))[0]?.data).toMatchObject({ name: 'bash', outcome: 'ok', operations: ['sandbox.exec'] })
    const rows = await desk().tools.list({ agent: 'a' })
    const renamed = rows.find(({ tool }) => tool === 'bash')
    // It still says that it is in tools/bash.ts, which is not there: nothing of it can be read, so nothing is declared.
    expect(renamed).toMatchObject({
      origin: 'learned',
      audit: 'none',
      quarantined: null,
      introduced: { proposal: 'P-1', author: 'operator', by: 'operator' },
    })
    expect(renamed).toMatchObject({ file: null, declared: [], undeclared: ['sandbox.exec'] })
    expect(rows.find(({ tool }) => tool === 'shell')).toMatchObject({ isOffered: false, quarantined: { reason: 'no' } })
    await expect(
      desk().tools.audit({ agent: 'a', tool: 'bash', hash: shellNow?.fileHash ?? '', note: '' }),
    ).rejects.toThrow(/nothing to audit/)
    // Gone with a rollback, before anything of the revision that is active again was started.
    const { revision } = (await desk().agents.list())[0] ?? { revision: '' }
    await desk().revisions.rollback({ agent: 'a', activation: 1, expectActive: revision, reason: 'to see it go' })
    const after = await desk().tools.list({ agent: 'a' })
    expect(after.map(({ tool }) => tool)).not.toContain('bash')
    expect(after.find(({ tool }) => tool === 'shell')).toMatchObject({ isOffered: true, undeclared: [] })
  }, 180_000)
})
