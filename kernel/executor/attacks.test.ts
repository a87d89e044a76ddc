// Policies and providers that would have the kernel lose, leak or hoard something. Each once went through.
import { afterEach, describe, expect, it } from 'vitest'
import type { TreeFile } from '../sandbox/sandbox.ts'
import { answer, asks, openTestExecutors, type TestExecutors } from '../testing/executors.ts'
import type { Event } from '../wire/events.ts'
import type { Running } from './running.ts'

let test: TestExecutors
afterEach(() => test.close())

/** What one task may have stored. */
const share = 512 * 1024 * 1024
const turn = { turn: 1, maxSteps: 5, maxMs: 60_000 }
const modelCall = ['model.call', { api: 'responses', body: { model: 'test-model', input: 'Go on.' } }]

/** A policy that answers `initialize` with this expression, and pings. */
function answering(hello: string): TreeFile[] {
  const text = `import { createInterface } from 'node:readline'
const tools = (count: number, description: string) => Array.from({ length: count }, (_, n) => ({ name: 't' + n, description }))
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  const result = method === 'initialize' ? ${hello} : { nonce: params.nonce }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
})
`
  return [{ path: 'main.ts', text }]
}

describe('a policy whose hello is larger than an event', () => {
  it('fails its handshake, and leaves no process behind', async () => {
    test = await openTestExecutors()
    const policy = answering(`{ wire: 1, name: 'x', tools: tools(200, 'd'.repeat(4000)) }`)
    await expect(test.start(policy)).rejects.toThrow(/tools: must take at most/)
    expect(await test.kinds()).toEqual(['executor.crashed'])
    expect(await test.provider.killAll('executor-apprentice-g1')).toBe(0)
  })
})

describe('an executor that history does not take', () => {
  it('is not left running', async () => {
    test = await openTestExecutors()
    const { history } = test.open
    const append = history.append
    history.append = async (drafts) => {
      if (drafts[0]?.kind === 'executor.started') throw new Error('disk full')
      return append(drafts)
    }
    await expect(test.start('idle')).rejects.toThrow('disk full')
    expect(await test.provider.killAll('executor-apprentice-g1')).toBe(0)
  })
})

describe('an answer of a provider', () => {
  it('is metered whatever names and ids it makes up, and its calls are closed', async () => {
    test = await openTestExecutors({ model: () => asks(['c'.repeat(300_000), 'n'.repeat(300_000), {}]) })
    const generation = await test.start('script', { instruction: [modelCall] })
    await generation.runTurn(turn)
    await generation.stop('enough')
    const [called, finished] = await test.events(['tool.called', 'tool.finished'])
    expect(called?.data).toMatchObject({ name: 'n'.repeat(200), call: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) })
    expect(finished?.data).toMatchObject({ outcome: 'interrupted' })
    expect((finished as Event<'tool.finished'>).data.call).toBe((called as Event<'tool.called'>).data.call)
    expect(await test.events(['model.called', 'executor.stopped'])).toHaveLength(2)
  })

  it('of thousands of items fails, and what it cost is kept', async () => {
    const item = { type: 'message', role: 'assistant', content: [] }
    test = await openTestExecutors({ model: () => answer(Array.from({ length: 5000 }, () => item)) })
    const generation = await test.start('script', { instruction: [modelCall] })
    const { reason } = await generation.runTurn(turn)
    expect(JSON.parse(reason ?? '')).toEqual([
      { refused: 'unavailable', message: 'the model answered with 5000 items; at most 500 are taken' },
    ])
    const [called] = await test.events(['model.called'])
    expect(called?.data).toMatchObject({ status: 'failed', costNanoUsd: 7, output: [] })
  })
})

describe('a policy that would fill the disk', () => {
  it('is refused whatever way it takes, once its task has stored its share', async () => {
    test = await openTestExecutors()
    const text = 'x'.repeat(100_000)
    const instruction = [
      ['history.append', { kind: 'note.added', data: { text } }],
      ['artifact.put', { name: 'big', text }],
      ['blob.put', { base64: text }],
      ['sandbox.exec', { command: 'head -c 100000 /dev/zero | tr "\\0" x', outputBytes: 100 }],
    ]
    const generation = await test.start('script', { instruction })
    const { memory } = generation as unknown as Running
    memory.storedBytes = share - 50_000
    const { reason } = await generation.runTurn(turn)
    const [append, put, blob, executed] = JSON.parse(reason ?? '')
    const refused = expect.objectContaining({ refused: 'over-budget' })
    expect([append, put, blob]).toEqual([refused, refused, refused])
    // What has run is shown in part, without a copy of the whole.
    expect(executed).toMatchObject({ exitCode: 0, stdoutBytes: 100_000 })
    expect(executed).not.toHaveProperty('stdoutBlob')
    expect(memory.storedBytes).toBeLessThan(share)
  })

  it('has its turn ended where it would do it with requests to the model', async () => {
    test = await openTestExecutors()
    const body = { model: 'test-model', input: 'x'.repeat(100_000) }
    const generation = await test.start('script', { instruction: [['model.call', { api: 'responses', body }]] })
    ;(generation as unknown as Running).memory.storedBytes = share - 50_000
    const end = await generation.runTurn(turn)
    expect(end).toMatchObject({ outcome: 'budget', reason: expect.stringContaining('this task has stored') })
    expect(test.calls).toEqual([])
  })

  it('cannot do it by small requests either', async () => {
    test = await openTestExecutors()
    const generation = await test.start('script', { instruction: [['task.ask', { question: 'Well?' }]] })
    const { memory } = generation as unknown as Running
    memory.storedBytes = share
    expect((await generation.runTurn(turn)).reason).toContain('over-budget')
  })
})

describe('a command that writes without end', () => {
  it('is killed, and the executor is told why', async () => {
    test = await openTestExecutors()
    const generation = await test.start('script', {
      instruction: [['sandbox.exec', { command: 'yes', outputBytes: 10 }]],
    })
    const [result] = JSON.parse((await generation.runTurn(turn)).reason ?? '')
    expect(result).toMatchObject({ signal: 'SIGKILL', stderr: expect.stringContaining('wrote more than 64 MiB') })
  })
})
