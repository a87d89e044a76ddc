import { afterEach, describe, expect, it } from 'vitest'
import { asks, openTestExecutors, says, type TestExecutors } from '../testing/executors.ts'
import { draft, type Event } from '../wire/events.ts'

let test: TestExecutors
afterEach(() => test.close())

const turn = { turn: 1, maxSteps: 5, maxMs: 60_000 }
const operator = { actor: 'operator', agent: 'apprentice' } as const
const quarantined = (tool: string) => draft('tool.quarantined', { tool, reason: 'it deletes too much' }, operator)
const tools = ['sweep', 'shell'].map((name) => ({ type: 'function', name, parameters: null }))
const ask = (input: unknown): [string, object] => [
  'model.call',
  { api: 'responses', body: { model: 'test-model', tools, input } },
]
const result = (call: string, output: string) => ({ type: 'function_call_output', call_id: call, output })

/** What came of these calls, made by a policy in its box within one turn. */
async function made(calls: [string, object][]): Promise<{ refused?: string; message?: string; stdout?: string }[]> {
  const generation = await test.start('script', { instruction: calls })
  const { reason } = await generation.runTurn(turn)
  await generation.stop('enough')
  return JSON.parse(reason ?? '')
}
const finished = async () => (await test.events(['tool.finished'])) as Event<'tool.finished'>[]

describe('a tool in quarantine', () => {
  it('is not offered, and what a call of it asks for is refused and on record; without it, it is carried out', async () => {
    const model = () => asks(['c1', 'sweep', { folder: 'a' }])
    const calls: [string, object][] = [
      ask('go'),
      ['sandbox.exec', { command: 'echo swept' }],
      ['artifact.put', { name: 'notes/x', text: 'y' }],
      ask([result('c1', 'swept')]),
    ]
    test = await openTestExecutors({ model: (_, nth) => (nth === 1 ? model() : says('Done.')) })
    expect((await made(calls))[1]).toMatchObject({ stdout: 'swept\n' })
    expect((await finished())[0]?.data).toMatchObject({ outcome: 'ok', operations: ['artifact.put', 'sandbox.exec'] })
    await test.close()

    test = await openTestExecutors({ model: (_, nth) => (nth === 1 ? model() : says('Done.')) })
    await test.open.history.append([quarantined('sweep')])
    const results = await made(calls)
    expect(results[1]).toMatchObject({
      refused: 'forbidden',
      message: expect.stringMatching(/^the tool sweep is in quarantine \(it deletes too much\)/),
    })
    expect(results[2]).toMatchObject({ refused: 'forbidden' })
    expect(test.calls.map(({ body }) => body.tools)).toEqual([[tools[1]], [tools[1]]])
    expect(await test.events(['sandbox.executed', 'artifact.written'])).toEqual([])
    // Of a result that it made all by itself the model and history hear the kernel's words.
    const told = expect.stringMatching(/^error: forbidden: the tool sweep is in quarantine/)
    expect(test.calls[1]?.body.input).toEqual([{ ...result('c1', ''), output: told }])
    expect((await finished()).map(({ data }) => data)).toMatchObject([{ call: 'c1', outcome: 'error', output: told }])
  })

  it('leaves the other tools of the same answer their own operations, and what cannot be told apart is refused', async () => {
    test = await openTestExecutors({
      model: (_, nth) =>
        nth === 1 ? asks(['c1', 'sweep', { folder: 'a' }], ['c2', 'shell', { command: 'echo mine' }]) : says('Done.'),
    })
    await test.open.history.append([quarantined('sweep')])
    const results = await made([
      ask('go'),
      ['sandbox.exec', { command: 'echo mine' }],
      ['sandbox.exec', { command: 'echo mine; rm -r a' }],
      // A model call of its own would go on without the answer.
      ask('and now?'),
      ask([result('c1', 'swept'), result('c2', 'mine')]),
    ])
    expect(results.map(({ refused }) => refused)).toEqual([undefined, undefined, 'forbidden', 'forbidden', undefined])
    expect(test.calls).toHaveLength(2)
    expect((await finished()).map(({ data }) => [data.name, data.outcome])).toEqual([
      ['sweep', 'error'],
      ['shell', 'ok'],
    ])
  })

  it('may be referred to afterwards by the result that the executor made, as the model was told it', async () => {
    test = await openTestExecutors({
      model: (_, nth) => (nth === 1 ? asks(['c1', 'sweep', { folder: 'a' }]) : says('Done.')),
    })
    await test.open.history.append([quarantined('sweep')])
    const own = result('c1', 'swept')
    const { createHash } = await import('node:crypto')
    const ref = createHash('sha256').update(JSON.stringify(own)).digest('hex')
    await made([ask('go'), ask([own]), ask([{ ref }, { role: 'user', content: 'on' }])])
    expect(test.calls[2]?.body.input).toMatchObject([
      { output: expect.stringMatching(/^error: forbidden/) },
      { content: 'on' },
    ])
  })

  it('is one in the middle of its call too, and one again no more once it is released', async () => {
    let quarantine = (): Promise<unknown> => Promise.resolve()
    test = await openTestExecutors({
      model: async (_, nth) => {
        if (nth === 1) await quarantine()
        return nth === 1 || nth === 2 ? asks([`c${nth}`, 'sweep', { folder: 'a' }]) : says('Done.')
      },
    })
    quarantine = () => test.open.history.append([quarantined('sweep')])
    const first = await made([ask('go'), ['sandbox.exec', { command: 'echo one' }], ask([result('c1', 'swept')])])
    expect(first[1]).toMatchObject({ refused: 'forbidden' })
    await test.open.history.append([draft('tool.released', { tool: 'sweep', reason: '' }, operator)])
    const second = await made([ask([result('c2', 'closed')]), ['sandbox.exec', { command: 'echo two' }]])
    expect(second[1]).toMatchObject({ stdout: 'two\n' })
  })

  it('is off for its agent alone', async () => {
    test = await openTestExecutors()
    const rival = { actor: 'operator', agent: 'rival' } as const
    await test.open.history.append([draft('tool.quarantined', { tool: 'sweep', reason: 'x' }, rival)])
    await made([ask('go')])
    expect(test.calls[0]?.body.tools).toEqual(tools)
  })
})
