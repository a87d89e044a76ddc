import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { makeDataDir } from './data-dir.ts'

const base = mkdtempSync(join(tmpdir(), 'exodesk-data-dir-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))

describe('the data directory', () => {
  it('is made with all above it, and closed', () => {
    const dir = join(base, 'a b', 'é', 'data')
    makeDataDir(dir)
    makeDataDir(dir)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
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
