import { describe, expect, it } from 'vitest'
import { CUT_OFF, NUDGE } from '../instructions.ts'
import { type Api, Cut, calls, callsIn, refuses, resultsIn, says } from './answers.fixture.ts'
import { Failure, FakeKernel, type Player, script, sim } from './kernel.fixture.ts'

/** What a model does that it should not, as the policy sees it. */
describe.each<Api>(['responses', 'chat'])('a model over %s', (api) => {
  const open = async (player: Player, window?: number): Promise<FakeKernel> => {
    const kernel = new FakeKernel(player, { model: sim(api, window) })
    kernel.exec = (command) => ({ stdout: `ran ${command}` })
    await kernel.connect()
    return kernel
  }
  const results = (kernel: FakeKernel, request: number) =>
    resultsIn(kernel.sent[request]?.input ?? []).map(({ output }) => output)
  const lastWords = (kernel: FakeKernel, request: number) => kernel.sent[request]?.input.at(-1)?.content
  const run = (command: string) => calls('shell', { command })

  it('that refuses is asked to go on, and one that keeps refusing fails the turn with its words', async () => {
    const once = await open(script([refuses('I would rather not.')]))
    expect(await once.turn()).toMatchObject({ outcome: 'completed', steps: 2 })
    expect(lastWords(once, 1)).toBe(NUDGE)
    const always = await open(() => [refuses('I would rather not.')])
    expect(await always.turn()).toMatchObject({
      outcome: 'failed',
      steps: 5,
      reason: '5 answers in a row called no tool; the last said: I would rather not.',
    })
  })

  it('that answers nothing is asked to go on, and nothing empty is sent back', async () => {
    const once = await open(script([]))
    expect(await once.turn()).toMatchObject({ outcome: 'completed', steps: 2 })
    expect(once.sent[1]?.input).toEqual([expect.objectContaining({ role: 'user' }), { role: 'user', content: NUDGE }])
    const always = await open(() => [])
    expect(await always.turn()).toMatchObject({
      outcome: 'failed',
      reason: '5 answers in a row called no tool; the last said: nothing',
    })
  })

  it('that calls with broken JSON, or a tool that is not there, is told so beside what was right', async () => {
    const kernel = await open(script([{ ...run('a'), arguments: '{"command":' }, calls('shel', {}), run('b')]))
    expect(await kernel.turn()).toMatchObject({ outcome: 'completed', steps: 2 })
    expect(results(kernel, 1)).toEqual([
      'error: the arguments of shell are not JSON: {"command":',
      expect.stringMatching(/^error: there is no tool shel; there are /),
      'ran b',
    ])
    const outcomes = kernel.events.filter(({ kind }) => kind === 'tool.finished').map(({ data }) => data.outcome)
    expect(outcomes.slice(0, 3)).toEqual(['error', 'error', 'ok'])
  })

  it('that is cut off within a call has that call not run, and is told; what was whole before it runs', async () => {
    const half = { ...run('rm -r /task/old-and-new'), arguments: '{"command":"rm -r /ta', status: 'incomplete' }
    const ran: string[] = []
    const kernel = await open(script(new Cut(run('a'), half), new Cut(half), new Cut(says('And then I'))))
    kernel.exec = (command) => {
      ran.push(command)
      return { stdout: 'ok' }
    }
    // Each turn has one step: a context rebuilt from history has to say the same.
    for (let turn = 0; turn < 3; turn += 1) expect(await kernel.turn(1)).toMatchObject({ outcome: 'yielded', steps: 1 })
    expect(await kernel.turn()).toMatchObject({ outcome: 'completed' })
    expect(ran).toEqual(['a'])
    for (const request of [1, 2, 3]) expect(lastWords(kernel, request)).toBe(CUT_OFF)
    expect(results(kernel, 3)).toEqual(['ok'])
    expect(callsIn(kernel.sent[3]?.input ?? []).map(({ given }) => given)).toEqual(['{"command":"a"}'])
  })

  it.each([
    ['that is known', 10_000],
    ['that nobody told of', 1_000_000],
  ])('whose window %s is full has the older half summarised, and goes on', async (_, window) => {
    let step = 0
    const kernel = await open((sent) => {
      if (sent.input.length > 24) return new Failure('invalid', 'context_length_exceeded')
      if (sent.toolChoice === 'none') return [says('half is done')]
      step += 1
      return [step > 14 ? calls('complete', { summary: '' }) : run(`c${step}`)]
    }, window)
    kernel.usageTokens = () => 6_000
    expect(await kernel.turn()).toMatchObject({ outcome: 'completed' })
    expect(kernel.sent.at(-1)?.input[1]?.content).toBe('Summary of the work so far:\nhalf is done')
  })

  it('whose window is full at once ends the turn with the reason', async () => {
    const kernel = await open(() => new Failure('invalid', 'This model’s context window is 100 tokens.'))
    expect(await kernel.turn()).toMatchObject({
      outcome: 'failed',
      steps: 0,
      reason: 'invalid: This model’s context window is 100 tokens.',
    })
    expect(kernel.sent).toHaveLength(1)
  })

  it('is asked for at most what it can give, in the words of its API', async () => {
    const kernel = await open(script())
    const bodies: object[] = []
    kernel.onRequest = (body) => bodies.push(body)
    kernel.task = { ...kernel.task, model: { ...sim(api), maxOutputTokens: 500 } }
    await kernel.connect()
    await kernel.turn()
    kernel.task = { ...kernel.task, model: { ...sim(api), name: 'gpt-5.1' } }
    await kernel.connect()
    await kernel.turn()
    const [small, reasoner] = bodies
    const wanted =
      api === 'chat'
        ? [{ max_tokens: 500 }, { max_completion_tokens: 8_000, prompt_cache_key: 'T-1' }]
        : [{ max_output_tokens: 500 }, { max_output_tokens: 8_000, include: ['reasoning.encrypted_content'] }]
    expect(small).toMatchObject(wanted[0] ?? {})
    expect(reasoner).toMatchObject(wanted[1] ?? {})
  })
})
