// Worlds that end, hang, flood and lie, in real boxes.
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import { localProvider } from '../sandbox/local.ts'
import type { SandboxProvider } from '../sandbox/sandbox.ts'
import { boxMissing, writePack } from '../testing/kernel.ts'
import type { EventData } from '../wire/events.ts'
import { createFolders, type TaskFolders, taskFolders } from './folders.ts'
import { grade } from './grader.ts'
import { Meter } from './meter.ts'
import { type Pack, readPack } from './pack.ts'
import { startWorld } from './world.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

let dir: string
let provider: SandboxProvider
let folders: TaskFolders
let pack: Pack
let boxesDir: string

async function lay(goal: number | undefined, grader?: string): Promise<void> {
  const at = writePack(join(dir, 'pack'), {
    script: [],
    ...(goal === undefined ? {} : { goal }),
    grader: grader ?? null,
  })
  folders = taskFolders(boxesDir, 'T-1')
  pack = await createFolders(folders, await readPack(at))
}

/** What the agent does: a command in the task's sandbox. */
async function act(command: string) {
  const { stdout, stderr } = await provider.run({
    profile: 'task',
    label: 'T-1',
    mounts: {
      root: folders.root,
      ...(pack.world === null ? {} : { socket: folders.socket, program: folders.commands }),
    },
    argv: ['/bin/sh', '-c', command],
    timeoutMs: 30_000,
  })
  return stdout.toString() + stderr.toString()
}

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'exodesk-world-')))
  boxesDir = join(dir, 'boxes')
  mkdirSync(boxesDir)
  if (!boxMissing)
    provider = localProvider({ boxesDir, nodePath: process.execPath, checkerMounts: [], clock: systemClock })
})
afterEach(async () => {
  await provider?.close()
  rmSync(dir, { recursive: true, force: true })
})

describe.skipIf(boxMissing)('a world', () => {
  const start = (seed = 1) => startWorld(provider, pack, folders, 'T-1', seed)

  it('answers on its own stdio, out of reach of the sandbox that changes it', async () => {
    await lay(2)
    const world = await start()
    expect(await world.probe()).toEqual({ value: 0, unit: 'beans', goal: 2, done: false })
    expect(await act('count add')).toBe('1 of 2\n')
    expect(await world.probe()).toMatchObject({ value: 1 })
    expect(await world.frame()).toBe('o')
    expect(JSON.parse(await world.save())).toEqual({ measure: { value: 1, unit: 'beans', goal: 2, done: false } })
    await world.close()
    await expect(world.probe()).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('that ends tells its last words to whoever asks', async () => {
    await lay(2)
    const world = await start()
    await act('count die')
    await expect(world.probe()).rejects.toThrow('the world ended (exit code 9): the world is tired')
  })

  it('that does not begin leaves no box behind', async () => {
    await lay(2)
    await expect(start(13)).rejects.toThrow('the world refused: there is no world of seed 13')
    expect(await provider.killAll('T-1.world')).toBe(0)
  })

  it('whose answer is none is unavailable; one that floods its kernel is ended', async () => {
    await lay(2)
    const world = await start()
    await act('count nonsense')
    await expect(world.probe()).rejects.toThrow(/^the world's answer to probe cannot be used/)
    await world.close()
    const flooding = await start()
    await act('count flood')
    await expect(flooding.probe()).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe.skipIf(boxMissing)('a measure that is none', () => {
  it.each([
    ['no JSON', 'not-a-number', /did not answer probe within 10 s; it said: not an answer: \{"id":\d+,"value":NaN/],
    ['a number that none is', 'endless', /^the world's answer to probe cannot be used/],
    ['silence', 'silent', /^the world did not answer probe within 10 s$/],
  ])('is not taken for progress: %s', async (_name, mood, why) => {
    await lay(2)
    const world = await startWorld(provider, pack, folders, 'T-1', 1)
    expect(await world.probe()).toMatchObject({ value: 0, done: false })
    await act(`count ${mood}`)
    await expect(world.probe()).rejects.toMatchObject({ code: 'unavailable', message: expect.stringMatching(why) })
    await world.close()
  })
})

describe.skipIf(boxMissing)('the meter', () => {
  let open: TestHistory
  beforeEach(async () => {
    open = await openTestHistory()
  })
  afterEach(() => open.close())

  it('starts a dead world again, once for all who ask, and goes on from its journal', async () => {
    await lay(2)
    let starts = 0
    const counting: SandboxProvider = {
      ...provider,
      start: (spec) => {
        starts += 1
        return provider.start(spec)
      },
    }
    const created = { seed: 1, limits: { maxSteps: null, maxMs: null } } as EventData<'task.created'>
    const parts = { history: open.history, provider: counting, clock: systemClock, boxesDir }
    const meter = new Meter(parts, { task: 'T-1', agent: 'a', created })
    await meter.open(pack, { lastStep: null, lastTurn: 0, workedMs: 0, progress: null, accepted: null })
    await act('count add')
    await act('count die')
    const all = await Promise.all([meter.measure(), meter.complete(''), meter.measure(), meter.complete('')])
    expect(all[1]).toEqual({ accepted: false, message: 'not complete: measured 1 of 2 beans' })
    expect([starts, meter.progress?.value]).toEqual([2, 1])
    await act('count add')
    expect(await meter.complete('')).toEqual({ accepted: true, message: 'complete: measured 2 of 2 beans' })
    await meter.close()
    await expect(meter.nextStep()).resolves.toBe(1)
    expect(await meter.save()).toBeNull()
  })

  it('records a measure that goes back as it is, and completes nothing before the goal is measured', async () => {
    await lay(1)
    const created = { seed: 1, limits: { maxSteps: null, maxMs: null } } as EventData<'task.created'>
    const parts = { history: open.history, provider, clock: systemClock, boxesDir }
    const meter = new Meter(parts, { task: 'T-1', agent: 'a', created })
    await meter.open(pack, { lastStep: null, lastTurn: 0, workedMs: 0, progress: null, accepted: null })
    expect(await meter.complete('all done')).toEqual({
      accepted: false,
      message: 'not complete: measured 0 of 1 beans',
    })
    await act('count add')
    await meter.measure()
    await act('count backwards')
    await meter.measure()
    const { events } = await open.history.read({ agent: 'a' }, { kinds: ['task.progressed'] })
    expect(events.map(({ data }) => (data as { value: number }).value)).toEqual([0, 1, 0])
    await meter.close()
  })
})

describe.skipIf(boxMissing)('the grader', () => {
  const run = (signal?: AbortSignal) =>
    grade(provider, pack, folders, { label: 'T-1', mounts: { root: folders.root } }, '{}', signal)

  it.each([
    ['echo 0.5 > /logs/verifier/reward.txt', { reward: 0.5, error: null }],
    ['echo \'{"reward": 1, "seconds": 12}\' > /logs/verifier/reward.json', { reward: 1, error: null }],
    ['echo \'{"a": 1, "b": 0, "c": "x"}\' > /logs/verifier/reward.json', { reward: 0.5, error: null }],
    ['echo well > /logs/verifier/reward.txt', { reward: null, error: 'reward.txt is not a number: well\n' }],
    ['echo null > /logs/verifier/reward.json', { reward: null, error: 'reward.json holds no number' }],
    ['ln -s /etc/hostname /logs/verifier/reward.txt', { reward: null, error: /neither reward.txt nor/ }],
    ['mkfifo /logs/verifier/reward.txt', { reward: null, error: /neither reward.txt nor/ }],
  ])('that does %j gives what follows from it', async (script, expected) => {
    await lay(undefined, script)
    const graded = await run()
    expect(graded?.reward).toBe(expected.reward)
    if (expected.error === null) expect(graded?.error).toBeNull()
    else expect(graded?.error).toMatch(expected.error)
  })

  it('sees the final state and the world’s measure, can write in it, and leaves no copy behind', async () => {
    await lay(
      undefined,
      'cat /task/mine /tests/world.json && touch /task/new /home/agent/new && echo 1 > /logs/verifier/reward.txt',
    )
    await act('umask 077; echo done > /task/mine')
    expect(await run()).toMatchObject({ reward: 1, details: { exitCode: 0, output: 'done\n{}' } })
    expect(await act('ls /task')).toBe('mine\n')
    const { existsSync } = await import('node:fs')
    expect(existsSync(folders.grading)).toBe(false)
  })

  it('is cut short by a signal', async () => {
    await lay(undefined, 'sleep 60')
    const stop = new AbortController()
    const graded = run(stop.signal)
    stop.abort()
    await expect(graded).rejects.toMatchObject({ code: 'cancelled' })
  })
})
