import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import { BootAnswers } from './boot-answers.ts'
import { Channel, type Methods } from './channel.ts'
import { channelLimits, wireLimits } from './timings.ts'

type Message = {
  id?: number | null
  method?: string
  params?: unknown
  result?: unknown
  error?: { code: number; message: string; data?: { code: string } }
}

/** A channel whose other end is in this test's hand: it listens from the start, or from `listen` on. */
function open(over: Partial<Methods> = {}, options = { listens: true }) {
  const input = new PassThrough()
  const output = new PassThrough({ highWaterMark: 64 * 1024 })
  const struck: string[] = []
  const methods = { ...new BootAnswers({ count: () => 1 }, systemClock, 'a'.repeat(64)).methods, ...over }
  const channel = new Channel({
    input,
    output,
    methods,
    clock: systemClock,
    limits: wireLimits,
    onStruck: (problem) => {
      struck.push(problem)
      channel.close(new KernelError('unavailable', 'struck'))
    },
  })
  const sent: Message[] = []
  const waiting: { isSo: () => boolean; resolve: () => void }[] = []
  const listen = (): void => {
    createInterface({ input: output }).on('line', (line) => {
      sent.push(JSON.parse(line))
      for (const { isSo, resolve } of waiting) if (isSo()) resolve()
    })
  }
  const until = (isSo: () => boolean): Promise<void> =>
    isSo() ? Promise.resolve() : new Promise((resolve) => waiting.push({ isSo, resolve }))
  if (options.listens) listen()
  return {
    channel,
    input,
    struck,
    sent,
    listen,
    until,
    say(line: string | object): void {
      input.write(`${typeof line === 'string' ? line : JSON.stringify({ jsonrpc: '2.0', ...line })}\n`)
    },
    async answerTo(id: number | null): Promise<Message> {
      await until(() => sent.some((message) => message.id === id))
      return sent.find((message) => message.id === id) as Message
    },
  }
}

const list = (id: number) => ({ id, method: 'artifact.list', params: {} })

describe('the channel', () => {
  it.each([
    ['a line that is not JSON', 'console.log was here', -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"policy.diff"}]', -32600],
    ['another protocol', '{"id":1,"method":"policy.diff"}', -32600],
    ['an id that is text', '{"jsonrpc":"2.0","id":"1","method":"policy.diff"}', -32600],
    ['a fraction as id', '{"jsonrpc":"2.0","id":1.5,"method":"policy.diff"}', -32600],
    ['neither method nor id', '{"jsonrpc":"2.0"}', -32600],
    ['a bare number', '5', -32600],
  ])('[R1] [R9] answers %s with an error, keeps its text, and goes on', async (_, line, code) => {
    const { channel, say, answerTo } = open()
    say(line)
    expect((await answerTo(null)).error).toMatchObject({ code, data: { code: 'invalid' } })
    expect(channel.noise.toString()).toContain('protocol error')
    say(list(7))
    expect((await answerTo(7)).result).toEqual({ artifacts: [] })
  })

  it.each([
    'history.delete',
    'history.update',
    'sql',
    'db.backup',
    'toString',
    '__proto__',
    'then',
    'constructor',
    'initialize',
  ])('[H1] [R6] knows no method %s', async (method) => {
    const { say, answerTo } = open()
    say({ id: 1, method, params: {} })
    expect((await answerTo(1)).error?.code).toBe(-32601)
  })

  it.each([
    ['a kind that only the kernel writes', 'history.append', { kind: 'revision.authorised', data: {} }],
    ['a forged actor', 'history.append', { kind: 'note.added', data: { text: 'x' }, actor: 'operator' }],
    ['a forged cost in the payload', 'history.append', { kind: 'note.added', data: { text: 'x', costNanoUsd: 1 } }],
    ['a role that is not its own', 'history.append', { kind: 'message.appended', data: { role: 'user', text: 'x' } }],
    ['another agent', 'history.read', { agent: 'other' }],
    ['a mount', 'sandbox.exec', { command: 'ls', mounts: { root: '/' } }],
    ['a name outside', 'artifact.put', { name: '../vault', text: '' }],
    ['an absolute name', 'artifact.get', { name: '/etc/passwd' }],
    ['too long a timeout', 'sandbox.exec', { command: 'ls', timeoutMs: 86_400_001 }],
  ])('[H3] [H4] refuses %s as invalid', async (_, method, params) => {
    const { say, answerTo } = open()
    say({ id: 1, method, params })
    expect((await answerTo(1)).error).toMatchObject({ code: -32602, data: { code: 'invalid' } })
  })

  it('keeps an internal error to itself', async () => {
    const { say, answerTo } = open({
      'policy.diff': () => Promise.reject(new Error('secret path')),
    })
    say({ id: 1, method: 'policy.diff' })
    expect((await answerTo(1)).error).toEqual({ code: -32000, message: 'internal error', data: { code: 'internal' } })
  })

  it('[R7] holds at most 64 requests open, whatever is sent', async () => {
    const { channel, say, sent, until } = open({ 'policy.diff': () => new Promise(() => undefined) })
    for (let id = 1; id <= 10_000; id += 1) say({ id, method: 'policy.diff' })
    await until(() => sent.length === 10_000 - wireLimits.inFlight)
    expect(channel.calls()).toHaveLength(wireLimits.inFlight)
    expect(sent[0]?.error).toMatchObject({ code: -32000, data: { code: 'unavailable' } })
  })

  it('[C19] reads no more from one that does not listen, and reads on once it does', async () => {
    const page = 'x'.repeat(100_000)
    const { input, say, sent, listen, until } = open(
      { 'policy.diff': async () => ({ diff: page }) },
      { listens: false },
    )
    for (let id = 1; id <= 50; id += 1) say({ id, method: 'policy.diff' })
    await expect.poll(() => input.isPaused(), { interval: 1 }).toBe(true)
    listen()
    await until(() => sent.length === 50)
    expect(input.isPaused()).toBe(false)
  })

  it('says so where an answer does not fit into a frame', async () => {
    const { say, answerTo } = open({ 'policy.diff': async () => ({ diff: 'x'.repeat(1024 * 1024) }) })
    say({ id: 1, method: 'policy.diff' })
    expect((await answerTo(1)).error).toMatchObject({ data: { code: 'unavailable' } })
  })

  it('refuses an id that is in flight already', async () => {
    const { say, answerTo, channel } = open({ 'policy.diff': () => new Promise(() => undefined) })
    say({ id: 1, method: 'policy.diff' })
    say({ id: 1, method: 'policy.diff' })
    expect((await answerTo(null)).error?.code).toBe(-32600)
    expect(channel.calls()).toHaveLength(1)
  })

  it('[R1] gives up on a peer that breaks the protocol again and again', async () => {
    const { say, struck } = open()
    for (let line = 0; line < channelLimits.strikes + 20; line += 1) say('noise')
    await expect.poll(() => struck.length, { interval: 1 }).toBe(1)
    expect(struck[0]).toContain(`${channelLimits.strikes} protocol errors`)
  })

  it('ends calls in flight with the reason that it is given', async () => {
    const { say, answerTo, channel } = open({
      'policy.diff': (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    say({ id: 1, method: 'policy.diff' })
    await expect.poll(() => channel.calls().length, { interval: 1 }).toBe(1)
    expect(await channel.abortCalls(new KernelError('cancelled', 'enough'), 1000)).toBe(1)
    expect((await answerTo(1)).error).toMatchObject({ message: 'enough', data: { code: 'cancelled' } })
  })

  it('asks the other way too: answers, errors, misfits and silence', async () => {
    const { channel, say, sent, until } = open()
    const ping = channel.request('ping', { nonce: 5 })
    const failing = channel.request('drain', { reason: 'pause' })
    const misfit = channel.request('ping', { nonce: 6 })
    const silent = channel.request('ping', { nonce: 7 }, { deadlineMs: 1 })
    await expect(silent).rejects.toMatchObject({ code: 'unavailable', details: { timedOut: true } })
    await until(() => sent.length === 4)
    const [first, second, third, fourth] = sent.map(({ id }) => id)
    say({ id: first, result: { nonce: 5 } })
    say({ id: second, error: { code: 1, message: 'no' } })
    say({ id: third, result: { nonce: 6, extra: true } })
    say({ id: fourth, result: { nonce: 7 } })
    const misfits = expect(misfit).rejects.toMatchObject({ code: 'invalid' })
    await expect(failing).rejects.toMatchObject({ code: 'unavailable', message: 'no' })
    await misfits
    expect(await ping).toEqual({ nonce: 5 })
    expect(channel.noise.toString()).toBe('')
  })

  it('lets a control line overtake', async () => {
    const { channel, sent, listen, until } = open({}, { listens: false })
    void channel.notify('stream.chunk', { text: 'x'.repeat(100_000) })
    void channel.notify('stream.chunk', { text: 'x'.repeat(100_000) })
    void channel.request('ping', { nonce: 1 }, { isControl: true })
    listen()
    await until(() => sent.length === 3)
    expect(sent.map(({ method }) => method)).toEqual(['stream.chunk', 'ping', 'stream.chunk'])
  })

  it('[C19] survives any bytes: no throw, and an honest request after them is still answered', async () => {
    const message = fc.record(
      {
        jsonrpc: fc.oneof(fc.constant('2.0'), fc.jsonValue()),
        id: fc.oneof(fc.nat(100), fc.jsonValue()),
        method: fc.oneof(fc.constantFrom('history.append', 'sandbox.exec', 'model.call', 'stream.credit'), fc.string()),
        params: fc.jsonValue(),
        result: fc.jsonValue(),
        error: fc.jsonValue(),
      },
      { requiredKeys: [] },
    )
    const line = fc.oneof(
      message.map((value) => JSON.stringify(value)),
      fc.string({ unit: 'binary' }),
      fc.json(),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 20 }), async (lines) => {
        const { say, answerTo, struck } = open()
        for (const text of lines) say(text)
        say(list(1_000_001))
        if (struck.length === 0) expect((await answerTo(1_000_001)).result).toEqual({ artifacts: [] })
      }),
      { numRuns: 500 },
    )
  })
})
