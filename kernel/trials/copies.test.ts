// Which tasks can be copied for a trial: one in a container can, running or at rest; one that uses a service cannot, and is
// refused before anything is set aside.
import { createServer } from 'node:http'
import { createRouterClient } from '@orpc/server'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
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

const socketPath = process.env.EXODESK_TEST_DOCKER?.replace(/^unix:\/\//, '')
const dockerMissing = socketPath === undefined ? 'EXODESK_TEST_DOCKER names no engine (unix:///run/docker.sock)' : null
for (const missing of [boxMissing, dockerMissing]) if (missing) console.warn(`skipped: ${missing}`)

const simulator = startSimulator()
afterAll(() => simulator.stop())

let test: TestKernel
afterEach(() => test.close())
const desk = () => createRouterClient(test.kernel.operator, { context: { via: 'socket' } })

async function open(docker = false): Promise<void> {
  test = await openTestKernel(simulator, {
    turnLimits: { maxSteps: 4, maxMs: 60_000 },
    ...(docker && socketPath !== undefined ? { docker: { socketPath } } : {}),
  })
  // The trial is what is tested, not what the checks say.
  const { version, checks } = await desk().profile.get()
  const none = checks.map(({ check }) => ({ check, gates: false, runs: false }))
  await desk().profile.set({ version, reason: 'the trial is what is tested', checks: none })
}

async function propose(agent: string): Promise<string> {
  const seed = await readSeed(testConfig(test.dataDir, simulator).resources.seed)
  const tree = seed.map(({ path, text }) => ({ path, text: path === 'SELF.md' ? `${text}More.\n` : text }))
  const { proposal } = await desk().proposals.submit({ agent, tree, why: 'to see' })
  await test.until((event) => event.kind === 'proposal.readied' && event.agent === agent)
  return proposal
}

async function start(agent: string, proposal: string, caps: { capNanoUsd?: number; capTokens?: number }) {
  const { nonce, binding } = await desk().proposals.view({ agent, proposal })
  const none = { capNanoUsd: null, capTokens: null, maxSteps: 3 }
  return desk().trials.start({ agent, proposal, nonce, binding, ...none, ...caps })
}

async function closed(trial: string) {
  await test.until((event) => event.kind === 'trial.closed' && event.data.trial === trial)
  return (await desk().trials.list({})).find((row) => row.trial === trial)
}

async function paused(task: string): Promise<void> {
  await test.until((event) => event.kind === 'tool.finished' && event.task === task && event.step === 3)
  await desk().tasks.pause({ task })
  await expect.poll(async () => (await desk().tasks.get({ task })).state, { timeout: 60_000 }).toBe('paused')
}

/** In the files of the sandbox, where each arm goes on from. */
const marks = (n: number) => [
  ...Array.from({ length: n }, () => shell('echo x >> /task/marks; wc -l < /task/marks')),
  complete(),
]

const bothArms = [
  { arm: 'before', ended: 'all steps done', steps: 3, toolCalls: 3, failedCalls: 0 },
  { arm: 'after', ended: 'all steps done', steps: 3, toolCalls: 3, failedCalls: 0 },
]

describe.skipIf(boxMissing ?? dockerMissing)('a task in a container', () => {
  it('is tried running, and at rest after a restart, and keeps its files; over, it is refused before anything is set aside', async () => {
    await open(true)
    const pack = test.pack('marks', { script: marks(20) })
    const { task, agent } = await desk().tasks.run({ pack, model: 'sim-script', sandbox: 'docker' })
    await paused(task)
    const proposal = await propose(agent)
    const first = await closed((await start(agent, proposal, { capTokens: 2_000_000 })).trial)
    expect(first).toMatchObject({ state: 'finished', task, arms: bothArms })
    const counts = async (of: string) =>
      (await test.events(['tool.finished'], of)).map(({ data }) => (data as { output: string }).output.trim())
    const own = await counts(task)
    for (const arm of first?.arms ?? []) expect((await counts(arm.task ?? ''))[0]).toContain(String(own.length + 1))

    await test.restart()
    const again = await closed((await start(agent, proposal, { capTokens: 2_000_000 })).trial)
    expect(again).toMatchObject({ state: 'finished', arms: bothArms })
    expect(await counts(task)).toEqual(own)

    await desk().tasks.stop({ task })
    await test.kernel.tasks.ended(task)
    await expect(start(agent, proposal, { capTokens: 2_000_000 })).rejects.toThrow(
      `${task} is over and its container is gone: run another task first`,
    )
    expect(await test.events(['trial.planned'])).toHaveLength(2)
  }, 400_000)
})

describe.skipIf(boxMissing)('a trial', () => {
  it('of a task that uses a service is refused in plain words, before anything is set aside', async () => {
    const server = createServer((_request, response) => response.end('here'))
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
    })
    try {
      await open()
      const toml = `[[exodesk.endpoints]]\nname = "game"\naddress = "127.0.0.1:${port}"`
      const pack = test.pack('game', { script: marks(2), toml })
      const endpoints = [{ name: 'game' }]
      const { task, agent } = await desk().tasks.run({ pack, model: 'sim-script', maxSteps: 1, endpoints })
      await test.kernel.tasks.ended(task)
      const proposal = await propose(agent)
      await expect(start(agent, proposal, { capTokens: 2_000_000 })).rejects.toThrow(
        `${task} uses game at 127.0.0.1:${port}, which no copy can be made of: it cannot be tried apart`,
      )
      expect(await test.events(['trial.planned', 'task.created'])).toHaveLength(1)
    } finally {
      server.close()
    }
  }, 120_000)

  it('in dollars finds the price of a simulated model in a host that has not called it, says what ended each arm, and shows in status and reports', async () => {
    await open()
    const pack = test.pack('marks', { script: marks(20) })
    const { task, agent } = await desk().tasks.run({ pack, model: 'sim-script', maxSteps: 2 })
    await test.kernel.tasks.ended(task)
    const proposal = await propose(agent)
    await test.restart()
    const { trial } = await start(agent, proposal, { capNanoUsd: 1e9 })
    expect((await desk().host.status()).trials).toBe(1)
    const row = await closed(trial)
    expect(row).toMatchObject({ state: 'finished', arms: bothArms })
    await test.kernel.trials.settled()
    expect(await desk().host.status()).toMatchObject({ running: 0, trials: 0 })
    // A cap that does not last for the steps is told apart from steps that were done.
    const { capNanoUsd, spentNanoUsd } = row ?? {}
    expect([capNanoUsd, spentNanoUsd]).toEqual([1e9, expect.any(Number)])
    const short = await closed((await start(agent, proposal, { capTokens: 6_000 })).trial)
    expect(short?.arms[0]?.steps).toBeLessThan(3)
    expect(short?.arms[0]?.ended).toMatch(/^cut short: .*budget/)

    const spent = (spentNanoUsd ?? 0) + (short?.spentNanoUsd ?? 0)
    expect(spent).toBeGreaterThan(0)
    const steps = 6 + (short?.arms.reduce((sum, arm) => sum + arm.steps, 0) ?? 0)
    for (const scope of [{ task }, { agent }, {}])
      expect((await desk().tasks.report(scope)).trials).toMatchObject({ trials: 2, steps, costNanoUsd: spent })
    const other = await desk().tasks.report({ agent: 'nobody' })
    expect(other.trials).toEqual({ trials: 0, steps: 0, tokens: 0, costNanoUsd: 0 })
  }, 180_000)
})
