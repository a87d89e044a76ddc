import { describe, expect, it } from 'vitest'
import { calls, says } from './answers.fixture.ts'
import { Failure, FakeKernel, script } from './kernel.fixture.ts'

/** The text of the last item of a kind in the nth request. */
function outputs(kernel: FakeKernel, request: number): string[] {
  return (kernel.sent[request]?.input ?? [])
    .filter((i) => i.type === 'function_call_output')
    .map((i) => String(i.output))
}
function messages(kernel: FakeKernel, request: number): string[] {
  return (kernel.sent[request]?.input ?? []).filter((i) => i.role === 'user').map((i) => String(i.content))
}

describe('a turn', () => {
  it('runs the calls of an answer in order, sends their results, and completes when the kernel accepts', async () => {
    const ran: string[] = []
    const kernel = new FakeKernel(script([calls('shell', { command: 'a' }), calls('shell', { command: 'b' })]))
    kernel.exec = (command) => {
      ran.push(command)
      return { stdout: `out ${command}\n` }
    }
    await kernel.connect()
    expect(await kernel.turn()).toMatchObject({ outcome: 'completed', steps: 2 })
    expect(ran).toEqual(['a', 'b'])
    expect(outputs(kernel, 1)).toEqual(['out a', 'out b'])
  })

  it('needs no event of the task, only its brief', async () => {
    const kernel = new FakeKernel(script())
    const init = await kernel.connect()
    expect(init.tools.map((tool) => tool.file)).toContain('tools/shell.ts')
    expect(await kernel.turn()).toMatchObject({ outcome: 'completed', steps: 1 })
  })

  it('goes on when completion is refused', async () => {
    const kernel = new FakeKernel(script([calls('complete', { summary: 'done' })]))
    kernel.complete = (summary) => ({ accepted: kernel.sent.length > 1, message: summary === '' ? '' : '3 of 7 files' })
    await kernel.connect()
    expect(await kernel.turn()).toMatchObject({ outcome: 'completed', steps: 2 })
    expect(outputs(kernel, 1)).toEqual(['error: not accepted: 3 of 7 files'])
  })

  it('yields at its cap and hands over the results that no request has carried', async () => {
    const kernel = new FakeKernel(script([calls('shell', { command: 'a' })]))
    kernel.exec = () => ({ stdout: 'seen' })
    await kernel.connect()
    const result = await kernel.turn(1)
    expect(result).toMatchObject({
      outcome: 'yielded',
      steps: 1,
      toolOutputs: [{ type: 'function_call_output', output: 'seen' }],
    })
    kernel.crash()
    await kernel.connect()
    expect(await kernel.turn()).toMatchObject({ outcome: 'completed', toolOutputs: [{ output: 'accepted: done' }] })
    expect(outputs(kernel, 1)).toEqual(['seen'])
  })

  it('finishes the step in hand when drained, and runs again when asked to', async () => {
    const kernel = new FakeKernel(script([calls('shell', { command: 'a' }), calls('shell', { command: 'b' })]))
    const ran: string[] = []
    kernel.exec = (command) => {
      ran.push(command)
      if (command === 'a') void kernel.request('drain', { reason: 'pause' })
      return {}
    }
    await kernel.connect()
    expect(await kernel.turn()).toMatchObject({ outcome: 'yielded', steps: 1 })
    expect(ran).toEqual(['a', 'b'])
    expect(await kernel.turn()).toMatchObject({ outcome: 'completed' })
  })

  it('ends at once when cancelled, and tells the model later that the effect is unknown', async () => {
    const kernel = new FakeKernel(script([calls('shell', { command: 'hangs' })]))
    kernel.exec = () => {
      void kernel.request('turn.cancel', { turn: 1, reason: 'stop it' })
      return new Promise<never>(() => {})
    }
    await kernel.connect()
    expect(await kernel.turn()).toEqual({ outcome: 'yielded', reason: 'stop it', steps: 0, toolOutputs: [] })
    await kernel.turn()
    expect(outputs(kernel, 1)).toEqual(['interrupted: effect unknown'])
  })

  it('answers a text without a call with the same nudge, and gives up when the model is stuck', async () => {
    const kernel = new FakeKernel(() => [says('All done!')])
    await kernel.connect()
    expect(await kernel.turn()).toMatchObject({
      outcome: 'failed',
      steps: 5,
      reason: expect.stringContaining('called no tool'),
    })
    expect(messages(kernel, 4).filter((text) => text.startsWith('Go on with a tool call'))).toHaveLength(4)
    kernel.append('task.steered', { text: 'use the tools' })
    expect(await kernel.turn(1)).toMatchObject({ outcome: 'yielded', steps: 1 })
  })

  it('tries again when the model is unavailable, and fails with the reason when the budget is spent', async () => {
    const kernel = new FakeKernel(
      script(new Failure('unavailable', 'overloaded'), new Failure('over-budget', 'limit reached')),
    )
    await kernel.connect()
    expect(await kernel.turn()).toEqual({
      outcome: 'failed',
      reason: 'over-budget: limit reached',
      steps: 0,
      toolOutputs: [],
    })
    expect(kernel.sent).toHaveLength(2)
  })

  it('tells a low budget once for each share of it', async () => {
    const limits = { budgetNanoUsd: null, budgetTokens: null, maxSteps: 20, maxMs: null }
    const kernel = new FakeKernel(
      (sent) => (sent.input.length > 20 ? [calls('complete', { summary: '' })] : [calls('shell', { command: 'a' })]),
      { limits },
    )
    kernel.budgetLeft = { nanoUsd: null, tokens: null, steps: 6 }
    await kernel.connect()
    await kernel.turn()
    const last = messages(kernel, kernel.sent.length - 1).filter((text) => text.startsWith('Budget left'))
    expect(last).toEqual([
      'Budget left: 3 steps. Finish what matters most.',
      'Budget left: 0 steps. Finish what matters most.',
    ])
  })
})

describe('what the model is told', () => {
  it('hears the operator at the next step', async () => {
    const kernel = new FakeKernel(script([calls('shell', { command: 'a' })]))
    kernel.exec = () => {
      kernel.append('task.steered', { text: 'count only .txt files' })
      return { stdout: 'ok' }
    }
    await kernel.connect()
    await kernel.turn()
    expect(messages(kernel, 1).at(-1)).toBe('The operator says: count only .txt files')
  })

  it('learns what became of its proposal, from events of the agent', async () => {
    const kernel = new FakeKernel(
      script([calls('propose', { claim: 'fewer calls', why: 'they repeat', evidence: [1, 2] })]),
    )
    kernel.append('task.started', {})
    await kernel.connect()
    await kernel.turn(1)
    expect(kernel.proposed).toEqual([{ claim: 'fewer calls', why: 'they repeat', evidence: [1, 2] }])
    kernel.append(
      'proposal.checked',
      { proposal: 'P-1', check: 'scope', verdict: 'pass', summary: 'fine', details: {} },
      null,
    )
    kernel.append(
      'proposal.checked',
      {
        proposal: 'P-1',
        check: 'types',
        verdict: 'fail',
        summary: '1 error',
        details: 'tools/x.ts(3,1): no such name',
      },
      null,
    )
    kernel.append(
      'proposal.reviewed',
      { proposal: 'P-2', verdict: 'rejected', reason: 'too broad', by: 'operator' },
      null,
    )
    kernel.append('revision.activated', { activation: 3, cause: 'proposal', proposal: 'P-3', probationSteps: 10 }, null)
    kernel.append('task.steered', { text: 'not for this task' }, 'T-9')
    await kernel.turn()
    expect(messages(kernel, 1).slice(1)).toEqual([
      'P-1 stops: check types failed: 1 error\ntools/x.ts(3,1): no such name\nWhat runs is unchanged. Your edit is still in /policy: correct it and propose again, or leave it.',
      'The operator rejected P-2: too broad\nWhat runs is unchanged. Your edit is still in /policy.',
      'P-3 is active: you now run r3, on probation for 10 steps.',
    ])
  })

  it('lists notes of earlier tasks by name, and keeps the list while the task writes more', async () => {
    const kernel = new FakeKernel(
      script([
        calls('remember', { topic: 'New Thing', text: 'x' }),
        calls('remember', { topic: 'layout', text: 'y' }),
        calls('read', { path: 'memory:layout' }),
      ]),
    )
    kernel.putArtifact('memory/layout', 'old', 10)
    kernel.append('task.started', {})
    await kernel.connect()
    await kernel.turn(1)
    await kernel.turn()
    const [first, second] = [messages(kernel, 0)[0], messages(kernel, 1)[0]]
    expect(first).toContain('Notes from earlier tasks, as memory:TOPIC: layout')
    expect(second).toBe(first)
    expect(outputs(kernel, 1)).toEqual(['kept as memory:new-thing, version 1', 'kept as memory:layout, version 2', 'y'])
  })
})
