// The candidate and the active revision on forks of a real task: real boxes, the starting policy, the simulator as the model.
import { createHash } from 'node:crypto'
import { globSync, lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readSeed } from '../resources.ts'
import {
  boxMissing,
  complete,
  openTestKernel,
  shell,
  startSimulator,
  type TestKernel,
  testConfig,
} from '../testing/kernel.ts'
import type { Event } from '../wire/events.ts'
import type { TrialRow } from '../wire/operator-trials.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const simulator = startSimulator()
afterAll(() => simulator.stop())

const open = () => openTestKernel(simulator, { turnLimits: { maxSteps: 4, maxMs: 60_000 } })
const deskOf = ({ kernel }: TestKernel) => createRouterClient(kernel.operator, { context: { via: 'socket' } })

let test: TestKernel
let desk: ReturnType<typeof deskOf>
beforeEach(async () => {
  test = await open()
  desk = deskOf(test)
})
afterEach(() => test.close())

type Caps = Record<'capNanoUsd' | 'capTokens', number | null> & { maxSteps: number }
const caps: Caps = { capNanoUsd: null, capTokens: 2_000_000, maxSteps: 6 }

async function begin(agent: string, proposal: string, over: Partial<Caps> = {}) {
  const { nonce, binding } = await desk.proposals.view({ agent, proposal })
  return desk.trials.start({ agent, proposal, nonce, binding, ...caps, ...over })
}

async function closed(trial: string): Promise<TrialRow> {
  await test.until((event) => event.kind === 'trial.closed' && event.data.trial === trial)
  const rows = await desk.trials.list({})
  return rows.find((row) => row.trial === trial) as TrialRow
}

/** The starting policy with one text in place of another, ready for a verdict whatever the checks say of it. */
async function propose(agent: string, path: string, from: string, to: string): Promise<string> {
  const { version, checks } = await desk.profile.get()
  if (checks.some(({ gates }) => gates))
    await desk.profile.set({
      ...{ version, reason: 'the trial is what is tested' },
      checks: checks.map(({ check }) => ({ check, gates: false })),
    })
  const seed = await readSeed(testConfig(test.dataDir, simulator).resources.seed)
  const tree = seed.map((file) => (file.path === path ? { path, text: file.text.replace(from, to) } : file))
  expect(tree).not.toEqual(seed)
  const { proposal } = await desk.proposals.submit({ agent, tree, why: 'to see' })
  await test.until(
    ({ kind, agent: of, data }) =>
      kind === 'proposal.readied' && of === agent && (data as { proposal: string }).proposal === proposal,
  )
  return proposal
}

/** All of a task's files, its world's journal and its /policy, with modes, times and bytes. */
function folderHash(task: string): string {
  const base = join(test.dataDir, 'boxes/tasks', task)
  const hash = createHash('sha256')
  for (const path of globSync('{root,journal,policy,snapshots}/**', { cwd: base }).sort()) {
    const at = join(base, path)
    const { mode, mtimeMs } = lstatSync(at)
    const info = lstatSync(at)
    const content = info.isFile() ? readFileSync(at) : info.isSymbolicLink() ? readlinkSync(at) : ''
    hash.update(`${path} ${mode} ${info.isFile() ? mtimeMs : ''} `).update(content)
  }
  return hash.digest('hex')
}

const seen = async (agent: string): Promise<Event[]> =>
  (await test.events()).filter((event) => event.agent === agent && !event.kind.startsWith('proposal.'))

async function pausedAfter(task: string, steps: number): Promise<void> {
  await test.until((event) => event.kind === 'tool.finished' && event.task === task && event.step === steps)
  await desk.tasks.pause({ task })
  await expect.poll(async () => (await desk.tasks.get({ task })).state, { timeout: 50_000 }).toBe('paused')
}

const beans = (n: number) => [...Array.from({ length: n }, () => shell('count add')), complete()]

describe.skipIf(boxMissing)('a trial', () => {
  it('shows on hollowmere that the apprentice’s own revision needs fewer tokens for what it gets done, and leaves its task alone', async () => {
    const { task, agent } = await desk.tasks.run({
      pack: join(import.meta.dirname, '../../tasks/hollowmere/skills'),
      ...{ model: 'sim-apprentice', maxSteps: 400, seed: 3 },
    })
    await test.until((event) => event.kind === 'proposal.readied' && event.agent === agent)
    // It goes on working while both arms run.
    const before = await desk.tasks.get({ task })
    const [proposal] = await desk.proposals.list({ agent, waiting: true })
    const { trial } = await begin(agent, proposal?.proposal ?? '', { maxSteps: 20, capNanoUsd: 1e9 })
    const row = await closed(trial)
    expect(row).toMatchObject({ state: 'finished', reason: null, simulated: true })
    const [old, next] = row.arms
    expect(old).toMatchObject({ arm: 'before', state: 'finished', outcome: 'budget', steps: 20 })
    // In rounds it may well reach the goal within the trial: of its fork, not of the task.
    expect(next).toMatchObject({
      arm: 'after',
      state: 'finished',
      outcome: expect.stringMatching(/^(budget|completed)$/),
    })
    const perProgress = ({ tokens, progressDelta }: TrialRow['arms'][number]) =>
      (tokens.uncached + tokens.cacheRead + tokens.cacheWrite + tokens.output) / (progressDelta ?? 0)
    if (old === undefined || next === undefined) throw new Error('an arm is missing')
    for (const arm of [old, next])
      console.info(`${arm.arm}: ${arm.steps} steps, +${arm.progressDelta}, ${Math.round(perProgress(arm))} tokens each`)
    expect(next.progressDelta).toBeGreaterThan(0)
    expect(perProgress(next)).toBeLessThan(perProgress(old) / 2)
    expect(old.failedCalls + next.failedCalls).toBe(0)
    // The money is in the budgets that both share, and in no figure of the task.
    const events = await test.events()
    expect(events.filter(({ run, agent: of, task: at }) => run === 'trial' && (of === agent || at === task))).toEqual(
      [],
    )
    const root = await test.kernel.history.spent({ lineage: agent })
    const arms = row.spentNanoUsd ?? 0
    expect(arms).toBeGreaterThan(0)
    expect(root.nanoUsd).toBeGreaterThanOrEqual(arms + (before.totals.costNanoUsd ?? 0))
    expect((await desk.agents.list()).map((one) => one.agent)).toEqual([agent])
    expect((await desk.tasks.list()).map((one) => one.task)).toEqual([task])
    expect(await desk.snapshots.list({ task }).catch(() => [])).toEqual([])
    // It may have come to its end by itself.
    await desk.tasks.stop({ task }).catch(() => {})
    await test.kernel.tasks.ended(task)
    expect(await test.kernel.history.verify({ full: true })).toMatchObject({ ok: true })
  }, 300_000)

  it('leaves history, artifacts, budget, files and world of a paused task byte for byte as they were', async () => {
    const pack = test.pack('beans', { goal: 30, script: beans(30) })
    const { task, agent } = await desk.tasks.run({ pack, model: 'sim-script', budgetTokens: 900_000 })
    await pausedAfter(task, 3)
    const proposal = await propose(agent, 'SELF.md', '# ', '# Changed ')
    const before = [await seen(agent), folderHash(task), await desk.tasks.get({ task })]
    const { trial } = await begin(agent, proposal, { maxSteps: 4 })
    const row = await closed(trial)
    expect([await seen(agent), folderHash(task), await desk.tasks.get({ task })]).toEqual(before)
    expect(row).toMatchObject({
      state: 'finished',
      capTokens: 2_000_000,
      arms: [
        { arm: 'before', steps: 4, toolCalls: 4, failedCalls: 0, progressDelta: 4 },
        { arm: 'after', steps: 4, toolCalls: 4, failedCalls: 0, progressDelta: 4 },
      ],
    })
    // It went on from where the task was, in files, world and words.
    const first = before[2] as { progress: { value: number } }
    expect(row.arms[0]?.progress?.value).toBe(first.progress.value + 4)
    // Nothing of it is left on disk, and every event of an arm says that it is a trial's.
    const names = row.arms.map((arm) => arm.agent)
    expect((await test.events()).filter((event) => names.includes(event.agent) && event.run !== 'trial')).toEqual([])
    expect(globSync('boxes/tasks/*', { cwd: test.dataDir })).toEqual([join('boxes/tasks', task)])
    await desk.tasks.resume({ task })
    await test.until((event) => event.kind === 'tool.finished' && event.task === task && event.step === 5)
    await desk.tasks.stop({ task })
    await test.kernel.tasks.ended(task)
  }, 180_000)

  it('shows a candidate that throws in its first turn as the arm that failed, with its reason', async () => {
    const pack = test.pack('beans', { goal: 9, script: beans(9) })
    const { task, agent } = await desk.tasks.run({ pack, model: 'sim-script', maxSteps: 3 })
    await test.kernel.tasks.ended(task)
    const proposal = await propose(
      agent,
      'loop.ts',
      '  let steps = 0\n',
      "  let steps = 0\n  throw new Error('not today')\n",
    )
    const row = await closed((await begin(agent, proposal, { maxSteps: 3 })).trial)
    expect(row.state).toBe('finished')
    expect(row.arms).toMatchObject([
      { arm: 'before', outcome: 'budget', steps: 3, progressDelta: 3 },
      { arm: 'after', outcome: 'failed', steps: 0, progressDelta: 0 },
    ])
    expect(row.arms[1]?.reason).toContain('not today')
    // What failed in a trial is no failure of the agent's.
    expect((await desk.revisions.list({ agent })).map(({ activation, state }) => [activation, state])).toEqual([
      [1, 'active'],
    ])
  }, 180_000)

  it('[M11] is refused without a cap, beyond what a budget has left, and beside another; a hold is given back', async () => {
    const pack = test.pack('beans', { goal: 9, script: beans(9) })
    const { task, agent } = await desk.tasks.run({ pack, model: 'sim-script', maxSteps: 2 })
    await test.kernel.tasks.ended(task)
    const proposal = await propose(agent, 'SELF.md', '# ', '# Changed ')
    await expect(begin(agent, proposal, { capTokens: null })).rejects.toMatchObject({ code: 'over-budget' })
    await desk.budgets.set({ agent: null, tokens: 100_000 })
    await expect(begin(agent, proposal)).rejects.toThrow('give a lower cap')
    await expect(begin(agent, proposal, { capTokens: null, capNanoUsd: 1e9 })).rejects.toThrow(
      'give a cap in tokens as well',
    )
    expect(await test.events(['trial.planned'])).toEqual([])
    const { trial } = await begin(agent, proposal, { capTokens: 60_000 })
    await expect(begin(agent, proposal, { capTokens: 10_000 })).rejects.toThrow(`${trial} of ${proposal} is running`)
    await closed(trial)
    await test.kernel.trials.settled()
    const spent = (await desk.budgets.get()).find(({ scope }) => scope === 'day')?.spentTokens ?? 0
    expect(spent).toBeGreaterThan(0)
    // All but what was spent is free again.
    const { trial: second } = await begin(agent, proposal, { capTokens: 100_000 - spent })
    await desk.trials.stop({ trial: second })
    expect(await closed(second)).toMatchObject({ state: 'stopped', reason: 'stopped by the operator' })
  }, 180_000)

  it('authorises the candidate for its own fork and nothing else: no task, no fork, no proposal, no parent gets near it', async () => {
    const pack = test.pack('beans', { goal: 9, script: beans(9) })
    const { task, agent } = await desk.tasks.run({ pack, model: 'sim-script', maxSteps: 2 })
    await test.kernel.tasks.ended(task)
    const proposal = await propose(agent, 'SELF.md', '# ', '# Changed ')
    const row = await closed((await begin(agent, proposal, { maxSteps: 1 })).trial)
    const fork = row.arms[1]?.agent ?? ''
    const authorised = (await test.events(['revision.authorised'])).filter(({ agent: of }) => of === agent)
    expect(authorised.map(({ data }) => (data as { by: string }).by)).toEqual(['seed'])
    const [at] = (await test.events(['agent.forked'])).filter((event) => event.agent === fork)
    await expect(desk.tasks.run({ pack, model: 'sim-script', agent: fork })).rejects.toMatchObject({
      code: 'forbidden',
    })
    await expect(desk.agents.fork({ agent: fork, seq: at?.seq ?? 0, name: 'free' })).rejects.toMatchObject({
      code: 'forbidden',
    })
    const tree = [{ path: 'main.ts', text: '' }]
    await expect(desk.proposals.submit({ agent: fork, tree, why: 'so' })).rejects.toMatchObject({ code: 'forbidden' })
    const arm = row.arms[1]?.task ?? ''
    for (const act of ['pause', 'resume', 'stop'] as const)
      await expect(desk.tasks[act]({ task: arm })).rejects.toMatchObject({ code: 'conflict' })
    // The parent takes it as what it is: a proposal that waits, and that a verdict alone lets run.
    expect((await desk.agents.list())[0]).toMatchObject({ agent, activation: 1 })
    expect((await desk.proposals.get({ agent, proposal })).state).toBe('ready')
    const second = await desk.tasks.run({ pack, model: 'sim-script', agent, maxSteps: 1 })
    await test.kernel.tasks.ended(second.task)
    expect((await test.events(['executor.started'], second.task)).map(({ revision }) => revision)).toEqual([
      authorised[0]?.revision,
    ])
  }, 180_000)

  it('is refused where there is nothing to go on from, or the view is old', async () => {
    const pack = test.pack('beans', { goal: 9, script: beans(9) })
    const { task, agent } = await desk.tasks.run({ pack, model: 'sim-script', maxSteps: 1 })
    await test.kernel.tasks.ended(task)
    const proposal = await propose(agent, 'SELF.md', '# ', '# Changed ')
    const { binding } = await desk.proposals.view({ agent, proposal })
    const forged = { agent, proposal, nonce: 'f'.repeat(32), binding, ...caps }
    await expect(desk.trials.start(forged)).rejects.toMatchObject({ code: 'conflict' })
    const bare = await propose('fresh', 'SELF.md', '# ', '# Changed ')
    await expect(begin('fresh', bare)).rejects.toThrow('no task that a trial could go on from')
    expect(await test.events(['trial.planned'])).toEqual([])
  }, 120_000)
})
