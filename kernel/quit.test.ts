// An end while several tasks work: all are interrupted within one and the same 5 s, nothing is lost, and they go on afterwards.
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { boxMissing, complete, openTestKernel, shell, startSimulator, type TestKernel } from './testing/kernel.ts'
import type { Event } from './wire/events.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const simulator = startSimulator()
afterAll(() => simulator.stop())
let test: TestKernel
afterEach(() => test.close())

const agents = ['a', 'b', 'c']
/** Longer than this whole test may take: who waits for it fails. */
const script = [shell('[ -e /task/again ] || { touch /task/again; sleep 300; }'), complete()]

describe.skipIf(boxMissing)('an end', () => {
  it('[F25] while three tasks work interrupts them together, keeps all that was acknowledged, and they go on at the next start', async () => {
    test = await openTestKernel(simulator)
    test.pack('long', { script })
    const heard: Event[] = []
    test.kernel.history.onCommit((events) => heard.push(...events))
    for (const agent of agents) await test.kernel.tasks.run({ pack: 'long', model: 'sim-script', agent })
    for (const agent of agents) await test.until((event) => event.agent === agent && event.kind === 'tool.called')
    await test.restart()
    const events = await test.events()
    expect(heard.map(({ seq }) => JSON.stringify(events[seq - 1]))).toEqual(heard.map((event) => JSON.stringify(event)))
    const drained = heard.filter((event) => event.kind === 'executor.drained')
    expect(drained.map(({ agent }) => agent).sort()).toEqual(agents)
    expect(drained.every(({ data }) => data.interrupted)).toBe(true)
    // Side by side, not one after the other.
    const [first, last] = [Math.min(...drained.map(({ at }) => at)), Math.max(...drained.map(({ at }) => at))]
    expect(last - first).toBeLessThan(60_000)
    for (const task of ['T-1', 'T-2', 'T-3'])
      expect(await test.kernel.tasks.ended(task)).toMatchObject({ outcome: 'claimed' })
    expect(await test.kernel.history.verify({ full: true })).toMatchObject({ ok: true })
  }, 280_000)
})
