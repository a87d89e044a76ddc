import fs from 'node:fs'
import path from 'node:path'
import { parse } from 'smol-toml'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeWorldFolder, type WorldFolder } from '../world/process.fixture.ts'
import { begin, objectives } from '../world/state.ts'

const pack = import.meta.dirname
let folder: WorldFolder
beforeEach(() => {
  folder = makeWorldFolder()
})
afterEach(() => folder.remove())

/** Grades a measure as the verifier's box does; the reward, or null where there is none. */
async function grade(measure: string | null): Promise<string | null> {
  if (measure !== null) fs.writeFileSync(path.join(folder.root, 'world.json'), measure)
  const { code } = await folder.run('sh', [path.join(pack, 'tests/test.sh')])
  if (code !== 0) return null
  return fs.readFileSync(path.join(folder.root, 'reward.txt'), 'utf8').trim()
}

describe('hollowmere-skills', () => {
  // Two seeds whose lands differ in bag, paths and order of skills.
  it.each([7, 12])('is won by its solution with seed %i in 120 to 220 actions, reward 1', async (seed) => {
    const world = folder.start()
    await world.ask('init', { seed, objective: 'skills' })
    const played = await folder.run('sh', [path.join(pack, 'solution/solve.sh')])
    expect(played).toMatchObject({ code: 0, stdout: expect.stringContaining('total 600/600 xp') })
    const { count } = JSON.parse((await world.ask('save')).state as string)
    expect(count).toBeGreaterThanOrEqual(120)
    expect(count).toBeLessThanOrEqual(220)
    const { id: _, ...measure } = await world.ask('probe')
    expect(measure).toEqual({ value: 600, unit: 'xp', goal: 600, done: true })
    expect(await grade(JSON.stringify(measure))).toBe('1')
  })

  it('gives nothing for doing nothing', async () => {
    const world = folder.start()
    await world.ask('init', { seed: 7, objective: 'skills' })
    const { id: _, ...measure } = await world.ask('probe')
    expect(await grade(JSON.stringify(measure))).toBe('0')
  })

  it('gives the share of the goal that was reached', async () => {
    expect(await grade('{"value":299,"unit":"xp","goal":600,"done":false}')).toBe('0.498')
    expect(await grade('{\n  "value": 300,\n  "unit": "xp",\n  "goal": 600\n}\n')).toBe('0.5')
  })

  it('fails, without a reward, where the measure is missing or is none', async () => {
    for (const measure of [null, '', '{}', '{"value":"600","goal":600}', '{"value":1,"goal":0}']) {
      expect(await grade(measure)).toBeNull()
    }
  })

  it('states in task.toml the goal that the world measures', () => {
    const toml = parse(fs.readFileSync(path.join(pack, 'task.toml'), 'utf8')) as {
      exodesk: { objective: string; world: string; goal: { unit: string; value: number } }
    }
    const { objective, world, goal } = toml.exodesk
    const measure = objectives[objective]?.(begin(7, objective))
    expect(goal).toEqual({ unit: measure?.unit, value: measure?.goal })
    expect(fs.existsSync(path.join(pack, world, 'main.ts'))).toBe(true)
  })
})
