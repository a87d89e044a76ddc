import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type SimulatorProcess, simulatorProcess } from './simulator.ts'

const entry = join(import.meta.dirname, '../simulator/main.ts')

describe('the simulator of a host', () => {
  const started: SimulatorProcess[] = []
  afterEach(() => {
    for (const simulator of started.splice(0)) simulator.stop()
  })
  function simulator(file = entry): SimulatorProcess {
    const one = simulatorProcess(process.execPath, file)
    started.push(one)
    return one
  }

  it('plays the models that are listed without starting it, and is started once', async () => {
    const one = simulator()
    const [first, second] = await Promise.all([one.start(), one.start()])
    expect(second).toBe(first)
    const { data } = (await (await fetch(`${first.origin}/v1/models`)).json()) as { data: { id: string }[] }
    expect(data.map(({ id }) => id).sort()).toEqual(one.models.map(({ name }) => name).sort())
  })

  it('says why it cannot be started', async () => {
    await expect(simulator(join(import.meta.dirname, 'none.ts')).start()).rejects.toThrow(
      /the simulator cannot be used: it ended/,
    )
  })
})
