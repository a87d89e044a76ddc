import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Api, Cut, calls, callsIn, type Output, resultsIn, says } from './answers.fixture.ts'
import { Failure, FakeKernel, sim } from './kernel.fixture.ts'

const act = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      answer: fc.constant('calls' as const),
      count: fc.integer({ min: 1, max: 3 }),
      long: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ answer: 'text' as const }) },
  { weight: 1, arbitrary: fc.constant({ answer: 'nothing' as const }) },
  { weight: 1, arbitrary: fc.record({ answer: fc.constant('cut' as const), count: fc.integer({ min: 0, max: 2 }) }) },
)
const step = fc.record({
  act,
  /** What happens while the model thinks, and while the tools run. */
  duringModel: fc.constantFrom('none', 'none', 'none', 'steer', 'reject'),
  duringTool: fc.constantFrom('none', 'none', 'none', 'steer', 'reject'),
})
const run = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }),
  turnSteps: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 6 }),
  /** After a turn: the same process goes on, another takes over, or it dies. */
  between: fc.array(fc.constantFrom('same', 'replaced'), { minLength: 1, maxLength: 6 }),
  /** Model calls, by number, at which the process dies while the model or a tool is at work. */
  crashAt: fc.array(fc.record({ step: fc.integer({ min: 1, max: 40 }), at: fc.constantFrom('model', 'tool') }), {
    maxLength: 2,
  }),
  window: fc.constantFrom(200_000, 6_000),
  /** Summaries that the model fails to write: it calls a tool instead. */
  unwritten: fc.integer({ min: 0, max: 2 }),
})
type Run = typeof run extends fc.Arbitrary<infer R> ? R : never

const isSummaryRequest = (input: Output[]) =>
  String(input.at(-1)?.content).startsWith('Your context is about to be shortened')

const isSummary = (item: Output) => String(item.content).startsWith('Summary of the work so far')

async function play(given: Run, api: Api): Promise<FakeKernel> {
  let next = 0
  let unwritten = 0
  let crash: (() => void) | null = null
  const happen = (what: string) => {
    if (what === 'steer') kernel.append('task.steered', { text: `word ${kernel.events.length}` })
    if (what === 'reject')
      kernel.append(
        'proposal.reviewed',
        { proposal: 'P-1', verdict: 'rejected', reason: `no ${kernel.events.length}`, by: 'operator' },
        null,
      )
  }
  const dies = (at: string): boolean => {
    if (crash === null || !given.crashAt.some((planned) => planned.step === next && planned.at === at)) return false
    crash()
    return true
  }
  const kernel: FakeKernel = new FakeKernel(
    async (sent) => {
      if (isSummaryRequest(sent.input) && unwritten++ < given.unwritten) return [calls('shell', { command: 'not now' })]
      if (isSummaryRequest(sent.input)) return [says(`so far ${sent.input.length} items`)]
      const planned = given.steps[next++]
      if (planned === undefined) return [calls('complete', { summary: 'done' })]
      happen(planned.duringModel)
      if (dies('model')) return new Promise<never>(() => {})
      const { act } = planned
      if (act.answer === 'text') return [{ type: 'reasoning', id: `rs_${next}`, summary: [] }, says('thinking aloud')]
      if (act.answer === 'nothing') return []
      if (act.answer === 'cut') {
        const half = { ...calls('shell', {}), arguments: '{"comm', status: 'incomplete' }
        return new Cut(...Array.from({ length: act.count }, () => calls('shell', { command: 'short' })), half)
      }
      return Array.from({ length: act.count }, () => calls('shell', { command: act.long ? 'long' : 'short' }))
    },
    { model: sim(api, given.window, 1_000) },
  )
  kernel.exec = (command) => {
    happen(given.steps[next - 1]?.duringTool ?? 'none')
    if (dies('tool')) return new Promise<never>(() => {})
    return { stdout: command === 'long' ? 'äbc\n'.repeat(2_000) : `seen ${next}` }
  }
  kernel.append('task.created', {})
  await kernel.connect()
  for (let turn = 0; turn < 200; turn += 1) {
    const crashed = new Promise<'crashed'>((resolve) => {
      crash = () => {
        crash = null
        kernel.crash()
        resolve('crashed')
      }
    })
    const ended = await Promise.race([kernel.turn(given.turnSteps[turn % given.turnSteps.length]), crashed])
    if (ended === 'crashed') await kernel.connect()
    else if (ended.outcome === 'completed') return kernel
    else if (ended.outcome === 'failed') kernel.append('task.steered', { text: 'go on with tools' })
    else if (given.between[turn % given.between.length] === 'replaced') {
      kernel.crash()
      await kernel.connect()
    }
  }
  throw new Error('the run did not end')
}

describe.each<Api>(['responses', 'chat'])('a context, over %s,', (api) => {
  it('is append-only: each request continues the one before it, whatever process made it, but at a summary', async () => {
    let requests = 0
    let summaries = 0
    await fc.assert(
      fc.asyncProperty(run, async (given) => {
        const kernel = await play(given, api)
        let before: string[] = []
        for (const [index, { input }] of kernel.sent.entries()) {
          requests += 1
          const items = input.map((item) => JSON.stringify(item))
          if (isSummaryRequest(input)) {
            expect(items.slice(0, before.length)).toEqual(before)
            // Only a summary that was written changes what comes next.
            if (kernel.sent[index + 1]?.input.some(isSummary)) before = []
            summaries += 1
            continue
          }
          expect(items.slice(0, before.length)).toEqual(before)
          before = items
          expectWellFormed(input)
        }
      }),
      { numRuns: 60 },
    )
    expect(requests).toBeGreaterThan(500)
    expect(summaries).toBeGreaterThan(10)
  })

  it('tells every message once, however processes come and go', async () => {
    await fc.assert(
      fc.asyncProperty(run, async (given) => {
        const kernel = await play({ ...given, window: 200_000 }, api)
        const texts = (kernel.sent.at(-1)?.input ?? []).map((item) => String(item.content))
        for (const event of kernel.events.filter(({ kind }) => kind === 'task.steered')) {
          const told = texts.filter((text) => text === `The operator says: ${event.data.text}`)
          // One that came during the very last request has nobody left to hear it.
          if (event.seq < lastJoin(kernel)) expect(told).toHaveLength(1)
        }
      }),
      { numRuns: 30 },
    )
  })

  it('sends by reference what the kernel has, so a step costs the wire little however long the task', async () => {
    let step = 0
    const kernel = new FakeKernel(
      () => (step++ < 300 ? [calls('shell', { command: 'a' })] : [calls('complete', { summary: '' })]),
      { model: sim(api) },
    )
    kernel.exec = () => ({ stdout: 'x'.repeat(4_000) })
    kernel.usageTokens = () => 100
    await kernel.connect()
    await kernel.turn(400)
    const last = kernel.sent.at(-1)
    expect(last?.input).toHaveLength(601)
    expect(last?.refs).toBe(599)
    expect(kernel.longestLine).toBeLessThan(100_000)
  })

  it('is summarised near the window: the last steps stay word for word, and a successor has the same', async () => {
    let step = 0
    const kernel = new FakeKernel(
      (sent) => {
        if (isSummaryRequest(sent.input)) return [says('did much')]
        step += 1
        return [step > 14 ? calls('complete', { summary: '' }) : calls('shell', { command: `c${step}` })]
      },
      { model: sim(api, 10_000, 1_000) },
    )
    kernel.exec = (command) => ({ stdout: command })
    kernel.usageTokens = (sent) => sent.input.length * 400
    await kernel.connect()
    while ((await kernel.turn(3)).outcome !== 'completed') {
      kernel.crash()
      await kernel.connect()
    }
    const asked = kernel.sent.findIndex((sent) => isSummaryRequest(sent.input))
    expect(kernel.sent[asked]).toMatchObject({ toolChoice: 'none', instructions: kernel.sent[0]?.instructions })
    const after = kernel.sent[asked + 1]?.input ?? []
    expect(after[0]).toEqual(kernel.sent[0]?.input[0])
    expect(after[1]?.content).toBe('Summary of the work so far:\ndid much')
    expect(resultsIn(after).map(({ output }) => output)).toEqual(['c7', 'c8', 'c9', 'c10'])
  })

  it('is not asked for again at every step when the model writes no summary', async () => {
    let step = 0
    const kernel = new FakeKernel(
      (sent) => {
        if (isSummaryRequest(sent.input)) return []
        step += 1
        return [step > 20 ? calls('complete', { summary: '' }) : calls('shell', { command: `c${step}` })]
      },
      { model: sim(api, 10_000, 1_000) },
    )
    kernel.usageTokens = () => 8_000
    await kernel.connect()
    expect(await kernel.turn()).toMatchObject({ outcome: 'completed' })
    expect(kernel.sent.filter((sent) => isSummaryRequest(sent.input))).toHaveLength(1)
  })

  it('is summarised in part when the provider finds it too long', async () => {
    let step = 0
    const kernel = new FakeKernel(
      (sent) => {
        if (sent.input.length > 24) return new Failure('invalid', 'the prompt is too long')
        if (isSummaryRequest(sent.input)) return [says('half')]
        step += 1
        return [step > 14 ? calls('complete', { summary: '' }) : calls('shell', { command: `c${step}` })]
      },
      { model: sim(api, 10_000, 1_000) },
    )
    kernel.usageTokens = () => 6_000
    await kernel.connect()
    expect(await kernel.turn()).toMatchObject({ outcome: 'completed' })
  })
})

/** Every call is followed by exactly one result, as providers demand. */
function expectWellFormed(input: Output[]): void {
  expect(resultsIn(input).map(({ id }) => id)).toEqual(callsIn(input).map(({ id }) => id))
}

function lastJoin(kernel: FakeKernel): number {
  return kernel.events.findLast(({ kind, data }) => kind === 'note.added' && data.topic === 'context.joined')?.seq ?? 0
}
