// Kill -9 at every failpoint there is: after a restart everything acknowledged is there byte for byte, exactly one revision is
// active, no executor is left over, what was set aside is accounted for, and the task goes on to its end.
// EXODESK_FULL=1 kills at the first, second and third passage of each.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { agent as guarded, openTestGuardian, type TestGuardian } from './testing/guardian.ts'
import {
  boxMissing,
  complete,
  type Decision,
  openTestKernel,
  shell,
  startSimulator,
  type TestKernel,
  writePack,
} from './testing/kernel.ts'
import { limitedSteps } from './testing/limited-steps.ts'
import type { Event } from './wire/events.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const isFull = process.env.EXODESK_FULL === '1'
const root = join(import.meta.dirname, '..')
const simulator = startSimulator()
afterAll(() => simulator.stop())

/** What the kernel-victim does so that it passes there. */
const whole: Readonly<Record<string, 'run' | 'sandbox' | 'adopt' | 'rollback' | 'reject'>> = {
  'agent:before-created': 'run',
  'task:before-created': 'run',
  'task:created': 'run',
  'task:folders-made': 'run',
  'policy:laid': 'run',
  'task:before-started': 'run',
  'task:started': 'run',
  'executor:before-started': 'run',
  'executor:before-ended': 'run',
  'model:before-send': 'run',
  'model:reserved': 'run',
  'model:before-attempted': 'run',
  'model:attempted': 'run',
  'model:after-answer': 'run',
  'tool:before-exec': 'run',
  'finish:before-grade': 'run',
  'finish:graded': 'run',
  'finish:after-commit': 'run',
  'append:before-commit': 'run',
  'append:after-commit': 'run',
  'job:before-started': 'sandbox',
  'job:before-ended': 'sandbox',
  'snapshot:before-event': 'sandbox',
  'snapshot:before-forget': 'sandbox',
  'restore:before-sandbox': 'sandbox',
  'restore:before-event': 'sandbox',
  'restore:before-end': 'sandbox',
  'propose:stored': 'adopt',
  'propose:before-made': 'adopt',
  'propose:after-made': 'adopt',
  'check:before-checked': 'adopt',
  'check:before-readied': 'adopt',
  'review:before-rejected': 'reject',
  'review:before-approved': 'adopt',
  'activation:authorised': 'adopt',
  'activation:started': 'adopt',
  'activation:before-commit': 'adopt',
  'activation:after-commit': 'adopt',
  'hand-over:before-stop': 'adopt',
  'probation:before-confirmed': 'adopt',
  'rollback:before-authorised': 'rollback',
}

/** In a recovery: the host had been killed before, in the middle of a turn. */
const recovering = ['recovery:before-closed', 'recovery:after-closed']

/** What the guardian-victim does, with executors that are a stand-in. */
const guardian: Readonly<Record<string, 'escalate' | 'safe-mode' | 'reset' | 'regress' | 'keep'>> = {
  'escalation:before-commit': 'escalate',
  'escalation:after-commit': 'escalate',
  'escalation:safe-mode': 'safe-mode',
  'policy:before-reset': 'reset',
  'regression:before-regressed': 'regress',
  'regression:after-regressed': 'regress',
  'regression:before-authorised': 'regress',
  'regression:authorised': 'regress',
  'regression:before-kept': 'keep',
}

/** Appends pass these all the time: the first are those of the opening, the later those of the work. */
const passages: Readonly<Record<string, number[]>> = {
  'append:before-commit': isFull ? [1, 2, 5, 9, 14, 20, 27] : [9],
  'append:after-commit': isFull ? [1, 2, 5, 9, 14, 20, 27] : [14],
  // The first has nothing to take the place of.
  'snapshot:before-event': [2],
  'snapshot:before-forget': [2],
}
/** Only these are passed again in one run. */
const isPassedAgain = /^(model|tool):/
const passagesOf = (name: string): number[] => passages[name] ?? (isFull && isPassedAgain.test(name) ? [1, 2, 3] : [1])

/** A call that a kill interrupts is not tried again by this model: there are more than are needed. */
const script = [
  shell('count add'),
  shell('count add'),
  shell('until [ -e /task/go ]; do sleep 0.1; done'),
  shell('count add'),
  shell('count add'),
  complete(),
  complete(),
]

const state = (name: string) => shell(`echo ${name} >state; count add`)
const snapshot = (restore: boolean): Decision => ({
  toolCalls: [{ name: 'snapshot', arguments: { name: 's', restore } }],
})

/** Jobs and snapshots; what a command says last shows whether sandbox and world are of one moment. */
const sandboxScript = [
  { toolCalls: [{ name: 'shell', arguments: { command: 'echo out', background: true } }] },
  ...[state('one'), snapshot(false), state('two'), snapshot(false), state('three'), snapshot(true)],
  shell('echo "$(cat state) $(count look)" >seen'),
  ...[shell('count add'), shell('count add'), complete(), complete()],
]
/** What must be seen after a kill at each, which cuts the call that it comes in. */
const seenAfter: Readonly<Record<string, string>> = {
  'snapshot:before-event': 'one 1',
}

function killed(victim: 'kernel' | 'guardian', at: string, args: string[]): void {
  const main = join(root, `kernel/testing/${victim}-victim.ts`)
  const { signal, stdout, stderr, error } = spawnSync(process.execPath, [main, ...args], {
    env: { ...process.env, EXODESK_FAILPOINT: at },
    encoding: 'utf8',
    timeout: 120_000,
    killSignal: 'SIGTERM',
  })
  if (error !== undefined && signal === null) throw error
  // Not reached: then the scenario is wrong, and its output says how far it came.
  expect([signal, stdout, stderr.replaceAll(/^\(node:.*\n|^\(Use `node.*\n/gm, '')]).toEqual(['SIGKILL', '', ''])
}

function acknowledged(dataDir: string): Event[] {
  const file = join(dataDir, 'acknowledged.ndjson')
  // Killed before the first acknowledgement that is listened to.
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  // The kill may have come in the middle of the last line.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Event)
}

/** Every activation takes over from the one before it: nothing else says which is active. */
function activeOf(events: readonly Event[]): { revision: string; activation: number } | null {
  let active: { revision: string; activation: number } | null = null
  for (const event of events) {
    if (event.kind !== 'revision.activated') continue
    const { activation, previous, revision } = event.data
    expect([activation, previous]).toEqual([(active?.activation ?? 0) + 1, active?.revision ?? null])
    active = { revision, activation }
  }
  return active
}

/** Executors without an end, in order. */
function liveExecutors(events: readonly Event[]): (number | null)[] {
  const live = new Set<number | null>()
  for (const { kind, generation } of events) {
    if (kind === 'executor.started') live.add(generation)
    if (kind === 'executor.stopped' || kind === 'executor.crashed' || kind === 'executor.hung') live.delete(generation)
  }
  return [...live]
}

let test: TestKernel | null = null
let bench: TestGuardian | null = null
afterEach(async () => {
  await test?.close()
  await bench?.close()
  test = null
  bench = null
})

async function assertSound(kernel: TestKernel, before: readonly Event[]): Promise<void> {
  const events = await kernel.events()
  // [I1] What was acknowledged is where it was, byte for byte.
  expect(before.map(({ seq }) => JSON.stringify(events[seq - 1]))).toEqual(before.map((event) => JSON.stringify(event)))
  expect(await kernel.kernel.history.verify({ full: true })).toMatchObject({ ok: true, problem: null })
}

describe('the failpoints', () => {
  it('each have a scenario: one that is added without fails here', () => {
    const sources = globSync('{kernel,electron}/**/*.ts', { cwd: root }).filter((path) => !path.endsWith('.test.ts'))
    const names = new Set(
      sources.flatMap((path) =>
        [...readFileSync(join(root, path), 'utf8').matchAll(/\bfailpoint\('([^']+)'\)/g)].map(([, name]) => name ?? ''),
      ),
    )
    const elsewhere = globSync('kernel/**/*.test.ts', { cwd: root })
      .filter((path) => path !== 'kernel/matrix.crash.test.ts')
      .map((path) => [path, readFileSync(join(root, path), 'utf8')] as const)
      .flatMap(([path, text]) => (path.endsWith('.crash.test.ts') || text.includes('[crash]') ? [text] : []))
    const here = new Set([...Object.keys(whole), ...recovering, ...Object.keys(guardian)])
    const isCovered = (name: string) => here.has(name) || elsewhere.some((text) => text.includes(`'${name}`))
    expect([...names].filter((name) => !isCovered(name))).toEqual([])
    expect([...here].filter((name) => !names.has(name))).toEqual([])
    expect(names.size).toBeGreaterThan(40)
  })
})

const cases = Object.entries(whole).flatMap(([name, mode]) =>
  passagesOf(name).map((nth) => ({ at: nth === 1 ? name : `${name}:${nth}`, mode })),
)

const all = [...cases, ...recovering.map((at) => ({ at, mode: 'run' as const }))]
/** Of those that a whole task is run for, every sixth; `npm run test:crash` plays them all. */
const played = isFull ? all : all.filter(({ at }, index) => index % 6 === 0 || at.startsWith('activation:before'))
if (played.length < all.length)
  process.stdout.write(`${all.length - played.length} of ${all.length} kills are left to npm run test:crash\n`)

describe.skipIf(boxMissing)('a host killed', () => {
  it.each(played)(
    '[F1] [F2] [F5] [F22] [F23] [C26] at $at ($mode) loses nothing, and goes on',
    async ({ at, mode }) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'exodesk-matrix-'))
      const isSandbox = mode === 'sandbox'
      writePack(join(dataDir, 'packs/beans'), { goal: 3, script: isSandbox ? sandboxScript : script })
      if (recovering.includes(at)) killed('kernel', 'model:after-answer:2', [dataDir, 'beans', 'run'])
      killed('kernel', at, [dataDir, 'beans', isSandbox ? 'run' : mode])
      const before = acknowledged(dataDir)

      test = await openTestKernel(simulator, { dataDir, probationSteps: 1 })
      const desk = createRouterClient(test.kernel.operator, { context: { via: 'socket' } })
      await assertSound(test, before)
      const wasCreated = before.some(({ kind }) => kind === 'task.created')
      const { task } = wasCreated
        ? { task: 'T-1' }
        : await desk.tasks.run({ pack: 'beans', model: 'sim-script', agent: 'a' })
      await test.until((event) => event.kind === 'task.started')
      writeFileSync(join(dataDir, 'boxes/tasks', task, 'root/task/go'), '')
      expect(await test.kernel.tasks.ended(task)).toMatchObject({ outcome: 'completed' })

      const events = await test.events()
      expect(liveExecutors(events)).toEqual([])
      expect(await test.kernel.history.verify({ full: true })).toMatchObject({ ok: true })
      // One task, one end, each open thing closed once.
      const count = (kind: string) => events.filter((event) => event.kind === kind).length
      expect([count('task.started'), count('task.finished')]).toEqual([1, 1])
      expect(count('turn.ended')).toBe(count('turn.started'))
      expect(count('tool.finished')).toBe(count('tool.called'))
      expect(count('job.ended')).toBe(count('job.started'))
      if (isSandbox) {
        const [name = ''] = at.split(/:\d+$/)
        const seen = readFileSync(join(dataDir, 'boxes/tasks', task, 'root/task/seen'), 'utf8')
        expect(seen).toBe(`${seenAfter[name] ?? 'two 2'} of 3\n`)
        // One state of the name is kept, whichever; a restore that was begun has come to its end, once.
        expect(count('sandbox.restored')).toBe(1)
        expect(existsSync(join(dataDir, 'boxes/tasks', task, 'restoring.json'))).toBe(false)
      }
      expect(count('model.attempted')).toBe(count('model.reserved'))
      const steps = await test.kernel.history.steps(task)
      expect(steps.map(({ step }) => step)).toEqual(steps.map((_, index) => index + 1))
      // Never approved by default: what was decided is done, what was not waits.
      const active = activeOf(events)
      const verdicts = events.filter((event) => event.kind === 'proposal.reviewed')
      const [proposal] = await desk.proposals.list({})
      if (verdicts.length === 0) {
        expect(active?.activation).toBe(1)
        if (proposal !== undefined) expect(['checking', 'ready']).toContain(proposal.state)
      }
      const approved = verdicts.filter(({ data }) => data.verdict === 'approved').length
      const rolledBack = count('revision.rolled-back')
      await expect
        .poll(async () => activeOf((await test?.events()) ?? [])?.activation, { timeout: 30_000 })
        .toBe(1 + approved + rolledBack)
      const [row] = await desk.agents.list()
      expect(row).toMatchObject(activeOf(await test.events()) ?? {})
    },
    300_000,
  )
})

describe('a guardian killed', () => {
  it.each(Object.entries(guardian).map(([at, mode]) => ({ at, mode })))(
    '[F2] [C26] at $at ($mode) has one active revision, and decides again',
    async ({ at, mode }) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'exodesk-matrix-'))
      const main = join(root, 'kernel/testing/guardian-victim.ts')
      const victim = spawnSync(process.execPath, [main, dataDir, mode], {
        env: { ...process.env, EXODESK_FAILPOINT: at },
        encoding: 'utf8',
        timeout: 100_000,
      })
      expect([victim.signal, victim.stderr]).toEqual(['SIGKILL', ''])

      bench = await openTestGuardian({ dataDir, createAgent: false })
      const events = await bench.events()
      expect(await bench.guardian.active(guarded)).toEqual(activeOf(events))
      expect(await bench.history.verify()).toMatchObject({ ok: true })
      const active = await bench.guardian.active(guarded)
      const crash = () =>
        bench?.guardian.generationFailed(guarded, {
          ...{ task: 'T-1', kind: 'crash' as const, detail: 'exit code 1' },
          ...(active ?? { activation: 0, revision: '' }),
        })
      if (at === 'escalation:before-commit') {
        expect(active?.activation).toBe(2)
        expect(await crash()).toMatchObject({ action: 'replaced' })
      }
      if (at === 'escalation:after-commit') expect(active?.activation).toBe(3)
      if (mode === 'safe-mode') {
        expect(bench.guardian.safeMode(guarded)).toBeNull()
        for (let n = 0; n < 5; n += 1) expect(await crash()).toMatchObject({ action: 'restart' })
        expect(await crash()).toMatchObject({ action: 'safe-mode' })
      }
      if (mode === 'regress') {
        // Recorded once, and the return that was cut off is taken up: by the start itself, or by the next step.
        expect(active?.activation).toBe(2)
        await bench.guardian.recover()
        await bench.guardian.settled()
        expect((await bench.guardian.active(guarded))?.activation).toBe(at === 'regression:before-regressed' ? 2 : 3)
        await limitedSteps(bench, 1, { costNanoUsd: 9_000_000 })
        const later = await bench.events(['revision.regressed', 'revision.rolled-back'])
        expect(later.map(({ kind }) => kind)).toEqual(['revision.regressed', 'revision.rolled-back'])
        expect(await bench.guardian.active(guarded)).toEqual({ activation: 3, revision: events[1]?.revision })
      }
      if (mode === 'keep') {
        expect(active?.activation).toBe(2)
        await bench.guardian.keep(guarded, 2, 'worth it')
        expect((await bench.guardian.active(guarded))?.activation).toBe(2)
      }
      if (mode === 'escalate') {
        const now = await bench.guardian.active(guarded)
        expect([now?.activation, now?.revision]).toEqual([3, activeOf(events.slice(0, 8))?.revision])
      }
    },
    120_000,
  )
})
