import { readdirSync, readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { asks, openTestExecutors, type TestExecutors } from '../testing/executors.ts'
import { draft } from '../wire/events.ts'

let test: TestExecutors
afterEach(() => test.close())

const turn = { turn: 1, maxSteps: 5, maxMs: 60_000 }
const pings = { pingEveryMs: 100, pingMisses: 5 }

describe('the watchdogs', () => {
  it('[F15] [C20] end a process whose event loop does not turn', async () => {
    test = await openTestExecutors({ timings: pings })
    const generation = await test.start('busy')
    expect(await generation.runTurn(turn)).toMatchObject({ outcome: 'interrupted' })
    expect(await generation.ended).toMatchObject({ kind: 'hung', watchdog: 'ping' })
    expect((await test.kinds()).slice(-2)).toEqual(['executor.hung', 'turn.ended'])
  })

  it('[F15] [C20] end a stopped process', async () => {
    test = await openTestExecutors({ timings: pings })
    const generation = await test.start('idle', { agent: 'stopped' })
    stopPolicy('executor-stopped-g1')
    expect(await generation.ended).toMatchObject({ kind: 'hung', watchdog: 'ping' })
  })

  it('[C20] end a turn in which nothing happens although pings are answered', async () => {
    test = await openTestExecutors({ timings: { ...pings, progressMs: 1000 } })
    const generation = await test.start('idle')
    expect(await generation.runTurn(turn)).toMatchObject({ outcome: 'interrupted' })
    expect(await generation.ended).toMatchObject({ kind: 'hung', watchdog: 'progress' })
  })

  it('let a command run that takes longer than the progress deadline', async () => {
    test = await openTestExecutors({ timings: { ...pings, progressMs: 300 } })
    const instruction = [['sandbox.exec', { command: 'sleep 1; echo done' }]]
    const generation = await test.start('script', { instruction })
    const end = await generation.runTurn(turn)
    expect(JSON.parse(end.reason ?? '')).toMatchObject([{ exitCode: 0, stdout: 'done\n' }])
  })

  it('cancel a turn that runs on after its time, by force where it does not listen', async () => {
    test = await openTestExecutors({ timings: { overtimeMs: 100, cancelMs: 200 } })
    const generation = await test.start('deaf')
    expect(await generation.runTurn({ ...turn, maxMs: 200 })).toMatchObject({ outcome: 'cancelled' })
    expect(await generation.ended).toMatchObject({ kind: 'stopped' })
  })
})

describe('a start', () => {
  it('[C20] that exits at once is a crash with its exit code and stderr', async () => {
    test = await openTestExecutors()
    const details = { stage: 'handshake', exitCode: 3, stderr: 'the policy gives up\n' }
    await expect(test.start('exits')).rejects.toMatchObject({ code: 'unavailable', details })
    expect(await test.kinds()).toEqual(['executor.crashed'])
  })

  it('that never answers is a hang', async () => {
    test = await openTestExecutors({ timings: { handshakeMs: 500 } })
    const details = { stage: 'handshake', exitCode: null, timedOut: true }
    await expect(test.start('silent')).rejects.toMatchObject({ code: 'unavailable', details })
    expect(await test.kinds()).toEqual(['executor.hung'])
  })

  it('gets a generation number that no process had before, across restarts too', async () => {
    test = await openTestExecutors()
    const first = await test.start('idle')
    const second = await test.start('idle')
    expect([first.generation, second.generation]).toEqual([1, 2])
  })
})

describe('a drain', () => {
  it('waits, then ends what is in flight, then leaves the kill to the caller', async () => {
    test = await openTestExecutors({ timings: { cancelMs: 200 } })
    const generation = await test.start('deaf')
    const end = generation.runTurn(turn)
    await until(() => generation.now()?.what.includes('sleep 60') === true)
    expect(await generation.drain('quit', 200)).toMatchObject({ interrupted: true })
    await generation.stop('quit')
    expect(await end).toMatchObject({ outcome: 'cancelled' })
    // The command in flight is told of between the two ends, once it has been cancelled.
    expect((await test.kinds()).slice(-4)).toEqual([
      'executor.drained',
      'sandbox.executed',
      'executor.stopped',
      'turn.ended',
    ])
  })

  it('is immediate between turns', async () => {
    test = await openTestExecutors()
    const generation = await test.start('idle')
    expect(await generation.drain('pause', 1000)).toEqual({ waitedMs: 0, interrupted: false })
  })
})

describe('a cancel', () => {
  it('ends the command in flight and the turn, and the process goes on', async () => {
    test = await openTestExecutors({ model: () => asks(['c1', 'shell', { command: 'sleep 60' }]) })
    const generation = await test.start('worker')
    const end = generation.runTurn(turn)
    await until(() => generation.now()?.what === 'shell: sleep 60')
    await generation.cancel('the operator says so')
    expect(await end).toMatchObject({ outcome: 'cancelled', reason: 'the operator says so' })
    expect(await test.kinds()).toContain('sandbox.executed')
  })
})

describe('[I4] the operator against an executor that', () => {
  it.each([
    ['spins', 'busy', 'cancel'],
    ['spins', 'busy', 'drain'],
    ['runs on whatever it is told', 'deaf', 'cancel'],
    ['does nothing', 'idle', 'cancel'],
    ['is stopped by a signal', 'idle', 'drain'],
  ] as const)('[F15] %s (%s) has it ended by %s in bounded time', async (how, policy, by) => {
    test = await openTestExecutors({ timings: { cancelMs: 200, pingEveryMs: 600_000, progressMs: 600_000 } })
    const generation = await test.start(policy, { agent: 'unruly' })
    const end = generation.runTurn(turn)
    await expect.poll(async () => (await test.kinds()).includes('turn.started')).toBe(true)
    if (how === 'is stopped by a signal') stopPolicy('executor-unruly-g1')
    if (by === 'drain') {
      expect(await generation.drain('stop', 100)).toMatchObject({ interrupted: true })
      await generation.stop('no safe point was reached')
    } else await generation.cancel('the operator says so')
    expect(await end).toMatchObject({ outcome: 'cancelled' })
    expect(await generation.ended).toMatchObject({ kind: 'stopped' })
    // Nothing of it is left.
    expect(await test.provider.killAll('executor-unruly-g1')).toBe(0)
  })

  it('[I4] is still starting gives its start up, and is nobody’s failure', async () => {
    test = await openTestExecutors({ timings: { handshakeMs: 600_000 } })
    const working = await test.start('idle')
    const { spec } = working as unknown as { spec: Parameters<typeof test.executors.start>[0] }
    const revision = await test.put('silent')
    const authorised = { revision, by: 'seed', proposal: null } as const
    await test.open.history.append([draft('revision.authorised', authorised, { actor: 'kernel', agent: spec.agent })])
    const given = new AbortController()
    const starting = test.executors.start({ ...spec, revision, signal: given.signal })
    setTimeout(() => given.abort(), 500)
    await expect(starting).rejects.toMatchObject({ code: 'cancelled' })
    expect((await test.kinds()).filter((kind) => kind !== 'executor.started')).toEqual([])
  })
})

/** SIGSTOP to the policy's own process in the box with this label: the most that a policy could do to itself. */
function stopPolicy(label: string): void {
  const commandOf = (pid: string): string => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    } catch {
      return ''
    }
  }
  const descendants = (pid: string): string[] => {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
    return children.flatMap((child) => [child, ...descendants(child)])
  }
  const family = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && commandOf(entry).includes(`/${label}/`))
  const policies = family.flatMap(descendants).filter((pid) => commandOf(pid).startsWith('/exodesk/bin/node'))
  expect(policies.length).toBeGreaterThan(0)
  for (const pid of new Set(policies)) process.kill(Number(pid), 'SIGSTOP')
}

async function until(isSo: () => boolean): Promise<void> {
  await expect.poll(isSo, { timeout: 10_000, interval: 20 }).toBe(true)
}
