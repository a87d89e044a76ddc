import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { writePack } from '../testing/kernel.ts'
import { copyFolder } from './copy.ts'
import { createFolders, keptPack, taskFolders } from './folders.ts'
import { readPack } from './pack.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'exodesk-folders-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const secret = () => {
  writeFileSync(join(dir, 'secret'), 'the secret')
  return join(dir, 'secret')
}

describe('the folders of a task', () => {
  it('hold the environment, the working directory, and copies of what runs and grades', async () => {
    const at = writePack(join(dir, 'pack'), {
      script: [],
      goal: 2,
      environment: { 'a.txt': 'a' },
      toml: '[environment]\nworkdir = "/home/agent/deep/er"',
    })
    symlinkSync('a.txt', join(at, 'environment/link'))
    const folders = taskFolders(join(dir, 'boxes'), 'T-1')
    const kept = await createFolders(folders, await readPack(at))
    expect(readFileSync(join(folders.root, 'task/a.txt'), 'utf8')).toBe('a')
    expect(readlinkSync(join(folders.root, 'task/link'))).toBe('a.txt')
    expect(statSync(join(folders.root, 'home/deep/er')).isDirectory()).toBe(true)
    expect(readdirSync(folders.commands)).toEqual(['bin'])
    expect(statSync(join(folders.commands, 'bin/count')).mode & 0o111).toBe(0o111)

    rmSync(at, { recursive: true })
    expect(await keptPack(folders)).toEqual(kept)
    expect(existsSync(join(kept.world?.dir ?? '', 'main.ts'))).toBe(true)
    expect(existsSync(join(kept.tests ?? '', 'test.sh'))).toBe(true)
  })

  it('can be made again where a kill cut the first try short', async () => {
    const at = writePack(join(dir, 'pack'), { script: [], goal: 2, environment: { 'a.txt': 'a' } })
    const folders = taskFolders(join(dir, 'boxes'), 'T-1')
    await createFolders(folders, await readPack(at))
    writeFileSync(join(folders.root, 'task/stale.txt'), 'from before')
    await createFolders(folders, await readPack(at))
    expect(readdirSync(join(folders.root, 'task'))).toEqual(['a.txt'])
  })

  it.each(['world/main.ts', 'world/bin/more', 'tests/data'])(
    'take no file of the host for a link in the pack (%s)',
    async (name) => {
      const at = writePack(join(dir, 'pack'), { script: [], goal: 2 })
      const pack = await readPack(at)
      rmSync(join(at, name), { force: true })
      symlinkSync(secret(), join(at, name))
      await expect(createFolders(taskFolders(join(dir, 'boxes'), 'T-1'), pack)).rejects.toMatchObject({
        code: 'invalid',
        message: expect.stringContaining('holds a link'),
      })
    },
  )

  it('are readable in boxes, however closed the pack is', async () => {
    const at = writePack(join(dir, 'pack'), { script: [], goal: 2 })
    chmodSync(join(at, 'world'), 0o700)
    chmodSync(join(at, 'world/main.ts'), 0o600)
    const folders = taskFolders(join(dir, 'boxes'), 'T-1')
    await createFolders(folders, await readPack(at))
    expect(statSync(folders.program).mode & 0o777).toBe(0o755)
    expect(statSync(join(folders.program, 'main.ts')).mode & 0o777).toBe(0o644)
  })

  it('that are gone make the task wait, not fail', async () => {
    await expect(keptPack(taskFolders(dir, 'T-9'))).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('copying a folder', () => {
  it('stops at its limits', async () => {
    mkdirSync(join(dir, 'from'))
    for (let n = 0; n < 10; n += 1) writeFileSync(join(dir, 'from', String(n)), 'x')
    const limits = { links: 'keep', owner: null, isPublic: false } as const
    const copy = (to: string, maxBytes: number, maxEntries: number) =>
      copyFolder('it', join(dir, 'from'), join(dir, to), { ...limits, maxBytes, maxEntries })
    await expect(copy('a', 9, 100)).rejects.toMatchObject({ code: 'invalid' })
    await expect(copy('b', 100, 5)).rejects.toMatchObject({ code: 'invalid' })
    await copy('c', 10, 11)
    expect(readdirSync(join(dir, 'c'))).toHaveLength(10)
  })
})
