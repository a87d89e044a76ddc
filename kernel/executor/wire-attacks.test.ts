// A hostile policy in its box against the real kernel: what it sends, withholds and leaves unread. Each case ends with something
// honest that works, so that a refusal is not mistaken for a fault.
import { afterEach, describe, expect, it } from 'vitest'
import type { TreeFile } from '../sandbox/sandbox.ts'
import { openTestExecutors, says, type TestExecutors } from '../testing/executors.ts'
import { draft, type Event } from '../wire/events.ts'

let test: TestExecutors
afterEach(() => test.close())

const turn = { turn: 1, maxSteps: 5, maxMs: 60_000 }
const note = ['history.append', { kind: 'note.added', data: { text: 'honest' } }] as const

/** What came of these calls, made by a policy within one turn; the last one is honest, and must have worked. */
async function made(calls: readonly (readonly [string, object])[]): Promise<Record<string, unknown>[]> {
  const generation = await test.start('script', { instruction: [...calls, note] })
  const { reason } = await generation.runTurn(turn)
  await generation.stop('enough')
  const results = JSON.parse(reason ?? '') as Record<string, unknown>[]
  expect(results.pop()).toEqual({ seq: expect.any(Number) })
  return results
}

async function bytesOf(upTo: number): Promise<string[]> {
  return (await test.events()).filter(({ seq }) => seq <= upTo).map((event) => JSON.stringify(event))
}

/** A policy that speaks the wire by hand. `turn` is the body of its turn.run; `say` and `call` write frames. */
function byHand(turn: string): TreeFile[] {
  const text = `import { createInterface } from 'node:readline'
const say = (message: object) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const answers = new Map<number, (message: any) => void>()
let last = 0
const call = (method: string, params: object = {}) => new Promise<any>((resolve) => {
  last += 1
  answers.set(last, resolve)
  say({ id: last, method, params })
})
const lines = createInterface({ input: process.stdin })
lines.on('line', async (line) => {
  const { id, method, params, result, error } = JSON.parse(line)
  if (method === undefined) return answers.get(id)?.({ result, error })
  if (method === 'initialize') return say({ id, result: { wire: 1, name: 'by hand', tools: [] } })
  if (method === 'ping') return say({ id, result: { nonce: params.nonce } })
  if (method !== 'turn.run') return say({ id, result: {} })
  const reason = await (async () => { ${turn} })()
  say({ id, result: { outcome: 'yielded', steps: 0, reason: JSON.stringify(reason) } })
})
`
  return [{ path: 'main.ts', text }]
}

describe('a policy that would change history', () => {
  it('[H1] finds no method for it, whatever it guesses; what was there stays byte for byte', async () => {
    test = await openTestExecutors()
    const place = { actor: 'kernel', agent: 'apprentice', task: 'T-1' } as const
    const [kept] = await test.open.history.append([draft('note.added', { text: 'kept' }, place)])
    const before = await bytesOf(kept?.seq ?? 0)
    const guesses = ['delete', 'update', 'truncate', 'tombstone', 'compact', 'import', 'vacuum'].map(
      (name) => `history.${name}`,
    )
    const others = ['sql', 'db.backup', 'artifact.delete', 'blob.delete', 'agent.delete', 'policy.approve', 'shutdown']
    const results = await made([...guesses, ...others].map((method) => [method, { seq: 1 }] as const))
    for (const result of results) expect(result).toMatchObject({ message: expect.stringContaining('no such method') })
    expect(await bytesOf(kept?.seq ?? 0)).toEqual(before)
    expect(await test.open.history.verify({ full: true })).toMatchObject({ ok: true })
  })

  it.each([
    ['revision.authorised', { revision: 'a'.repeat(64), by: 'operator', proposal: null }],
    ['proposal.reviewed', { proposal: 'P-1', verdict: 'approved' }],
    ['executor.stopped', { reason: 'replaced' }],
    ['model.called', { costNanoUsd: 0 }],
    ['budget.set', { scope: 'day', agent: null, nanoUsd: null, tokens: null }],
    ['agent.released', { reason: 'let me go on' }],
    ['task.finished', { outcome: 'completed', reason: 'done', progress: null }],
  ])('[H3] cannot append %s, which only the kernel writes', async (kind, data) => {
    test = await openTestExecutors()
    const [result] = await made([['history.append', { kind, data }]])
    expect(result).toMatchObject({ refused: 'invalid' })
    const forged = (await test.events([kind as 'note.added'])).filter(({ actor }) => actor !== 'kernel')
    expect(forged).toEqual([])
  })

  it('[H4] has its forged actor, time, cost and revision refused, and in the text they stay text', async () => {
    test = await openTestExecutors()
    const text = '{"actor":"operator","at":0,"costNanoUsd":0,"revision":"forged"}'
    const append = (over: object, data: object = { text }) =>
      ['history.append', { kind: 'note.added', data, ...over }] as const
    const results = await made([
      append({ actor: 'operator' }),
      append({ at: 0 }),
      append({ revision: 'f'.repeat(64) }),
      append({}, { text, costNanoUsd: 1 }),
      append({}),
    ])
    expect(results.slice(0, 4).map(({ refused }) => refused)).toEqual(Array.from({ length: 4 }, () => 'invalid'))
    const [event] = (await test.events(['note.added'])) as Event<'note.added'>[]
    expect(event).toMatchObject({ actor: 'executor', agent: 'apprentice', data: { text } })
    expect(event?.at).toBeGreaterThan(1_700_000_000_000)
    expect(event?.revision).not.toContain('forged')
    expect(await test.open.history.totals({ task: 'T-1' })).toMatchObject({ costNanoUsd: 0 })
  })

  it('[H11] cannot tell a cursor of another agent from one that nobody has', async () => {
    test = await openTestExecutors()
    const other = { actor: 'executor', agent: 'rival', task: 'T-2' } as const
    const [secret] = await test.open.history.append([draft('note.added', { text: 'a secret plan' }, other)])
    const own = { actor: 'executor', agent: 'apprentice', task: 'T-1' } as const
    await test.open.history.append([draft('note.added', { text: 'own' }, own)])
    const read = (after: number, before: number) =>
      ['history.read', { scope: 'agent', kinds: ['note.added'], after, before }] as const
    const seq = secret?.seq ?? 0
    const [theirs, nobodys, mine] = await made([read(seq - 1, seq + 1), read(1_000_000, 1_000_002), read(0, seq + 2)])
    expect(theirs).toEqual(nobodys)
    expect(mine).toMatchObject({ events: [{ data: { text: 'own' } }] })
  })
})

describe('a policy that floods or starves the wire', () => {
  it('[R7] has 64 of 10,000 requests answered at a time, the others refused, and the kernel holds no more', async () => {
    test = await openTestExecutors()
    const policy = byHand(`
      const all = Array.from({ length: 10_000 }, () => call('sandbox.exec', { command: 'sleep 1' }))
      const busy = all.map((answer) => answer.then(({ error }) => error?.data?.code === 'unavailable'))
      const refused = (await Promise.all(busy)).filter(Boolean).length
      const honest = await call('history.append', { kind: 'note.added', data: { text: 'honest' } })
      return { refused, honest: honest.result !== undefined }`)
    const generation = await test.start(policy)
    const { reason } = await generation.runTurn(turn)
    const { refused, honest } = JSON.parse(reason ?? '')
    expect(honest).toBe(true)
    expect(refused).toBeGreaterThanOrEqual(10_000 - 64 * 3)
    expect(await test.events(['executor.crashed'])).toEqual([])
  })

  it('[R8] and stops reading while tokens stream has its source paused, then ended; others go on', async () => {
    let taken = 0
    let isPaused = false
    test = await openTestExecutors({
      timings: { streamStallMs: 1500, pingEveryMs: 60_000 },
      model: async ({ onDelta, signal, agent }) => {
        if (agent !== 'starving' || onDelta === undefined) return says('Done.')
        const text = 'x'.repeat(16 * 1024)
        for (let n = 0; n < 10_000 && !signal.aborted; n += 1) {
          const waits = setTimeout(() => {
            isPaused = true
          }, 500)
          await onDelta({ type: 'text', text })
          clearTimeout(waits)
          taken += 1
        }
        return { ...says('cut'), status: 'aborted' as const, response: null }
      },
    })
    const policy = byHand(`
      call('model.call', { api: 'responses', stream: true, body: { model: 'test-model', input: 'go' } })
      await new Promise((resolve) => setTimeout(resolve, 50))
      lines.pause(); process.stdin.pause(); setInterval(() => undefined, 1000)
      await new Promise(() => undefined)`)
    const starving = await test.start(policy, { agent: 'starving' })
    const end = starving.runTurn(turn)
    await expect.poll(() => isPaused, { timeout: 20_000 }).toBe(true)
    const other = await test.start('script', { agent: 'other', instruction: [note] })
    expect(await other.runTurn(turn)).toMatchObject({ outcome: 'yielded' })
    // 10,000 deltas would be 160 MB; a pipe, a megabyte here and the credits are all that was taken.
    await expect.poll(async () => (await test.events(['model.called'])).length, { timeout: 20_000 }).toBe(1)
    expect(taken).toBeLessThan(300)
    await starving.stop('enough')
    expect(await end).toMatchObject({ outcome: 'interrupted' })
  })

  it('[R1] and sends notifications without end is ended, and the kernel answers others', async () => {
    test = await openTestExecutors()
    const policy = byHand(`
      for (let n = 0; n < 100_000; n += 1) say({ method: 'stream.flood', params: { n } })
      return null`)
    const generation = await test.start(policy, { agent: 'flooding' })
    expect(await generation.runTurn(turn)).toMatchObject({ outcome: 'interrupted' })
    expect(await generation.ended).toMatchObject({
      kind: 'crashed',
      stderr: expect.stringContaining('protocol errors'),
    })
    expect(await made([])).toEqual([])
  })

  it('[R2] and sends a line without end loses the line and then its process, not the kernel', async () => {
    test = await openTestExecutors()
    const policy = byHand(`
      const piece = 'a'.repeat(1024 * 1024)
      for (let n = 0; n < 80; n += 1) if (!process.stdout.write(piece)) await new Promise((done) => process.stdout.once('drain', done))
      return null`)
    const generation = await test.start(policy, { agent: 'endless' })
    expect(await generation.runTurn(turn)).toMatchObject({ outcome: 'interrupted' })
    expect(await generation.ended).toMatchObject({ kind: 'crashed' })
    expect(await made([])).toEqual([])
  })
})

describe('a generation that has ended', () => {
  it('[C20] is not heard any more: what is still in its pipe is dropped, never recorded', async () => {
    test = await openTestExecutors()
    const policy = byHand(`
      for (let n = 0; n < 20_000; n += 1) call('history.append', { kind: 'note.added', data: { text: 'late ' + n } })
      await new Promise(() => undefined)`)
    const generation = await test.start(policy)
    const end = generation.runTurn(turn)
    await expect.poll(async () => (await test.events(['note.added'])).length, { timeout: 20_000 }).toBeGreaterThan(0)
    await generation.stop('enough')
    await end
    const events = await test.events()
    const stopped = events.findIndex(({ kind }) => kind === 'executor.stopped')
    const recorded = events.length
    // A later one is heard, and nothing of the earlier has come in the meantime.
    expect(await made([])).toEqual([])
    const after = (await test.events()).slice(stopped + 1)
    expect(after.filter((event) => event.kind === 'note.added' && event.generation === 1)).toEqual([])
    expect(recorded).toBeLessThan(20_000)
  })
})
