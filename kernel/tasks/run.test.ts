// The loop of one task against whatever may come between: pauses, stops, quits, crashes and restarts.
import { afterEach, describe, expect, it, vi } from 'vitest'
import { KernelError } from '../errors.ts'
import { modelCalled } from '../testing/guardian.ts'
import { openRunBench, type RunBench, revision, untilAsked, yielded } from '../testing/run.ts'

let bench: RunBench
const rejections: unknown[] = []
process.on('unhandledRejection', (reason) => rejections.push(reason))
afterEach(async () => {
  vi.useRealTimers()
  await bench.close()
  expect(rejections).toEqual([])
})

const stateOf = async (task = 'T-1') => (await bench.tasks.get(task)).state
const untilState = (state: string) => expect.poll(() => stateOf(), { interval: 5 }).toBe(state)

async function working(): Promise<string> {
  bench = await openRunBench(untilAsked)
  const task = await bench.run()
  await bench.until('note.added')
  return task
}

/** Fast-forwards every wait until it is done. */
async function hurried<T>(work: Promise<T>): Promise<T> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  while (!isDone) {
    await vi.advanceTimersByTimeAsync(1000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return done
}

describe('a pause', () => {
  it('waits for the safe point, keeps no executor, and a resume goes on with a new one', async () => {
    await working()
    await bench.tasks.pause('T-1', 'operator', 'for lunch')
    await untilState('paused')
    expect(await bench.tasks.get('T-1')).toMatchObject({ reason: 'for lunch' })
    expect(bench.generations.map(({ drains, stopped }) => [drains, stopped])).toEqual([[['pause'], 'at rest']])
    await bench.tasks.resume('T-1')
    await bench.until('note.added', 2)
    expect(await stateOf()).toBe('running')
    expect(bench.generations).toHaveLength(2)
    const said = await bench.events(['task.paused', 'task.resumed'])
    expect(said.map(({ kind, actor }) => [kind, actor])).toEqual([
      ['task.paused', 'operator'],
      ['task.resumed', 'operator'],
    ])
  })

  it('is taken while the executor still starts, and no turn is begun', async () => {
    bench = await openRunBench(untilAsked)
    let open = () => {}
    bench.startGate = new Promise((resolve) => {
      open = resolve
    })
    await bench.run()
    await expect.poll(() => bench.target, { interval: 5 }).not.toBeNull()
    await bench.tasks.pause('T-1', 'operator', 'at once')
    open()
    await untilState('paused')
    expect(await bench.events(['turn.started'])).toEqual([])
    expect(bench.generations[0]?.stopped).toBe('at rest')
  })

  it.each(['pause first', 'stop first'])(
    'never undoes a stop that is asked for at the same time (%s)',
    async (order) => {
      await working()
      const pause = () => bench.tasks.pause('T-1', 'operator', 'a moment').catch(() => 'refused')
      const stop = () => bench.tasks.stop('T-1')
      await Promise.all(order === 'pause first' ? [pause(), stop()] : [stop(), pause()])
      expect(await bench.tasks.ended('T-1')).toMatchObject({ state: 'finished', outcome: 'stopped' })
    },
  )

  it('never holds up a quit that is asked for at the same time', async () => {
    await working()
    await Promise.all([bench.tasks.pause('T-1', 'operator', 'a moment'), bench.tasks.close()])
    expect(await bench.events(['task.finished'])).toEqual([])
  })

  it('is not undone by a resume that comes with a stop', async () => {
    await working()
    await bench.tasks.pause('T-1', 'operator', 'a moment')
    await untilState('paused')
    await Promise.all([bench.tasks.resume('T-1'), bench.tasks.stop('T-1')])
    expect(await bench.tasks.ended('T-1')).toMatchObject({ outcome: 'stopped' })
  })

  it('lasts over a restart, and the resume after it goes on', async () => {
    await working()
    await bench.tasks.pause('T-1', 'operator', 'overnight')
    await untilState('paused')
    expect(await bench.restart()).toMatchObject({ tasks: ['T-1'], resting: ['T-1'], turnsInterrupted: 0 })
    await untilState('paused')
    expect(await bench.tasks.get('T-1')).toMatchObject({ reason: 'overnight' })
    await bench.tasks.resume('T-1')
    await bench.until('note.added', 2)
    const steps = await bench.events(['note.added'])
    expect(steps.map(({ turn, step }) => [turn, step])).toEqual([
      [1, 1],
      [2, 2],
    ])
  })
})

describe('a stop', () => {
  it('is the operator’s, and frees the agent', async () => {
    const task = await working()
    await bench.tasks.stop(task)
    expect(await bench.tasks.ended(task)).toMatchObject({ outcome: 'stopped', reason: 'stopped by the operator' })
    expect((await bench.events(['task.finished']))[0]?.actor).toBe('operator')
    await expect(bench.tasks.stop(task)).rejects.toMatchObject({ code: 'conflict' })
    expect(await bench.run()).toBe('T-2')
  })

  it.each(['paused', 'waiting'])('ends a task that is %s', async (state) => {
    bench = await openRunBench(async (turn) => {
      await turn.step()
      if (state === 'waiting') await turn.task.ask('which way?')
      else await turn.asked
      return yielded()
    })
    await bench.run()
    await bench.until('note.added')
    if (state === 'paused') await bench.tasks.pause('T-1', 'operator', 'a moment')
    await untilState(state)
    await bench.tasks.stop('T-1')
    expect(await bench.tasks.ended('T-1')).toMatchObject({ outcome: 'stopped' })
  })

  it('ends an executor that never comes to a safe point by force', async () => {
    bench = await openRunBench(async (turn) => {
      turn.generation.isDeaf = true
      await turn.step()
      return new Promise(() => {})
    })
    await bench.run()
    await bench.until('note.added')
    await bench.tasks.stop('T-1')
    expect(await bench.tasks.ended('T-1')).toMatchObject({ outcome: 'stopped' })
    expect(bench.generations[0]?.stopped).toBe('no safe point was reached: stop')
  })
})

describe('a question', () => {
  it.each(['answer', 'steer'] as const)(
    'waits with no executor until the operator says something (%s)',
    async (how) => {
      bench = await openRunBench(async (turn, nth) => {
        await turn.step()
        if (nth === 1) await turn.task.ask('which way?')
        else await turn.asked
        return yielded()
      })
      await bench.run()
      await untilState('waiting')
      expect(bench.generations[0]?.stopped).toBe('at rest')
      const [asked] = await bench.events(['task.asked'])
      expect([asked?.actor, asked?.turn, asked?.step, asked?.data]).toEqual([
        'executor',
        1,
        1,
        { question: 'which way?' },
      ])
      await bench.restart()
      await untilState('waiting')
      await bench.tasks[how]('T-1', 'left')
      await bench.until('note.added', 2)
      await bench.tasks.pause('T-1', 'operator', 'a moment')
      await untilState('paused')
      // It stays answered.
      await bench.restart()
      await untilState('paused')
      await bench.tasks.resume('T-1')
      await bench.until('note.added', 3)
    },
  )
})

describe('a task', () => {
  it('has failed after three turns in a row that failed or brought no step', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    bench = await openRunBench(async (_turn, nth) =>
      nth === 2 ? { outcome: 'failed', reason: 'a fault', steps: 0 } : yielded(0),
    )
    const task = await bench.run()
    expect(await hurried(bench.tasks.ended(task))).toMatchObject({
      outcome: 'failed',
      reason: '3 turns in a row failed; the last said: it ended without a step',
    })
    expect(await bench.events(['turn.started'])).toHaveLength(3)
  })

  it('goes on with a new executor after a crash, and fails where the guardian gives up', async () => {
    bench = await openRunBench(async (turn, nth) => {
      await turn.step()
      if (nth > 2) await turn.asked
      turn.generation.crash()
      return new Promise(() => {})
    })
    const task = await bench.run()
    await bench.until('note.added', 3)
    expect(bench.generations).toHaveLength(3)
    bench.decision = { action: 'give-up', reason: 'it crashes' }
    bench.generations[2]?.crash()
    expect(await bench.tasks.ended(task)).toMatchObject({ outcome: 'failed', reason: 'it crashes' })
  })

  it('is out of budget at its last step, before anything is sent', async () => {
    bench = await openRunBench(async (turn) => {
      await turn.step()
      await turn.step()
      const refused = await turn.step().catch((error: unknown) => error as KernelError)
      return { outcome: 'budget', reason: (refused as KernelError).message, steps: 2 }
    })
    const task = await bench.run({ maxSteps: 2 })
    expect(await bench.tasks.ended(task)).toMatchObject({
      outcome: 'budget',
      reason: 'the limit of 2 steps is reached',
    })
    expect(await bench.events(['note.added'])).toHaveLength(2)
  })

  it('goes on after a restart with what it has spent, in tokens and dollars', async () => {
    bench = await openRunBench(async (turn, nth) => {
      const made = modelCalled('T-1', revision)
      const usage = { uncached: 10, cacheRead: 4, cacheWrite: 1, output: 5, reasoning: 0 }
      const data = { ...made.data, usage, costNanoUsd: 70 }
      if (nth === 1) await bench.open.history.append([{ ...made, agent: 'a', data }])
      return untilAsked(turn, nth)
    })
    await bench.run({ budgetNanoUsd: 1000, budgetTokens: 500 })
    await bench.until('note.added')
    await bench.restart({ kill: true })
    await bench.until('note.added', 2)
    const limits = { limitNanoUsd: 1000, limitTokens: 500 }
    expect(bench.budgets).toEqual([
      { ...limits, spentNanoUsd: 0, spentTokens: 0 },
      { ...limits, spentNanoUsd: 70, spentTokens: 20 },
    ])
  })

  it('counts the time of its turns, and neither pauses nor the time between hosts', async () => {
    bench = await openRunBench(untilAsked)
    const { writePack } = await import('../testing/kernel.ts')
    const pack = writePack(`${bench.open.dataDir}/timed`, { script: [], toml: '[agent]\ntimeout_sec = 100' })
    await bench.run({ pack })
    await bench.until('note.added')
    const pass = (ms: number) => {
      bench.time.monotonic += ms
      bench.time.now += ms
    }
    pass(60_000)
    await bench.tasks.pause('T-1', 'operator', 'overnight')
    await untilState('paused')
    pass(1_000_000)
    await bench.restart()
    pass(1_000_000)
    await untilState('paused')
    await bench.tasks.resume('T-1')
    await bench.until('note.added', 2)
    pass(39_000)
    await bench.tasks.pause('T-1', 'operator', 'once more')
    await untilState('paused')
    await bench.tasks.resume('T-1')
    await bench.until('note.added', 3)
    pass(1_000)
    await bench.tasks.pause('T-1', 'operator', 'and again')
    await untilState('paused')
    await bench.tasks.resume('T-1')
    expect(await bench.tasks.ended('T-1')).toMatchObject({
      outcome: 'budget',
      reason: 'the limit of 100 s of work is reached',
    })
  })

  it('counts a turn that a kill cut only up to its last work', async () => {
    bench = await openRunBench(untilAsked)
    const { writePack } = await import('../testing/kernel.ts')
    const pack = writePack(`${bench.open.dataDir}/timed`, { script: [], toml: '[agent]\ntimeout_sec = 100' })
    await bench.run({ pack })
    await bench.until('note.added')
    bench.time.now += 1_000_000
    expect(await bench.restart({ kill: true })).toMatchObject({ turnsInterrupted: 1 })
    await bench.until('note.added', 2)
    expect(await stateOf()).toBe('running')
  })
})

describe('what a task lacks', () => {
  const noBox = {
    name: 'local',
    available: false,
    detail: 'no box',
    reason: 'no bubblewrap',
    fix: 'install it',
  } as const

  it('leaves it where it was: it is neither failed nor forgotten, and a resume tries again', async () => {
    bench = await openRunBench(untilAsked)
    bench.modelError = new KernelError('unavailable', 'the simulator cannot be used: it ended')
    await bench.run()
    await bench.tasks.ended('T-1')
    expect(await bench.tasks.get('T-1')).toMatchObject({ state: 'interrupted', reason: bench.modelError.message })
    await bench.tasks.resume('T-1')
    await bench.tasks.ended('T-1')
    expect(await stateOf()).toBe('interrupted')
    bench.modelError = null
    await bench.tasks.resume('T-1')
    await bench.until('note.added')
    expect(await stateOf()).toBe('running')
    expect(await bench.events(['task.started', 'task.finished'])).toHaveLength(1)
  })

  it('may be stopped all the same, which frees the agent', async () => {
    bench = await openRunBench(untilAsked)
    bench.startError = new KernelError('unavailable', 'no box can be had')
    await bench.run()
    await bench.tasks.ended('T-1')
    expect(await bench.tasks.get('T-1')).toMatchObject({ state: 'interrupted', reason: 'no box can be had' })
    await bench.tasks.stop('T-1')
    expect(await bench.tasks.get('T-1')).toMatchObject({ state: 'finished', outcome: 'stopped' })
    bench.startError = null
    expect(await bench.run()).toBe('T-2')
  })

  it('at a restart lets it wait for the next, and says what mends it', async () => {
    await working()
    bench.report = noBox
    await bench.restart()
    await bench.tasks.ended('T-1')
    expect(await bench.tasks.get('T-1')).toMatchObject({
      state: 'interrupted',
      reason: 'no local sandbox can be had: no bubblewrap. To mend it: install it',
    })
    bench.report = { name: 'local', available: true, detail: 'a test' }
    await bench.restart()
    await bench.until('note.added', 2)
  })

  it('is an executor that does not come up: the guardian decides, with the right word for it', async () => {
    bench = await openRunBench(untilAsked)
    bench.startError = new KernelError('unavailable', 'it did not start', {
      details: { stage: 'handshake', exitCode: null, timedOut: false },
    })
    bench.decision = { action: 'give-up', reason: 'again and again' }
    await bench.run()
    expect(await bench.tasks.ended('T-1')).toMatchObject({ outcome: 'failed', reason: 'again and again' })
  })
})
