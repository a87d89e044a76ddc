// The replacement contract, over arbitrary sequences of what an agent, an operator and a crash can do.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KernelError } from '../errors.ts'
import { modelCalled, openTestGuardian, policy, StandInTask, type TestGuardian } from '../testing/guardian.ts'
import type { Event } from '../wire/events.ts'

let test: TestGuardian
beforeAll(async () => {
  test = await openTestGuardian({ createAgent: false, probationSteps: 2 })
})
afterAll(() => test.close())

const texts = ['one', 'two', 'three', 'four', 'five', 'six', 'seven no-boot', 'eight no-start', 'nine no-box']
const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('propose' as const), text: fc.constantFrom(...texts) }) },
  { weight: 5, arbitrary: fc.constant({ do: 'approve' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'reject' as const }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rollback' as const), back: fc.integer({ min: 1, max: 4 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('fail' as const),
      kind: fc.constantFrom('crash' as const, 'hang' as const),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ do: 'step' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'attach' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'detach' as const }) },
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

let runs = 0
/** How each activation came about, over all runs. */
const causes = new Set<string>()

/** What is refused in a state is refused; anything else that goes wrong is a finding. */
async function attempt(work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof KernelError) || error.code === 'internal') throw error
  }
}

async function perform(agent: string, one: Action, desk: { detach: (() => void) | null }): Promise<void> {
  const { guardian, history } = test
  const { revision, activation } = (await guardian.active(agent)) ?? { revision: '', activation: 0 }
  const verdict = async (of: 'approve' | 'reject') => {
    const [waiting] = await guardian.list({ agent, waiting: true })
    const proposal = waiting?.proposal ?? 'P-1'
    return guardian[of]({ agent, proposal, reason: 'so', ...(await guardian.view(agent, proposal)) })
  }
  switch (one.do) {
    case 'propose':
      return attempt(guardian.submit(agent, policy(one.text), 'why', 'claim'))
    case 'approve':
    case 'reject':
      await guardian.settled(agent)
      return attempt(verdict(one.do))
    case 'rollback':
      return attempt(guardian.rollback(agent, Math.max(1, activation - one.back), revision, 'back'))
    case 'fail':
      return attempt(
        guardian.generationFailed(agent, { task: 'T-1', activation, revision, kind: one.kind, detail: '' }),
      )
    case 'step':
      await history.append([{ ...modelCalled('T-1', revision), agent }])
      return
    case 'attach':
      desk.detach ??= guardian.attach(agent, new StandInTask())
      return
    case 'detach':
      desk.detach?.()
      desk.detach = null
  }
}

function violations(events: readonly Event[]): string[] {
  const found: string[] = []
  const authorised = new Set<string>()
  let activations = 0
  let active: string | null = null
  const open = new Set<string>()
  for (const { kind, data } of events) {
    if (kind === 'revision.authorised') authorised.add(data.revision)
    if (kind === 'proposal.reviewed' && data.verdict === 'approved') open.add(data.proposal)
    if (kind === 'revision.activation-failed' && data.proposal !== null) open.delete(data.proposal)
    if (kind !== 'revision.activated') continue
    activations += 1
    if (data.activation !== activations) found.push(`r${data.activation} comes where r${activations} should`)
    if (data.previous !== active) found.push(`r${data.activation} did not replace what was active`)
    if (!authorised.has(data.revision)) found.push(`r${data.activation} was not authorised before`)
    if (data.cause === 'proposal' && !open.delete(data.proposal ?? ''))
      found.push(`r${data.activation} was not approved`)
    active = data.revision
  }
  if (open.size > 0) found.push(`approved without an outcome: ${[...open].join(', ')}`)
  return found
}

describe('the replacement contract', () => {
  it('holds for any sequence: one active revision, numbers without gaps, each hash authorised before', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 60, size: 'max' }), async (actions) => {
        runs += 1
        const agent = `agent-${runs}`
        await test.guardian.createAgent(agent, policy('one'))
        const desk = { detach: null }
        for (const one of actions) await perform(agent, one, desk)
        await test.guardian.settled(agent)
        const { events } = await test.history.read({ agent }, { limit: 1000 })
        expect(violations(events)).toEqual([])
        const last = events.findLast((event) => event.kind === 'revision.activated')
        for (const { cause } of await test.guardian.revisions(agent)) causes.add(cause)
        const active = await test.guardian.active(agent)
        expect(active).toEqual({ activation: last?.data.activation, revision: last?.data.revision })
        const rows = await test.guardian.revisions(agent)
        expect(rows.filter(({ state }) => state === 'active' || state === 'probation')).toHaveLength(1)
        // The store's own pointer says the same.
        expect(await test.history.appendIfActive(agent, active?.revision ?? null, [])).toEqual([])
      }),
      { numRuns: 25 },
    )
    // Or the sequences were not worth trying.
    expect([...causes].sort()).toEqual(['last-good', 'proposal', 'rollback', 'seed'])
    const shown = await test.guardian.list({})
    await test.restart()
    expect(await test.guardian.list({})).toEqual(shown)
  })
})
