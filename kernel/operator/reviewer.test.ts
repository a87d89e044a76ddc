import { afterEach, beforeEach, expect, it } from 'vitest'
import { createArtifacts } from '../artifacts/store.ts'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import { draft, type EventData } from '../wire/events.ts'
import { createArtifactDesk } from './artifacts.ts'
import { reviewerHealth } from './reviewer.ts'

const day = 86_400_000
const hash = 'a'.repeat(64)
const binding = { revision: hash, base: hash, checks: hash, profile: hash }
let test: TestHistory
let now = 100 * day
beforeEach(async () => {
  now = 100 * day
  test = await openTestHistory({ clock: { now: () => now, monotonic: () => 0 } })
})
afterEach(() => test.close())

const header = { actor: 'executor', agent: 'a' } as const
async function made(proposal: string, risk: EventData<'proposal.readied'>['risk'], lines: number): Promise<void> {
  const data = { proposal, revision: hash, base: hash, claim: 'c', why: 'w', evidence: [], expects: null, sizeBytes: 1 }
  const files = [{ path: 'loop.ts', change: 'changed', addedLines: lines, removedLines: 0 } as const]
  await test.history.append([
    draft('proposal.made', { ...data, by: 'executor', files, problems: [] }, header),
    draft('proposal.readied', { proposal, risk, reasons: [] }, header),
  ])
}
async function reviewed(proposal: string, over: Partial<EventData<'proposal.reviewed'>> = {}): Promise<void> {
  const data = {
    proposal,
    verdict: 'approved',
    reason: '',
    by: 'operator',
    binding,
    viewedMs: 10_000,
    ...over,
  } as const
  await test.history.append([draft('proposal.reviewed', data, { actor: 'operator', agent: 'a' })])
}

it('tells how reviews went: unread approvals, time by line, what came back, and what rules did', async () => {
  await made('P-1', 'LOW', 10)
  now += 60 * day
  for (const [proposal, risk, lines] of [
    ['P-2', 'HIGH', 100],
    ['P-3', 'LOW', 2],
    ['P-4', 'LOW', 4],
  ] as const)
    await made(proposal, risk, lines)
  // Made long before, decided now.
  await reviewed('P-1', { viewedMs: 20_000 })
  const looked = { proposal: 'P-2', revision: hash, path: 'loop.ts', hash, viewed: true }
  await test.history.append([draft('proposal.looked', looked, { actor: 'operator', agent: 'a' })])
  await reviewed('P-2', { viewedMs: null, looked: { openMs: 50_000, files: 1, of: 1 } })
  // Ticked after its verdict: nobody has read it for that.
  await test.history.append([
    draft('proposal.looked', { ...looked, proposal: 'P-1' }, { actor: 'operator', agent: 'a' }),
  ])
  now += 3_600_000
  await reviewed('P-3', { verdict: 'rejected', viewedMs: null })
  await reviewed('P-4', { by: 'rule', rule: 'R-1' })
  const undone = { from: { activation: 3, revision: hash }, to: { activation: 2, revision: hash } }
  await test.history.append([
    draft('proposal.expired', { proposal: 'P-9' }, header),
    draft('revision.rolled-back', { ...undone, cause: 'crash', proposal: 'P-2', reason: 'it crashed' }, header),
    draft('revision.rolled-back', { ...undone, cause: 'crash', proposal: 'P-4', reason: 'by a rule' }, header),
  ])
  const clock = { now: () => now, monotonic: () => 0 }
  expect(await reviewerHealth(test.history, clock, 30)).toEqual({
    days: 30,
    decisions: 3,
    byVerdict: { approved: 2, rejected: 1 },
    byTier: [
      { risk: 'LOW', decided: 2, approved: 1 },
      { risk: 'HIGH', decided: 1, approved: 1 },
    ],
    medianOpenMs: 35_000,
    medianMsPerChangedLine: 1250,
    approvedUnread: [{ agent: 'a', proposal: 'P-1' }],
    laterRolledBack: [{ agent: 'a', proposal: 'P-2', reason: 'it crashed' }],
    perHour: [
      { at: 160 * day, decisions: 2 },
      { at: 160 * day + 3_600_000, decisions: 1 },
    ],
    ruleHits: 1,
    expired: 1,
  })
  now += 40 * day
  expect(await reviewerHealth(test.history, clock, 30)).toMatchObject({ decisions: 0, medianOpenMs: null, byTier: [] })
})

it('lists what an agent keeps by kind, with who wrote each version, and cuts a long one', async () => {
  const artifacts = createArtifacts({ history: test.history })
  const desk = createArtifactDesk({ history: test.history, artifacts })
  await artifacts.put('a', 'memory/map', 'one', { actor: 'executor', task: 'T-1', revision: hash })
  await artifacts.put('a', 'memory/map', 'two!', { actor: 'operator' })
  await artifacts.put('a', 'skills/fish', 'x', { actor: 'executor', task: 'T-2' })
  await artifacts.put('a', 'policy-backup', '\u00e9'.repeat(600_000), { actor: 'kernel' })
  expect(await desk.list('a')).toMatchObject([
    { name: 'memory/map', kind: 'memory', versions: 2, sizeBytes: 4, by: 'operator', task: null },
    { name: 'policy-backup', kind: 'other', versions: 1, by: 'kernel' },
    { name: 'skills/fish', kind: 'skill', versions: 1, task: 'T-2' },
  ])
  expect(await desk.versions('a', 'memory/map')).toMatchObject([
    { version: 2, by: 'operator' },
    { version: 1, by: 'executor', task: 'T-1', revision: hash, sizeBytes: 3 },
  ])
  expect(await desk.read('a', 'memory/map', 1)).toEqual({ text: 'one', version: 1, totalBytes: 3, isCut: false })
  const cut = await desk.read('a', 'policy-backup')
  expect(cut).toMatchObject({ totalBytes: 1_200_000, isCut: true })
  expect(cut.text).toBe('\u00e9'.repeat(524_288))
  await expect(desk.versions('a', 'nothing')).rejects.toThrow(/agent a has no artifact nothing/)
})
