// What the kernel itself pauses a task for: an endpoint that is down, a key, a world that died, safe mode. Nothing of it ends the task.
import { afterEach, describe, expect, it, vi } from 'vitest'
import { KernelError } from '../errors.ts'
import { type Behaviour, openRunBench, type RunBench, untilAsked, yielded } from '../testing/run.ts'
import { draft } from '../wire/events.ts'

let bench: RunBench
afterEach(async () => {
  vi.useRealTimers()
  await bench.close()
})

const stateOf = async () => (await bench.tasks.get('T-1')).state
const untilState = (state: string) => expect.poll(() => stateOf(), { interval: 5 }).toBe(state)
const noticeIds = () => bench.notices.list().map(({ id }) => id)

/** A turn whose model call fails with this status; null: no answer at all. */
function failing(
  httpStatus: number | null,
  until = Number.POSITIVE_INFINITY,
  status: 'failed' | 'incomplete' = 'failed',
): Behaviour {
  return async (turn, nth) => {
    await turn.step()
    if (nth >= until) {
      await turn.asked
      return yielded()
    }
    const header = { actor: 'kernel', agent: 'a', task: 'T-1', run: 'task', turn: turn.params.turn } as const
    const attempt = { attempt: 1, model: 'm', status, httpStatus, error: 'no answer', durationMs: 1 } as const
    const spent = { usage: null, usageSource: 'none', costNanoUsd: null } as const
    await bench.open.history.append([draft('model.attempted', { ...attempt, ...spent }, header)])
    return { outcome: 'failed', reason: 'unavailable', steps: 1 }
  }
}

/** Runs the waits of a task one by one until it is in this state. */
async function fastForward(until: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await until())) {
    await vi.advanceTimersByTimeAsync(1000)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function paused() {
  return (await bench.events(['task.paused'])).map(({ actor, data }) => ({ actor, ...data }))
}

describe('an endpoint that does not answer', () => {
  it('pauses the task and not its end, however long it lasts; it resumes by itself', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    bench = await openRunBench(failing(503, 4))
    bench.endpointProblem = 'ECONNREFUSED'
    await bench.run()
    await fastForward(async () => (await stateOf()) === 'paused')
    expect(await paused()).toMatchObject([{ actor: 'kernel', cause: 'endpoint', reason: expect.stringContaining('m') }])
    expect(noticeIds()).toEqual(['task.held.T-1'])
    expect(bench.generations.at(-1)?.stopped).toBe('at rest')
    // Six hours.
    for (let minutes = 0; minutes < 360; minutes += 5) await vi.advanceTimersByTimeAsync(300_000)
    expect(await stateOf()).toBe('paused')
    expect(await bench.events(['turn.started'])).toHaveLength(3)
    bench.endpointProblem = null
    await fastForward(async () => (await stateOf()) === 'running')
    expect((await bench.events(['task.resumed'])).map(({ actor, data }) => [actor, data])).toEqual([
      ['kernel', { by: 'kernel' }],
    ])
    expect(noticeIds()).toEqual([])
    expect(await bench.events(['task.finished'])).toEqual([])
  })

  it('pauses the task too where its answers break off', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    bench = await openRunBench(failing(200, Number.POSITIVE_INFINITY, 'incomplete'))
    await bench.run()
    await fastForward(async () => (await stateOf()) === 'paused')
    expect(await paused()).toMatchObject([{ cause: 'endpoint', reason: expect.stringContaining('no answer') }])
  })

  it('is asked at longer and longer intervals, up to five minutes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    bench = await openRunBench(failing(null))
    let asked = 0
    bench.endpointProblem = 'ECONNREFUSED'
    Object.defineProperty(bench, 'endpointProblem', {
      get: () => {
        asked += 1
        return 'ECONNREFUSED'
      },
    })
    await bench.run()
    await fastForward(async () => (await stateOf()) === 'paused')
    await vi.advanceTimersByTimeAsync(5_000 + 10_000 + 20_000 + 40_000 + 80_000 + 160_000)
    expect(asked).toBe(6)
    await vi.advanceTimersByTimeAsync(600_000)
    expect(asked).toBe(8)
  })

  it('leaves pause, resume and stop to the operator at once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    bench = await openRunBench(failing(503))
    bench.endpointProblem = 'ECONNREFUSED'
    await bench.run()
    await fastForward(async () => (await stateOf()) === 'paused')
    // Now it is the operator's, and nothing resumes it.
    await bench.tasks.pause('T-1', 'operator', 'for tonight')
    bench.endpointProblem = null
    await vi.advanceTimersByTimeAsync(600_000)
    expect(await bench.tasks.get('T-1')).toMatchObject({ state: 'paused', reason: 'for tonight' })
    expect(noticeIds()).toEqual([])
    bench.endpointProblem = 'ECONNREFUSED'
    await bench.tasks.resume('T-1')
    await fastForward(async () => (await paused()).length === 3)
    await bench.tasks.stop('T-1')
    expect(await bench.tasks.ended('T-1')).toMatchObject({ outcome: 'stopped' })
    expect(noticeIds()).toEqual([])
  })

  it('is waited for over a restart too', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    bench = await openRunBench(failing(null, 4))
    bench.endpointProblem = 'ECONNREFUSED'
    await bench.run()
    await fastForward(async () => (await stateOf()) === 'paused')
    await bench.restart()
    await fastForward(async () => (await stateOf()) === 'paused')
    expect(noticeIds()).toEqual(['task.held.T-1'])
    bench.endpointProblem = null
    await fastForward(async () => (await stateOf()) === 'running')
    expect((await bench.events(['task.resumed'])).map(({ actor }) => actor)).toEqual(['kernel'])
  })

  it('is a matter for the operator where it refuses the key or the model', async () => {
    bench = await openRunBench(failing(401, 2))
    await bench.run()
    await untilState('paused')
    expect(await paused()).toMatchObject([{ cause: 'model', reason: expect.stringContaining('HTTP 401') }])
    expect(await bench.events(['turn.started'])).toHaveLength(1)
    expect(bench.notices.list()).toMatchObject([{ severity: 'error', fix: expect.stringContaining('resume T-1') }])
    await bench.tasks.resume('T-1')
    await untilState('running')
    expect(noticeIds()).toEqual([])
  })

  it.each([
    ['unlocked', false],
    ['still locked at the resume', true],
  ])('stays so over a restart with its reason, also where the key is locked by then: %s', async (_, isLocked) => {
    bench = await openRunBench(failing(401, 2))
    await bench.run()
    await untilState('paused')
    const { reason } = await bench.tasks.get('T-1')
    const locked = new KernelError('unavailable', 'the keys are locked')
    bench.modelError = locked
    await bench.restart()
    await untilState('paused')
    await expect.poll(noticeIds, { interval: 5 }).toEqual(['task.held.T-1'])
    expect(await bench.tasks.get('T-1')).toMatchObject({ state: 'paused', reason })
    expect(reason).toContain('HTTP 401')
    expect(await bench.events(['task.resumed'])).toEqual([])
    if (!isLocked) bench.modelError = null
    await bench.tasks.resume('T-1')
    await untilState(isLocked ? 'interrupted' : 'running')
    expect(noticeIds()).toEqual([])
    if (!isLocked) return
    // Now the lock is what it waits for.
    expect(await bench.tasks.get('T-1')).toMatchObject({ reason: 'the keys are locked' })
    bench.modelError = null
    await bench.tasks.resume('T-1')
    await untilState('running')
  })

  it('stays paused by the operator over a restart that lacks its key, and a quit or a stop ends the wait', async () => {
    bench = await openRunBench(untilAsked)
    await bench.run()
    await bench.until('turn.started')
    await bench.tasks.pause('T-1', 'operator', 'for tonight')
    await untilState('paused')
    bench.modelError = new KernelError('unavailable', 'the keys are locked')
    for (let starts = 0; starts < 2; starts += 1) {
      await bench.restart()
      await untilState('paused')
      expect(await bench.tasks.get('T-1')).toMatchObject({ state: 'paused', reason: 'for tonight' })
    }
    expect(bench.generations).toHaveLength(1)
    await bench.tasks.stop('T-1')
    expect(await bench.tasks.ended('T-1')).toMatchObject({ outcome: 'stopped' })
  })

  it('leaves the last word to the operator: a pause that overtakes a resume stands', async () => {
    bench = await openRunBench(failing(401, 2))
    await bench.run()
    await untilState('paused')
    const resumed = bench.tasks.resume('T-1')
    await bench.tasks.pause('T-1', 'operator', 'for tonight')
    await resumed
    expect((await bench.events(['task.paused', 'task.resumed'])).map(({ kind }) => kind)).toEqual([
      'task.paused',
      'task.resumed',
      'task.paused',
    ])
    expect(await bench.tasks.get('T-1')).toMatchObject({ state: 'paused', reason: 'for tonight' })
    await bench.tasks.resume('T-1')
    await bench.until('turn.started', 2)
  })

  it('is such a matter too where a call could not be sent at all', async () => {
    bench = await openRunBench(async (turn, nth) => {
      if (nth > 1) return untilAsked(turn, nth)
      turn.task.refused('the variable MY_KEY holds no key')
      return { outcome: 'failed', reason: 'unavailable', steps: 0 }
    })
    await bench.run()
    await untilState('paused')
    expect(await paused()).toMatchObject([{ cause: 'model', reason: 'the variable MY_KEY holds no key' }])
    await bench.tasks.resume('T-1')
    await untilState('running')
  })
})

describe('a world that will not come back', () => {
  it('pauses the task with its last words, and a resume tries again', async () => {
    bench = await openRunBench(untilAsked)
    const { Meter } = await import('./meter.ts')
    const lost = new KernelError('unavailable', 'its world will not come back: the world ended (exit code 3): no ink', {
      details: { lacks: 'world' },
    })
    const measure = vi.spyOn(Meter.prototype, 'measure').mockRejectedValueOnce(lost).mockRejectedValueOnce(lost)
    await bench.run()
    await untilState('paused')
    expect(await paused()).toMatchObject([{ cause: 'world', reason: expect.stringContaining('no ink') }])
    await bench.tasks.resume('T-1')
    await expect.poll(async () => (await paused()).length, { interval: 5 }).toBe(2)
    await untilState('paused')
    // Also over a restart at which it does not come.
    const open = vi.spyOn(Meter.prototype, 'open').mockRejectedValueOnce(lost)
    await bench.restart()
    await untilState('paused')
    expect(open).toHaveBeenCalledTimes(1)
    expect(await bench.tasks.get('T-1')).toMatchObject({ reason: expect.stringContaining('no ink') })
    expect(noticeIds()).toEqual(['task.held.T-1'])
    await bench.tasks.resume('T-1')
    await bench.until('note.added')
    open.mockRestore()
    expect(await bench.events(['task.finished'])).toEqual([])
    measure.mockRestore()
  })
})

describe('safe mode', () => {
  it('[I4] keeps the task paused with no executor until the operator chooses; stop works', async () => {
    bench = await openRunBench(async (turn) => {
      await turn.step()
      turn.generation.crash()
      return new Promise(() => {})
    })
    bench.decision = { action: 'safe-mode', reason: 'r1 crashed 6 times' }
    await bench.run()
    await untilState('paused')
    expect(await paused()).toMatchObject([{ cause: 'safe-mode', reason: expect.stringContaining('leave-safe-mode') }])
    bench.safeMode = { activation: 1, reason: 'r1 crashed 6 times', at: 0 }
    await expect(bench.tasks.resume('T-1')).rejects.toThrow(/safe mode/)
    await bench.restart()
    await untilState('paused')
    expect(bench.generations).toHaveLength(1)
    await expect(bench.run({ agent: 'a' })).rejects.toMatchObject({ code: 'conflict' })

    bench.safeMode = null
    await bench.tasks.released('a')
    await expect.poll(() => bench.generations.length, { interval: 5 }).toBe(2)
    bench.decision = { action: 'give-up', reason: 'enough' }
    await bench.tasks.stop('T-1').catch(() => undefined)
    await bench.tasks.ended('T-1')
    expect(await stateOf()).toBe('finished')
  })
})
