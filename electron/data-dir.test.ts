import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { fileSystemProblem, makeDataDir } from './data-dir.ts'

const base = mkdtempSync(join(tmpdir(), 'exodesk-data-dir-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))

describe('the data directory', () => {
  it('is made with all above it, and closed', () => {
    const dir = join(base, 'a b', 'é', 'data')
    makeDataDir(dir)
    makeDataDir(dir)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
  })

  it.each([
    ['NFS', 0x6969],
    ['SMB', 0xff534d42],
    ['SMB', 0xff534d42 | 0],
    ['9P', 0x01021997],
  ])('on a network file system is refused, with its name: %s', (name, type) => {
    const large = { bavail: 1e9, bsize: 4096 }
    expect(fileSystemProblem({ type, ...large })).toContain(`a network file system (${name})`)
    for (const local of [0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630])
      expect(fileSystemProblem({ type: local, ...large })).toBeNull()
  })

  it('on a disk with little room is refused, with how much there is', () => {
    expect(fileSystemProblem({ type: 0xef53, bavail: 1024, bsize: 4096 })).toContain('only 4 MB are free')
  })

  const bad: [string, (file: string) => string][] = [
    ['a file', (file: string) => file],
    ['below a file', (file: string) => join(file, 'x')],
    ['a name too long', () => join(base, 'x'.repeat(300))],
    // Where mkdir's own recursion does not end.
    ['no place for folders', () => (process.platform === 'linux' ? '/proc/exodesk/data' : join(base, 'file', 'x'))],
  ]
  it.each(bad)('that cannot be is refused with what to do: %s', (_name, path) => {
    const file = join(base, 'file')
    writeFileSync(file, '')
    expect(() => makeDataDir(path(file))).toThrow(/cannot be the data directory: .*Choose another with --data/)
  })
})
