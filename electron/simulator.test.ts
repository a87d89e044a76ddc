import { join } from 'node:path'
import { expect, it } from 'vitest'
import { simulatorProcess } from './simulator.ts'

it('offers the models that the simulator plays, from one process however often it is asked', async () => {
  const simulator = simulatorProcess(process.execPath, join(import.meta.dirname, '../simulator/main.ts'))
  try {
    const [first, second] = await Promise.all([simulator.start(), simulator.start()])
    expect(second).toEqual(first)
    const answer = await fetch(`${first.origin}/v1/models`)
    const { data } = (await answer.json()) as { data: { id: string }[] }
    expect(data.map(({ id }) => id).sort()).toEqual(simulator.models.map(({ name }) => name).sort())
  } finally {
    simulator.stop()
  }
})

it('says why it cannot be started, and tries again when asked again', async () => {
  const simulator = simulatorProcess(process.execPath, join(import.meta.dirname, 'none.ts'))
  await expect(simulator.start()).rejects.toThrow('the simulator cannot be used')
  await expect(simulator.start()).rejects.toThrow('the simulator cannot be used')
})
