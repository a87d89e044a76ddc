import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { holdLock } from './lock.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'exodesk-lock-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

/** Another process that takes the lock and says so, or says why not. */
async function otherProcess(folder: string) {
  const script = `import { holdLock } from ${JSON.stringify(join(import.meta.dirname, 'lock.ts'))}
    try { holdLock(process.argv[1]); process.stdout.write('held\\n'); setInterval(() => {}, 1e6) }
    catch (error) { process.stdout.write(error.code + ': ' + error.message + '\\n') }`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, said: chunk.toString().trim() }
}

describe('the lock of a data directory', () => {
  it('[C4] is refused to a second holder in this process, with what to do about it', () => {
    const lock = holdLock(dataDir)
    expect(() => holdLock(dataDir)).toThrowError(/another Exodesk is using .*--data/)
    lock.release()
    holdLock(dataDir).release()
  })

  it('[C4] [F11] is refused to another process, also by a symbolic link to the directory', async () => {
    const lock = holdLock(dataDir)
    const alias = `${dataDir}-alias`
    symlinkSync(dataDir, alias)
    try {
      for (const folder of [dataDir, alias]) {
        const { child, said } = await otherProcess(folder)
        expect(said).toMatch(/^conflict: another Exodesk is using/)
        child.kill()
      }
    } finally {
      rmSync(alias)
      lock.release()
    }
  })

  it('[C4] is free at once when its holder is killed', async () => {
    const { child, said } = await otherProcess(dataDir)
    expect(said).toBe('held')
    expect(() => holdLock(dataDir)).toThrowError(expect.objectContaining({ code: 'conflict' }))
    child.kill('SIGKILL')
    await once(child, 'exit')
    holdLock(dataDir).release()
  })
})
