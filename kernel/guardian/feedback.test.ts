// What the starting policy tells its model of a proposal's fate, from the events as the guardian writes them.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { agent, openTestGuardian, type TestGuardian } from '../testing/guardian.ts'
import type { Event } from '../wire/events.ts'

type Messages = { messageKinds: readonly string[]; messageOf(event: Event): string | null }
const seed = pathToFileURL(join(import.meta.dirname, '../../executor-seed/messages.ts')).href
const { messageKinds, messageOf } = (await import(/* @vite-ignore */ seed)) as Messages

let test: TestGuardian
beforeEach(async () => {
  test = await openTestGuardian()
})
afterEach(() => test.close())

/** Everything that the agent is told, in order. */
async function told(): Promise<string[]> {
  const events = (await test.events()).filter(({ kind }) => messageKinds.includes(kind))
  return events.map(messageOf).filter((text) => text !== null)
}

async function view(proposal: string) {
  return { agent, proposal, reason: 'so', ...(await test.guardian.view(agent, proposal)) }
}

it('a return comes with each comment at its line', async () => {
  await test.propose('two', { 'notes.md': 'a\nb\n' })
  const comments = [
    { path: 'notes.md', side: 'after' as const, line: 2, text: 'why b?' },
    { path: 'main.ts', side: 'before' as const, line: 1, text: 'this was good' },
  ]
  await test.guardian.sendBack({ ...(await view('P-1')), comments })
  expect(await told()).toEqual([
    'The operator returned P-1 for changes: so\n- notes.md:2: why b?\n- main.ts:1 (as it was): this was good\nYour edit is still in /policy: change it and propose again.',
  ])
})

it('a part comes with what fell and why, and becomes what runs', async () => {
  await test.propose('two', { 'notes.md': 'a\nb\n' })
  const [main, notes] = await test.guardian.hunks(agent, 'P-1')
  const ids = (file: typeof main) => file?.hunks.map(({ id }) => id) ?? []
  await test.guardian.derive({
    ...(await view('P-1')),
    keep: [{ path: 'main.ts', hunks: ids(main) }],
    fallen: [{ path: 'notes.md', hunk: ids(notes)[0] ?? '', reason: 'no notes' }],
  })
  await test.guardian.settled(agent)
  await test.approve('P-2')
  expect(await told()).toEqual([
    'The operator takes a part of P-1 as P-2, and decides on that: so\n- left out: notes.md, lines 1–2: no notes\nYour own edit is still in /policy. Once P-2 is active, lay /policy anew before you change more.',
    'The operator approved P-2.',
    'P-2 is active: you now run r2, on probation for 3 steps.',
  ])
})

it('an override is told with its check, a rejection with its kind, an expiry as none', async () => {
  await test.propose('no-box')
  expect(await told()).toEqual([
    'Check boot could not decide P-1: it could not be started: no box can be had. Mend it and propose again\nIt is for the operator to decide without it.',
  ])
  await test.guardian.reject({ ...(await view('P-1')), category: 'unsafe' })
  await test.propose('two')
  const { version } = test.guardian.profile()
  await test.guardian.setProfile({ version, checks: [{ check: 'boot', gates: false }], reason: 'to see' })
  await test.propose('no-box')
  await test.approve('P-3').catch(() => {})
  const [, rejected, expired, ...rest] = await told()
  expect(rejected).toMatch(/^The operator rejected P-1 \(unsafe\): so\n/)
  expect(expired).toBe('P-2 has expired, and was not turned down: the checks have changed since: propose it again')
  // The check that decides nothing any more is not spoken of.
  expect(rest.some((text) => text.includes('Check boot'))).toBe(false)
})
