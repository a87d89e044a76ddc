import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDesk, openRunningDesk } from './commands/desk.ts'
import { type Host, openHost } from './host.ts'

// The real kernel; no task is run, so no box is needed.
describe('a host on a data directory', () => {
  let base: string
  let dataDir: string
  let umask: number
  const open: Host[] = []
  beforeEach(async () => {
    umask = process.umask()
    base = await mkdtemp(join(tmpdir(), 'host-'))
    dataDir = join(base, 'data')
  })
  afterEach(async () => {
    for (const host of open.splice(0)) await host.close()
    process.umask(umask)
    await rm(base, { recursive: true })
  })
  async function host(): Promise<Host> {
    const one = await openHost('test', dataDir)
    open.push(one)
    return one
  }

  it('keeps it for its user alone, whatever it was before', async () => {
    await mkdir(dataDir, { mode: 0o755 })
    await host()
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700)
  })

  it('refuses a second host, and serves a command instead', async () => {
    await host()
    await expect(openHost('test', dataDir)).rejects.toMatchObject({ code: 'conflict' })
    const attached = await openDesk(dataDir, { proceed: true })
    expect(attached.isOwn).toBe(false)
    expect(await attached.desk.host.status()).toMatchObject({ host: 'test', dataDir })
    await attached.close()
  })

  it('tells its followers when it goes', async () => {
    const one = await host()
    const attached = await openDesk(dataDir, { proceed: true })
    open.splice(0)
    await one.close()
    await attached.lost
  })

  it('is opened by a command where there is none, and is then found by others', async () => {
    await expect(openRunningDesk(dataDir, 'pause')).rejects.toThrow(/nothing runs on/)
    const own = await openDesk(dataDir, { proceed: false })
    expect(own.isOwn).toBe(true)
    const beside = await openRunningDesk(dataDir, 'pause')
    expect((await beside.desk.host.status()).host).toBe('cli')
    await beside.close()
    await own.close()
    const next = await openDesk(dataDir, { proceed: false })
    expect(next.isOwn).toBe(true)
    await next.close()
  })

  it('answers the command line, whose exit codes say how it went', async () => {
    const { kernel } = await host()
    const verified = await exodesk('verify', '--json')
    expect(verified.code).toBe(0)
    expect(JSON.parse(verified.stdout)).toEqual({
      ok: true,
      events: kernel.history.head()?.seq,
      head: expect.stringMatching(/^[0-9a-f]{64}$/),
      firstBadSeq: null,
      problem: null,
      notes: [],
    })
    const tree = join(base, 'tree')
    await mkdir(tree)
    await writeFile(join(tree, '.env'), 'x')
    const runs = await Promise.all([
      exodesk('verify', '--frob'),
      exodesk('propose', '--agent', 'a', '--tree', tree, '--why', 'x'),
      exodesk('run', 'tasks/hollowmere/skills', '--model', 'sim-nobody'),
      exodesk('approve', 'P-1', '--agent', 'nobody'),
      exodesk('study', 'run', 'x'),
    ])
    expect(runs.map(({ code }) => code)).toEqual([2, 2, 2, 1, 3])
    const said = runs.map(({ stderr }) => stderr)
    expect(said[0]).toContain('Usage: exodesk verify')
    expect(said[1]).toContain('.env: its name starts with a dot')
    expect(said[2]).toContain('sim-apprentice')
    expect(said[4]).toContain('not in this version')
    for (const { stdout } of runs) expect(stdout).toBe('')
  })

  function exodesk(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const cli = join(import.meta.dirname, 'cli.ts')
    const all = [cli, ...args, ...(args[0] === 'study' ? [] : ['--data', dataDir])]
    return new Promise((resolve) => {
      execFile(process.execPath, all, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr })
      })
    })
  }
})
