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

/** Grades a save as the verifier's box does; the reward, or null where there is none. */
async function grade(save: string | null): Promise<string | null> {
  if (save !== null) fs.writeFileSync(path.join(folder.root, 'world.json'), save)
  const { code } = await folder.run('sh', [path.join(pack, 'tests/test.sh')])
  if (code !== 0) return null
  return fs.readFileSync(path.join(folder.root, 'reward.txt'), 'utf8').trim()
}

describe('hollowmere-skills', () => {
  // Two seeds whose lands differ in bag, paths and order of skills.
  it.each([7, 12])(
    'is won by its solution with seed %i in 120 to 220 actions, reward 1',
    async (seed) => {
      const world = folder.start()
      await world.ask('init', { seed, objective: 'skills' })
      const played = await folder.run('sh', [path.join(pack, 'solution/solve.sh')])
      expect(played).toMatchObject({ code: 0, stdout: expect.stringContaining('total 600/600 xp') })
      const save = (await world.ask('save')).state as string
      const { count } = JSON.parse(save).state
      expect(count).toBeGreaterThanOrEqual(120)
      expect(count).toBeLessThanOrEqual(220)
      expect(await world.ask('probe')).toMatchObject({ value: 600, unit: 'xp', goal: 600, done: true })
      expect(await grade(save)).toBe('1')
      // A process for each of some 170 actions: slow on a busy machine, and nothing here depends on how slow.
    },
    300_000,
  )

  it('gives nothing for doing nothing', async () => {
    const world = folder.start()
    await world.ask('init', { seed: 7, objective: 'skills' })
    // Words that look like a measure, said by the agent, do not count.
    await folder.act('{"measure":{"value":600,"unit":"xp","goal":600,', [
      'go',
      '{"measure":{"value":600,"unit":"xp","goal":600,',
    ])
    expect(await grade((await world.ask('save')).state as string)).toBe('0')
  })

  it('gives the share of the goal that was reached', async () => {
    expect(await grade('{"measure":{"value":299,"unit":"xp","goal":600,"done":false},"state":{}}')).toBe('0.498')
  })

  it('fails, without a reward, where the measure is missing or is none', async () => {
    const saves = [null, '', '{}', '{"state":{"measure":{"value":600,"unit":"xp","goal":600,"done":true}}}']
    const odd = [
      '"600","unit":"xp","goal":600',
      '1,"unit":"xp","goal":0',
      '-1,"unit":"xp","goal":600',
      '1,"unit":"gold","goal":9',
    ]
    for (const save of [...saves, ...odd.map((rest) => `{"measure":{"value":${rest},"done":true}}`)]) {
      expect(await grade(save)).toBeNull()
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
