import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { writePack } from '../testing/kernel.ts'
import { listPacks, readPack } from './pack.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'exodesk-pack-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function pack(toml: string, instruction: string | null = 'Do it.'): string {
  const at = join(dir, 'pack')
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'task.toml'), toml)
  if (instruction !== null) writeFileSync(join(at, 'instruction.md'), instruction)
  return at
}

describe('a pack', () => {
  it('of today’s format is read whole', async () => {
    const at = writePack(join(dir, 'beans'), {
      script: [],
      goal: 3,
      toml: 'description = "d"\n[agent]\ntimeout_sec = 60\n[verifier]\ntimeout_sec = 0.5\n[environment]\nworkdir = "/opt/x"',
      environment: { 'a.txt': 'a' },
    })
    expect(await readPack(at)).toMatchObject({
      name: 'test/beans',
      description: 'd',
      workdir: '/opt/x',
      environment: join(at, 'environment'),
      tests: join(at, 'tests'),
      world: { dir: join(at, 'world'), objective: '3' },
      goal: { goal: 3, unit: 'beans' },
      timeoutMs: 60_000,
      verifierTimeoutMs: 500,
      blocked: null,
    })
  })

  it('of the older format is read too, with what it says of itself and nothing else', async () => {
    const older =
      'version = "1.0"\n[metadata]\ndifficulty = "easy"\n[verifier]\ntimeout_sec = 900.0\n[environment]\ncpus = 1\nmemory = "2G"'
    expect(await readPack(pack(older))).toMatchObject({
      ...{ name: 'pack', workdir: '/task', environment: null, tests: null, world: null, goal: null },
      ...{ maxSteps: null, timeoutMs: null, verifierTimeoutMs: 900_000, blocked: null },
    })
  })

  it.each([
    ['schema_version = "2.0"', /schema_version/],
    ['version = 1', /version/],
    ['this is = not = toml', /task.toml cannot be used/],
    ['[agent]\ntimeout_sec = -1', /agent.timeout_sec/],
    ['[verifier]\ntimeout_sec = inf', /verifier.timeout_sec/],
    ['[exodesk]\nworlds = "x"', /exodesk/],
    ['[exodesk]\nworld = "nowhere"', /its world folder nowhere is not there/],
    ['[exodesk]\nworld = "../../../.."', /must lie in the pack or beside it/],
    ['[exodesk]\nworld = "."', /has no main.ts/],
    ['[environment]\nworkdir = "task"', /workdir task must be an absolute path/],
    ['[environment]\nworkdir = "/task/../etc"', /must be an absolute path without/],
    ['[[steps]]\nname = "one"', /several steps/],
    [`[task]\nname = "${'n'.repeat(70_000)}"`, /at most 65536 are read/],
  ])('that says %j is refused as invalid, and why', async (toml, why) => {
    await expect(readPack(pack(toml.slice(0, 100_000)))).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(why),
    })
  })

  it('without task.toml is not there; without instruction.md, or with one beyond measure, it is invalid', async () => {
    await expect(readPack(join(dir, 'none'))).rejects.toMatchObject({ code: 'not-found' })
    await expect(readPack(pack('', null))).rejects.toThrow('no instruction.md')
    await expect(readPack(pack('', ' \n'))).rejects.toThrow('no instruction.md')
    await expect(readPack(pack('', 'x'.repeat(100_001)))).rejects.toThrow('at most 100000 are read')
  })

  it.each(['task.toml', 'instruction.md', 'tests', 'environment'])(
    'whose %s is a link is refused: it could lead anywhere',
    async (name) => {
      const at = pack('')
      const secret = join(dir, 'secret')
      if (name.includes('.')) writeFileSync(secret, 'a secret')
      else mkdirSync(secret)
      rmSync(join(at, name), { force: true })
      symlinkSync(secret, join(at, name))
      await expect(readPack(at)).rejects.toMatchObject({
        code: 'invalid',
        message: expect.stringContaining('not a link'),
      })
    },
  )

  it('whose world is a link, or lies behind one, is refused', async () => {
    const at = pack('[exodesk]\nworld = "link"')
    const outside = mkdtempSync(join(tmpdir(), 'exodesk-outside-'))
    try {
      writePack(outside, { script: [], goal: 1 })
      symlinkSync(join(outside, 'world'), join(at, 'link'))
      await expect(readPack(at)).rejects.toThrow('is a link')
      symlinkSync(outside, join(at, 'out'))
      await expect(readPack(pack('[exodesk]\nworld = "out/world"'))).rejects.toThrow(
        'must lie in the pack or beside it',
      )
    } finally {
      rmSync(outside, { recursive: true })
    }
  })

  it.each([
    ['[environment]\ndocker_image = "x"', 'an image of its own'],
    ['[environment]\nworkdir = "/app"', 'it works in /app'],
  ])('that says %j needs Docker', async (toml, why) => {
    expect((await readPack(pack(toml))).blocked).toContain(why)
  })

  it('with a Dockerfile needs Docker', async () => {
    const at = writePack(join(dir, 'image'), { script: [], environment: { Dockerfile: 'FROM x' } })
    expect((await readPack(at)).blocked).toContain('needs Docker')
  })
})

describe('the list of packs', () => {
  it('has one or two levels, in order, and shows what cannot be read with the reason', async () => {
    writePack(join(dir, 'b'), { script: [] })
    writePack(join(dir, 'a/two'), { script: [], goal: 1 })
    mkdirSync(join(dir, 'a/broken'))
    writeFileSync(join(dir, 'a/broken/task.toml'), 'x')
    mkdirSync(join(dir, 'deep/er/pack'), { recursive: true })
    writeFileSync(join(dir, 'deep/er/pack/task.toml'), '')
    symlinkSync('/', join(dir, 'root'))
    mkdirSync(join(dir, 'closed'))
    chmodSync(join(dir, 'closed'), 0)
    const packs = await listPacks(dir)
    expect(packs.map((one) => ('problem' in one ? one.problem : one.pack))).toEqual([
      expect.stringContaining('a/broken/task.toml cannot be used'),
      join(dir, 'a/two'),
      join(dir, 'b'),
    ])
    expect(await listPacks(join(dir, 'nowhere'))).toEqual([])
  })
})
