import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EventDraft } from '../wire/events.ts'
import { openTestHistory, type TestHistory } from './fixture.ts'

let test: TestHistory
beforeAll(async () => {
  test = await openTestHistory()
})
afterAll(() => test.close())

const revisions = ['1', '2', '3'].map((digit) => digit.repeat(64))
const agent = fc.constantFrom('a', 'b')
const note = fc.record({
  kind: fc.constant('note.added'),
  data: fc.record({ text: fc.string({ unit: 'binary' }) }),
  actor: fc.constant('executor'),
  agent,
})
const activate = fc.record({
  kind: fc.constant('revision.activated'),
  data: fc.record({
    activation: fc.integer({ min: 1, max: 9 }),
    revision: fc.constantFrom(...revisions),
    previous: fc.constant(null),
    cause: fc.constantFrom('proposal', 'rollback'),
    proposal: fc.constant(null),
    probationSteps: fc.constant(0),
  }),
  actor: fc.constant('kernel'),
  agent,
})
/** Refused by the schema, or by the store in the midst of a batch. */
const bad = fc.constantFrom(
  { kind: 'note.added', data: { text: 7 }, actor: 'executor' },
  {
    kind: 'artifact.written',
    data: { name: 'n', version: 99, hash: revisions[0], sizeBytes: 1 },
    actor: 'kernel',
    agent: 'a',
  },
)
const drafts = fc.array(fc.oneof({ weight: 6, arbitrary: note }, activate, bad), { minLength: 1, maxLength: 5 })
const operation = fc.oneof(
  { weight: 8, arbitrary: fc.record({ op: fc.constant('append' as const), drafts }) },
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constant('together' as const), batches: fc.array(drafts, { maxLength: 6 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('swap' as const),
      agent,
      expect: fc.constantFrom(null, ...revisions),
      drafts,
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('blob' as const), text: fc.string() }) },
  { weight: 1, arbitrary: fc.constant({ op: 'reopen' as const }) },
)

async function run(step: typeof operation extends fc.Arbitrary<infer T> ? T : never): Promise<void> {
  const { history } = test
  switch (step.op) {
    case 'append':
      await history.append(step.drafts as EventDraft[]).catch(expected)
      return
    case 'together':
      await Promise.all(step.batches.map((batch) => history.append(batch as EventDraft[]).catch(expected)))
      return
    case 'swap':
      await history.appendIfActive(step.agent, step.expect, step.drafts as EventDraft[]).catch(expected)
      return
    case 'blob':
      await history.putBlob(step.text)
      return
    case 'reopen':
      await test.reopen()
  }
}

function expected(error: unknown): void {
  expect(error).toMatchObject({ code: expect.stringMatching(/^(invalid|conflict)$/) })
}

async function bytes(): Promise<string> {
  const lines: string[] = []
  for (let after: number | null = 0; after !== null; ) {
    const page = await test.history.read({ agent: null }, { after, limit: 1000 })
    lines.push(...page.events.map((event) => `${JSON.stringify(event)}\n`))
    after = page.next
  }
  return lines.join('')
}

describe('the storage contract', () => {
  it('[C1] holds: whatever is done, in whatever order, the earlier history is a prefix of the later', async () => {
    let earlier = ''
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 8 }), async (steps) => {
        for (const step of steps) {
          await run(step)
          const later = await bytes()
          expect(later.startsWith(earlier)).toBe(true)
          earlier = later
        }
      }),
      { numRuns: 25 },
    )
    expect(earlier.length).toBeGreaterThan(0)
    expect(await test.history.verify()).toMatchObject({ ok: true, events: test.history.head()?.seq })
  })
})
