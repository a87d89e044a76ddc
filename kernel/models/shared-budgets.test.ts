import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import { createNotices, type Notices } from '../notices.ts'
import type { FakeUpstream } from '../testing/fake-upstream.ts'
import { type GatewayBench, openGatewayBench } from '../testing/gateway.ts'
import { modelCalled } from '../testing/guardian.ts'
import { draft } from '../wire/events.ts'
import type { SharedBudgets } from './models.ts'
import { openSharedBudgets } from './shared-budgets.ts'

const hour = 3_600_000
const noon = new Date(2026, 10, 30, 12).getTime()
const never = new AbortController().signal
const revision = 'a'.repeat(64)

let test: TestHistory
let upstream: FakeUpstream
let bench: GatewayBench
let notices: Notices
let shared: SharedBudgets
let wall: number
let uptime: number

const open = () =>
  openSharedBudgets({
    history: test.history,
    notices,
    clock: { now: () => wall, monotonic: () => 0 },
    uptimeMs: () => uptime,
  })

beforeEach(async () => {
  ;[wall, uptime] = [noon, 1_000_000]
  test = await openTestHistory({ clock: { now: () => wall, monotonic: () => 0 } })
  bench = await openGatewayBench()
  upstream = bench.upstream
  notices = createNotices()
  const agents = ['A', 'B', 'other']
  await test.history.append(
    agents.map((name) => draft('agent.created', { name, revision }, { actor: 'operator', agent: name })),
  )
  const parent = { agent: 'A', seq: 1 }
  await test.history.append([
    draft('agent.forked', { name: 'A-2', parent, revision }, { actor: 'operator', agent: 'A-2' }),
  ])
  shared = await open()
})
afterEach(() => Promise.all([test.close(), upstream.close()]))

const body = { max_output_tokens: 200 }
/** What one such call sets aside, and what it comes to. */
async function figures() {
  const gateway = bench.openGateway({ shared })
  await shared.set(null, { nanoUsd: 1_000_000_000 })
  let reserved = 0
  const { costNanoUsd } = await gateway.call(
    bench.aCall({
      body,
      agent: 'other',
      onDelta: () => {
        reserved = gateway.budget('T-1')?.reservedNanoUsd ?? 0
      },
    }),
  )
  await shared.set(null, { nanoUsd: null })
  upstream.requests.length = 0
  return { reserved, spent: costNanoUsd ?? Number.NaN }
}
const dayOf = async (budgets: SharedBudgets) => (await budgets.list())[0]

describe('a budget that tasks share', () => {
  it('[M4] of the day for three calls lets at most three of a hundred of many agents reach the provider', async () => {
    const { reserved, spent } = await figures()
    await shared.set(null, { nanoUsd: spent + 3 * reserved })
    const gateway = bench.openGateway({ shared })
    const calls = Array.from({ length: 100 }, (_, index) =>
      bench.aCall({ body, agent: ['A', 'B', 'A-2'][index % 3] ?? 'A' }),
    )
    const results = await Promise.allSettled(calls.map((call) => gateway.call(call)))
    expect(upstream.requests).toHaveLength(3)
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    expect(refused).toHaveLength(97)
    for (const reason of refused) {
      expect(reason).toMatchObject({ code: 'over-budget', details: { scope: 'day', budget: 'usd' } })
      expect(reason.message).toMatch(/of the budget of the day, [\d.]+ USD, [\d.]+ USD are spent/)
    }
    expect(await dayOf(shared)).toMatchObject({ spentNanoUsd: 4 * spent })
  })

  it('[M11] of an agent is one for it and all its forks, and nobody else', async () => {
    const { reserved } = await figures()
    await shared.set('A-2', { nanoUsd: reserved })
    const gateway = bench.openGateway({ shared })
    const by = (agent: string) => gateway.call(bench.aCall({ body, agent }))
    expect(await by('A')).toMatchObject({ status: 'completed' })
    await expect(by('A-2')).rejects.toMatchObject({ code: 'over-budget', details: { scope: 'agent' } })
    await expect(by('A')).rejects.toMatchObject({ message: expect.stringContaining('agent A and its forks') })
    expect(await by('B')).toMatchObject({ status: 'completed' })
    expect((await shared.list())[1]).toMatchObject({ scope: 'agent', agent: 'A', limitNanoUsd: reserved })
  })

  it('[C8] in USD refuses a call whose price is not known, and names the budget', async () => {
    await shared.set(null, { nanoUsd: 1_000_000_000 })
    const gateway = bench.openGateway({ shared, priced: false })
    await expect(gateway.call(bench.aCall())).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('The budget of the day is in USD, but'),
    })
    expect(upstream.requests).toEqual([])
  })

  it('is in force again after a start, with what was spent before', async () => {
    const called = modelCalled('T-1', revision)
    const usage = { uncached: 100, cacheRead: 0, cacheWrite: 0, output: 20, reasoning: 0 }
    const data = { ...called.data, usage, costNanoUsd: 7_000, costReason: null } as const
    await test.history.append([{ ...called, agent: 'A-2', data }])
    await shared.set(null, { nanoUsd: 9_000, tokens: 500 })
    await shared.set('A', { tokens: 50 })
    await shared.set('A', { nanoUsd: 8_000 })
    expect(await (await open()).list()).toEqual([
      { scope: 'day', agent: null, limitNanoUsd: 9_000, limitTokens: 500, spentNanoUsd: 7_000, spentTokens: 120 },
      { scope: 'agent', agent: 'A', limitNanoUsd: 8_000, limitTokens: 50, spentNanoUsd: 7_000, spentTokens: 120 },
    ])
    expect(await test.history.latest({ agent: null }, 'budget.set')).toMatchObject({
      actor: 'operator',
      data: { scope: 'agent', agent: 'A', nanoUsd: 8_000, tokens: 50 },
    })
  })

  it('is not set for an agent that there is not, nor without a limit', async () => {
    await expect(shared.set('nobody', { nanoUsd: 1 })).rejects.toMatchObject({ code: 'not-found' })
    await expect(shared.set(null, {})).rejects.toMatchObject({ code: 'invalid' })
  })
})

describe('the day of a budget', () => {
  /** As `tokens` that one call uses; the limit leaves room for none beside it. */
  async function spendAll() {
    await shared.set(null, { tokens: 500 })
    await bench.openGateway({ shared }).call(bench.aCall({ body }))
    return (await dayOf(shared))?.spentTokens
  }

  it('ends at local midnight, by the time that has passed', async () => {
    expect(await spendAll()).toBe(120)
    ;[wall, uptime] = [wall + 11 * hour, uptime + 11 * hour]
    expect(await dayOf(shared)).toMatchObject({ spentTokens: 120 })
    // Asleep or awake.
    ;[wall, uptime] = [wall + 1 * hour, uptime + 1 * hour]
    expect(await dayOf(shared)).toMatchObject({ spentTokens: 0, limitTokens: 500 })
  })

  it.each([
    ['ten years on', 10 * 365 * 24 * hour],
    ['a day back', -24 * hour],
    ['a day on', 24 * hour],
  ])('[F10] [C5] neither ends nor begins anew where the clock is set %s', async (_, jump) => {
    expect(await spendAll()).toBe(120)
    wall += jump
    expect(await dayOf(shared)).toMatchObject({ spentTokens: 120 })
    wall -= jump
    expect(await dayOf(shared)).toMatchObject({ spentTokens: 120 })
    // The control: the time itself ends it.
    uptime += 12 * hour
    expect(await dayOf(shared)).toMatchObject({ spentTokens: 0 })
  })

  it('[F10] counts at a start what was spent before the clock was set back a day, and nothing for years', async () => {
    const called = modelCalled('T-1', revision)
    const usage = { uncached: 100, cacheRead: 0, cacheWrite: 0, output: 20, reasoning: 0 }
    const spend = () =>
      test.history.append([{ ...called, data: { ...called.data, usage, costNanoUsd: 7, costReason: null } }])
    await spend()
    wall -= 24 * hour
    expect(await dayOf(await open())).toMatchObject({ spentTokens: 120 })
    wall += 10 * 365 * 24 * hour
    await spend()
    wall = noon
    expect(await dayOf(await open())).toMatchObject({ spentTokens: 120 })
  })
})

describe('a call that waits for room', () => {
  it('goes on when the budget is raised, and says meanwhile on every screen what it waits for', async () => {
    await shared.set(null, { tokens: 200 })
    const raised = new Promise<void>((resolve) => {
      notices.onChange(({ id, notice }) => {
        if (id === 'budget.day' && notice !== null) resolve()
      })
    })
    let isThere = false
    const room = shared.whenRoom('A', { nanoUsd: 0, tokens: 400 }, never).then(() => {
      isThere = true
    })
    await raised
    expect(notices.list()).toMatchObject([
      { id: 'budget.day', severity: 'warning', text: expect.stringContaining('0 of 200 tokens') },
    ])
    expect(isThere).toBe(false)
    await shared.set(null, { tokens: 400 })
    await room
    expect(notices.list()).toEqual([])
  })

  it('goes on at midnight, and ends at once when nobody waits any more', async () => {
    await shared.set(null, { tokens: 500 })
    await bench.openGateway({ shared }).call(bench.aCall({ body }))
    const room = shared.whenRoom('A', { nanoUsd: 0, tokens: 400 }, never)
    uptime += 12 * hour
    await room
    const stop = new AbortController()
    const noRoom = shared.whenRoom('A', { nanoUsd: 0, tokens: 4_000 }, stop.signal)
    stop.abort()
    await noRoom
  })
})
