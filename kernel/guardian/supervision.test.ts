// What failures lead to, step by step: again after a while, back to what was good, the starting policy, and then nothing at all.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '../clock.ts'
import { createNotices } from '../notices.ts'
import { agent, openTestGuardian, StandInTask, type TestGuardian } from '../testing/guardian.ts'
import type { EventKind } from '../wire/events.ts'

let test: TestGuardian
let wall = 0
let awake = 0
const clock: Clock = { now: () => 1_700_000_000_000 + wall, monotonic: () => awake }
const notices = createNotices()

beforeEach(async () => {
  wall = 0
  awake = 0
  test = await openTestGuardian({ clock, notices })
})
afterEach(() => test.close())

async function dataOf(kind: EventKind) {
  return (await test.events([kind])).map(({ data }) => data)
}

async function active(): Promise<string> {
  const { activation, revision } = (await test.guardian.active(agent)) ?? { activation: 0, revision: '' }
  const [file] = await test.revisions.read(revision)
  return `r${activation} ${file?.text.slice(3).trim()}`
}

/** Proposes and approves, and completes the probation. */
async function adopt(text: string): Promise<void> {
  await test.approve(await test.propose(text))
  for (let step = 0; step < 3; step += 1) await test.step()
}

async function fail(kind: 'crash' | 'hang' | 'failed-turns' = 'crash') {
  const { activation, revision } = (await test.guardian.active(agent)) ?? { activation: 0, revision: '' }
  return test.guardian.generationFailed(agent, { task: 'T-1', activation, revision, kind, detail: 'exit code 1' })
}

/** Crashes as fast as the back-off allows, until something else than a restart follows. */
async function crashLoop(kind: 'crash' | 'hang' = 'crash'): Promise<{ delays: number[]; action: string }> {
  const delays: number[] = []
  for (;;) {
    const decision = await fail(kind)
    if (decision.action !== 'restart') return { delays, action: decision.action }
    delays.push(decision.delayMs)
    awake += decision.delayMs
  }
}

describe('a crash loop', () => {
  it('[C20] [F16] backs off from 1 s, falls back to the last good revision, then to the starting policy, then starts nothing', async () => {
    await adopt('two')
    await adopt('three')
    await adopt('four')
    expect(await crashLoop()).toEqual({ delays: [1000, 2000, 4000, 8000, 16_000], action: 'replaced' })
    expect(await active()).toBe('r5 three')
    expect((await crashLoop()).action).toBe('replaced')
    // Not the one before: what fails twice is not looked for among all that there ever was.
    expect(await active()).toBe('r6 one')
    expect((await crashLoop()).action).toBe('safe-mode')
    expect(await active()).toBe('r6 one')
    expect(await dataOf('executor.escalated')).toMatchObject([
      { to: 'last-good', crashes: 6 },
      { to: 'seed', crashes: 6 },
      { to: 'safe-mode', crashes: 6 },
    ])
    expect(await test.history.verify()).toMatchObject({ ok: true })
  })

  it('never waits longer than a minute', async () => {
    const waits: number[] = []
    await test.close()
    const restarts = { consecutive: { crash: 20, hang: 20 }, perWindow: 20 }
    test = await openTestGuardian({ clock, restarts })
    for (let failure = 0; failure < 9; failure += 1) {
      const decision = await fail()
      if (decision.action === 'restart') waits.push(decision.delayMs)
    }
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000])
  })

  it('is as good as over after a completed step', async () => {
    expect(await fail()).toEqual({ action: 'restart', delayMs: 1000 })
    expect(await fail()).toEqual({ action: 'restart', delayMs: 2000 })
    await test.step()
    expect(await fail()).toEqual({ action: 'restart', delayMs: 1000 })
  })

  it('is one too where steps are completed in between, at more than five failures in a minute', async () => {
    await adopt('two')
    for (let failure = 0; failure < 5; failure += 1) {
      expect(await fail()).toEqual({ action: 'restart', delayMs: 1000 })
      await test.step()
      awake += 10_000
    }
    expect(await fail()).toEqual({ action: 'replaced', delayMs: 0 })
    expect(await active()).toBe('r3 one')
  })

  it('is none at the same number of failures over a longer time', async () => {
    await adopt('two')
    for (let failure = 0; failure < 10; failure += 1) {
      expect(await fail()).toEqual({ action: 'restart', delayMs: 1000 })
      await test.step()
      awake += 15_000
    }
    expect(await active()).toBe('r2 two')
  })

  it('[F10] [C5] is counted by the monotonic clock: the wall clock may jump by years, back and forth', async () => {
    await adopt('two')
    const jumps = [10 * 365 * 86_400_000, -86_400_000, 1000, -1000, 3_600_000]
    for (const jump of jumps) {
      expect(await fail()).toEqual({ action: 'restart', delayMs: 1000 })
      await test.step()
      wall += jump
      awake += 10_000
    }
    expect(await fail()).toMatchObject({ action: 'replaced' })
    const events = await test.events()
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect(await test.history.verify()).toMatchObject({ ok: true })
  })

  it('[F15] of hangs is shorter: each has cost its deadline already', async () => {
    await adopt('two')
    expect(await crashLoop('hang')).toEqual({ delays: [1000, 2000], action: 'replaced' })
    expect(await dataOf('executor.escalated')).toMatchObject([
      { to: 'seed', reason: expect.stringContaining('hung 3 times in a row') },
    ])
  })
})

describe('safe mode', () => {
  it('[I4] lasts over a restart, is said on every screen, and ends by the operator alone', async () => {
    expect((await crashLoop()).action).toBe('safe-mode')
    const before = test.executors.started.length
    expect(await fail()).toMatchObject({ action: 'safe-mode' })
    expect(notices.list()).toMatchObject([
      { id: `agent.safe-mode.${agent}`, severity: 'error', fix: expect.stringContaining('leave-safe-mode') },
    ])
    await test.restart()
    expect(test.guardian.safeMode(agent)).toMatchObject({ activation: 1 })
    expect(notices.list()).toHaveLength(1)
    expect(test.executors.started).toHaveLength(before)

    await test.guardian.leaveSafeMode(agent, 'it was the disk')
    expect(test.guardian.safeMode(agent)).toBeNull()
    expect(notices.list()).toEqual([])
    expect((await test.events(['agent.released']))[0]).toMatchObject({ actor: 'operator', agent })
    expect(await fail()).toEqual({ action: 'restart', delayMs: 1000 })
    await expect(test.guardian.leaveSafeMode(agent, '')).rejects.toMatchObject({ code: 'conflict' })
  })

  it('[I4] leaves proposals, verdicts and rollback as they are; another revision ends it', async () => {
    await adopt('two')
    await crashLoop()
    await crashLoop()
    expect(test.guardian.safeMode(agent)).not.toBeNull()
    const { revision = '' } = (await test.guardian.active(agent)) ?? {}
    await test.guardian.rollback(agent, 2, revision, 'the fault was elsewhere')
    expect(await active()).toBe('r4 two')
    expect(test.guardian.safeMode(agent)).toBeNull()

    await crashLoop()
    await crashLoop()
    expect(test.guardian.safeMode(agent)).not.toBeNull()
    await test.approve(await test.propose('mended'))
    expect(await active()).toContain('mended')
    expect(test.guardian.safeMode(agent)).toBeNull()
  })
})

describe('turns that only fail', () => {
  it('bring the last good revision back in probation', async () => {
    await test.approve(await test.propose('two'))
    expect(await fail('failed-turns')).toEqual({ action: 'replaced', delayMs: 0 })
    expect(await active()).toBe('r3 one')
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('rolled-back')
    expect(await dataOf('revision.rolled-back')).toMatchObject([{ cause: 'failed-turns', proposal: 'P-1' }])
  })

  it('do so once after probation, and then end the task and not the agent', async () => {
    await adopt('two')
    await adopt('three')
    expect(await fail('failed-turns')).toEqual({ action: 'replaced', delayMs: 0 })
    expect(await active()).toBe('r4 two')
    expect(await fail('failed-turns')).toMatchObject({ action: 'give-up', reason: expect.stringContaining('r4') })
    expect(await active()).toBe('r4 two')
    expect(test.guardian.safeMode(agent)).toBeNull()
  })

  it('end the task at once where there is nothing to go back to', async () => {
    test.guardian.attach(agent, new StandInTask())
    expect(await fail('failed-turns')).toMatchObject({ action: 'give-up' })
  })
})
