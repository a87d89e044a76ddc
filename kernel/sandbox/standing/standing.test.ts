import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../clock.ts'
import { testStanding } from '../../testing/standing.ts'
import { openCgroups } from '../cgroups.ts'
import { readFile, writeFile } from '../files.ts'
import { localProvider } from '../local.ts'
import type { RunOptions } from '../sandbox.ts'
import { CommandServer } from './connection.ts'
import { describeStanding } from './standing.contract.ts'
import { standingSandboxes } from './standing.ts'

const hasBwrap = (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, 'bwrap')))
if (!hasBwrap) {
  process.stderr.write(
    'kernel/sandbox/standing/standing.test.ts: skipped, bubblewrap is not installed (sudo apt-get install -y bubblewrap)\n',
  )
}

const made: string[] = []
afterAll(async () => {
  for (const folder of made) await rm(folder, { recursive: true, force: true })
})

async function makeLocal(cgroups: 'auto' | 'none') {
  const data = await mkdtemp(join(tmpdir(), 'exodesk-standing-'))
  made.push(data)
  await chmod(data, 0o755)
  const boxesDir = join(data, 'boxes')
  await mkdir(boxesDir)
  const knowsOutOfMemory = openCgroups('exodesk-look', cgroups)?.powers.memory ?? false
  const limits = { task: { memoryBytes: 400 * 1024 * 1024, pids: 200 } }
  const provider = localProvider({
    boxesDir,
    nodePath: process.execPath,
    checkerMounts: [],
    limits,
    clock: systemClock,
    cgroups,
  })
  return { provider, boxesDir, knowsOutOfMemory }
}

describe.skipIf(!hasBwrap)('the command server in a local box', () => {
  describeStanding('with control groups where they can be had', () => makeLocal('auto'))
  describeStanding('without control groups', () => makeLocal('none'))

  it('says that the disk is full, loses nothing that was there, and serves the next command', async () => {
    const { provider, boxesDir } = await makeLocal('auto')
    const root = join(boxesDir, 'root')
    await mkdir(join(root, 'task'), { recursive: true })
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=777', 'tmpfs', join(root, 'task')])
    if (mounted.status !== 0) {
      process.stderr.write('a full /task: skipped, this user may not mount a small file system\n')
      return
    }
    try {
      const sandbox = testStanding(provider)({ profile: 'task', label: 'T-1', mounts: { root } })
      const place = { profile: 'task', label: 'T-1', mounts: { root }, cwd: '/task' } as const
      const runner = {
        run: ({ argv }: { argv: string[] }, options?: RunOptions) =>
          sandbox.run({ argv, cwd: '/task', timeoutMs: 30_000 }, options),
      }
      await writeFile(runner, place, 'file', 'old')
      await expect(writeFile(runner, place, 'file', 'x'.repeat(2_000_000))).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/No space left on device/),
      })
      expect((await readFile(runner, place, 'file')).text).toBe('old')
      await sandbox.close()
    } finally {
      await provider.close()
      spawnSync('umount', [join(root, 'task')])
    }
  })

  // What the agent could put in the server's place: it holds the same pipes and is the same user.
  const say = `const say = (kind, id, payload) => {
    const head = Buffer.alloc(9); head.writeUInt32BE(5 + payload.length, 0); head.writeUInt8(kind, 4); head.writeUInt32BE(id, 5)
    process.stdout.write(Buffer.concat([head, payload]))
  }
  const json = (kind, id, value) => say(kind, id, Buffer.from(JSON.stringify(value)))
  const onRun = (answer) => process.stdin.on('data', () => answer())
  const end = { exitCode: 0, signal: null, timedOut: false, memoryKills: null, stdoutBytes: 0, stderrBytes: 0 }
  say(1, 0, Buffer.alloc(0))
  `
  it('a server that has ended takes no command: nobody would tell how it went', async () => {
    const { provider, boxesDir } = await makeLocal('auto')
    const root = join(boxesDir, 'root')
    await mkdir(root)
    const place = { profile: 'task', label: 'T-1', mounts: { root } } as const
    const server = await CommandServer.start({ provider, clock: systemClock, source: say }, place)
    await server.end('a test')
    const sinks = { stdout: () => undefined, stderr: () => undefined }
    const start = () => server.start({ command: 'true', cwd: '/task' }, sinks, Buffer.alloc(0))
    expect(start).toThrow(expect.objectContaining({ code: 'unavailable' }))
    await provider.close()
  })

  it.each([
    ['says that it runs, and nothing more', 'onRun(() => {})', /no sign of life/],
    ['answers pings and never ends a command', 'onRun(() => say(6, 0, Buffer.alloc(0)))', /time limit/],
    [
      'sends a frame longer than there are',
      'onRun(() => process.stdout.write(Buffer.alloc(9, 255)))',
      /frame of 4294967295/,
    ],
    [
      'sends more than it was granted',
      'onRun(() => { for (let n = 0; n < 20; n++) say(2, 1, Buffer.alloc(65536)) })',
      /granted/,
    ],
    ['speaks of a command that there is not', 'onRun(() => json(4, 7, end))', /command 7, which is not open/],
    ['gives an end of another form', 'onRun(() => json(4, 1, { ...end, exitCode: "0" }))', /broke the form/],
    ['gives an end with more in it', 'onRun(() => json(4, 1, { ...end, approve: true }))', /broke the form/],
    ['sends what is no JSON', 'onRun(() => say(4, 1, Buffer.from("{")))', /broke the form/],
    ['sends a kind that there is not', 'onRun(() => say(9, 1, Buffer.alloc(0)))', /kind 9/],
    ['never says that it is ready', 'setTimeout(() => {}, 1e9)', /did not start/],
  ])('kills a server that %s, and tells the command so', async (what, program, told) => {
    const { provider, boxesDir } = await makeLocal('auto')
    const root = join(boxesDir, 'root')
    await mkdir(root)
    const sandbox = standingSandboxes({
      provider,
      clock: systemClock,
      source: what.startsWith('never') ? program : say + program,
      timings: { readyMs: 5_000, pingEveryMs: 100, pingMisses: 40, graceMs: 5_000 },
    })({ profile: 'task', label: 'T-1', mounts: { root } })
    const running = sandbox.run({ command: 'true', cwd: '/task', timeoutMs: 100 })
    await expect(running).rejects.toMatchObject({ code: 'unavailable', message: expect.stringMatching(told) })
    expect(await provider.killAll('T-1')).toBe(0)
    await provider.close()
  })
})
