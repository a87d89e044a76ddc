import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readTree } from './tree.ts'

describe('a folder to propose', () => {
  let dir: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'tree-'))
    await mkdir(join(dir, 'tools'))
    await writeFile(join(dir, 'main.ts'), 'main')
    await writeFile(join(dir, 'tools/a.ts'), 'ä')
  })
  afterEach(() => rm(dir, { recursive: true }))

  it('is its text files in order of their paths, without node_modules', async () => {
    await mkdir(join(dir, 'node_modules/x'), { recursive: true })
    await writeFile(join(dir, 'node_modules/x/index.js'), '\0')
    expect(await readTree(dir)).toEqual([
      { path: 'main.ts', text: 'main' },
      { path: 'tools/a.ts', text: 'ä' },
    ])
  })

  it('is refused with every file named that cannot be part of it', async () => {
    await symlink('/etc/passwd', join(dir, 'tools/link.ts'))
    await writeFile(join(dir, '.env'), 'KEY=1')
    await writeFile(join(dir, 'photo.png'), Buffer.from([0x89, 0x50, 0xff]))
    await writeFile(join(dir, 'large.md'), 'x'.repeat(256 * 1024 + 1))
    const error = await readTree(dir).catch((refused: Error) => refused)
    expect(String(error)).toContain('tools/link.ts: a link')
    expect(String(error)).toContain('.env: its name starts with a dot')
    expect(String(error)).toContain('photo.png: not UTF-8 text')
    expect(String(error)).toContain('large.md: 262145 bytes')
    expect(String(error)).not.toContain('main.ts')
  })

  it('is refused where it is empty, over the caps, or no folder', async () => {
    await expect(readTree(join(dir, 'main.ts'))).rejects.toThrow(/is not a folder/)
    await expect(readTree(join(dir, 'none'))).rejects.toThrow(/is not a folder/)
    const empty = join(dir, 'empty')
    await mkdir(empty)
    await expect(readTree(empty)).rejects.toThrow(/holds no file/)
    for (let n = 0; n < 9; n += 1) await writeFile(join(dir, `${n}.md`), 'x'.repeat(256 * 1024))
    await expect(readTree(dir)).rejects.toThrow(/at most 2097152/)
  })
})
