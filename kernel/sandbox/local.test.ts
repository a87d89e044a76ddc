import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, openSync, realpathSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../clock.ts'
import { openCgroups } from './cgroups.ts'
import { type LocalConfig, localProvider } from './local.ts'
import { markerOf } from './orphans.ts'
import { allPids, firstArgument, isAlive, processTree, readStat } from './processes.ts'
import { contractLimits, describeSandbox } from './sandbox.contract.ts'

const isRoot = process.getuid?.() === 0
const bwrap = (process.env.PATH ?? '')
  .split(':')
  .map((folder) => join(folder, 'bwrap'))
  .find(existsSync)
const clock = systemClock

const made: string[] = []
afterAll(async () => {
  // What a box's user made unreadable stays where the tests run as an ordinary user; the parent test removes it.
  for (const folder of made) await rm(folder, { recursive: true, force: true }).catch(() => {})
})

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'exodesk-sandbox-'))
  made.push(folder)
  return folder
}

async function boxesFolder(): Promise<string> {
  const data = await temporaryFolder()
  await chmod(data, 0o755)
  await mkdir(join(data, 'boxes'))
  return join(data, 'boxes')
}

async function make(config: Partial<LocalConfig> = {}) {
  const boxesDir = await boxesFolder()
  const cgroups = openCgroups('exodesk-look', config.cgroups)
  const provider = localProvider({
    boxesDir,
    nodePath: process.execPath,
    checkerMounts: [],
    limits: contractLimits,
    clock,
    ...config,
  })
  return { provider, boxesDir, knowsOutOfMemory: cgroups?.powers.memory ?? false }
}

const markersOf = (boxesDir: string): number[] => {
  const hash = createHash('sha256').update(realpathSync(boxesDir)).digest('hex').slice(0, 12)
  return allPids().filter((pid) => firstArgument(pid).startsWith(`exodesk-box/${hash}/`))
}

if (bwrap === undefined) {
  process.stderr.write(
    'kernel/sandbox/local.test.ts: skipped, bubblewrap is not installed (sudo apt-get install -y bubblewrap)\n',
  )
}

describe.skipIf(bwrap === undefined)('local boxes', () => {
  if (isRoot) describeSandbox('as root, with control groups', () => make())
  describeSandbox(isRoot ? 'as root, without control groups' : 'as an ordinary user', () => make({ cgroups: 'none' }))

  it.runIf(isRoot)(
    'keeps the same promises as an ordinary user',
    async () => {
      const home = await temporaryFolder()
      await chmod(home, 0o777)
      const user = 65533
      const child = spawn(
        process.execPath,
        [
          ...[
            'node_modules/vitest/vitest.mjs',
            'run',
            '--reporter=json',
            '--configLoader=runner',

            `--outputFile=${home}/result.json`,
          ],
          'kernel/sandbox/local.test.ts',
        ],
        {
          cwd: fileURLToPath(new URL('../..', import.meta.url)),
          uid: user,
          gid: user,
          env: { PATH: process.env.PATH, HOME: home, TMPDIR: home },
        },
      )
      let log = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (log += chunk))
      await new Promise((resolve) => child.once('close', resolve))
      const report = await readFile(`${home}/result.json`, 'utf8').catch(() => log)
      const result = JSON.parse(report) as UserReport
      const failures = result.testResults
        .flatMap((file) => file.assertionResults)
        .filter(({ status }) => status === 'failed')
      expect(failures.map(({ fullName, failureMessages }) => [fullName, ...failureMessages])).toEqual([])
      expect(result.numPassedTests).toBeGreaterThan(20)
    },
    600_000,
  )

  it('says what is missing and how to mend it, and runs nothing', async () => {
    const { provider } = await make({ bwrapPath: '/nowhere/bwrap' })
    expect(await provider.report()).toMatchObject({
      available: false,
      reason: 'bubblewrap is not installed',
      fix: 'sudo apt-get install -y bubblewrap',
    })
    await expect(provider.run({ profile: 'task', label: 'x', mounts: {}, argv: ['true'] })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/bubblewrap is not installed/),
    })
  })

  it('says so where a box cannot be made', async () => {
    const fake = join(await temporaryFolder(), 'bwrap')
    await writeFile(
      fake,
      '#!/bin/sh\n[ "$1" = --version ] && { echo bubblewrap 0.9.0; exit; }\necho bwrap: no namespace >&2; exit 1\n',
    )
    await chmod(fake, 0o755)
    await chmod(join(fake, '..'), 0o755)
    const { provider } = await make({ bwrapPath: fake })
    expect(await provider.report()).toMatchObject({
      available: false,
      reason: expect.stringMatching(/bubblewrap ended/),
    })
  })

  it('leaves no process, and no control group, when the kernel is killed or a box ends', async () => {
    const boxesDir = await boxesFolder()
    const kernel = startKernel(boxesDir, 'sleep 1000 & setsid sleep 1000 & sleep 1000')
    // All of it runs: before the box's first process has bound itself to its parent, only a later reap finds it.
    const sleeping = () =>
      markersOf(boxesDir)
        .flatMap((pid) => processTree(pid))
        .filter(({ pid }) => firstArgument(pid) === 'sleep')
    await vi.waitFor(() => expect(new Set(sleeping().map(({ pid }) => pid)).size).toBe(3), { timeout: 20_000 })
    const init = markersOf(boxesDir).map((pid) => readStat(pid))
    kernel.kill('SIGKILL')
    await vi.waitFor(() => expect(init.filter((stat) => stat !== null && isAlive(stat))).toEqual([]), {
      timeout: 20_000,
    })
    const provider = localProvider({ boxesDir, nodePath: process.execPath, checkerMounts: [], clock })
    await provider.reap()
    await provider.run({ profile: 'task', label: 'x', mounts: {}, argv: ['true'] })
    const hash = createHash('sha256').update(realpathSync(boxesDir)).digest('hex').slice(0, 12)
    expect(openCgroups(`exodesk-${hash}`)?.ids() ?? []).toEqual([])
    await provider.close()
  })

  it('finds and kills what an earlier kernel left behind, and nothing of another data directory', async () => {
    const [mine, other] = [await make(), await make()]
    const orphan = (boxesDir: string): ChildProcess => {
      const hash = createHash('sha256').update(realpathSync(boxesDir)).digest('hex').slice(0, 12)
      const user = isRoot ? [] : ['--unshare-user']
      const command = [...user, '--unshare-pid', '--ro-bind', '/', '/', '--proc', '/proc', 'sleep', '1000']
      return spawn(bwrap ?? '', command, { argv0: markerOf(hash, 'old', '1-1-x'), stdio: 'ignore', detached: true })
    }
    const orphans = [orphan(mine.boxesDir), orphan(other.boxesDir)]
    const ended = orphans.map((child) => new Promise((resolve) => child.once('exit', resolve)))
    await vi.waitFor(() => expect(markersOf(mine.boxesDir).length + markersOf(other.boxesDir).length).toBe(4), {
      timeout: 20_000,
    })
    const box = await mine.provider.start({ profile: 'task', label: 'new', mounts: {}, argv: ['sleep', '1000'] })
    expect(await mine.provider.reap()).toBe(1)
    await ended[0]
    expect(markersOf(other.boxesDir)).toHaveLength(2)
    expect(await other.provider.killAll('old')).toBe(1)
    await ended[1]
    await box.kill()
    expect((await box.exited).signal).toBe('SIGKILL')
  })

  it('passes on neither descriptors that the kernel inherited nor its environment', async () => {
    const boxesDir = await boxesFolder()
    const canary = join(boxesDir, 'canary.txt')
    await writeFile(canary, 'secret')
    const script = 'ls /proc/self/fd; cat /proc/1/environ /proc/self/environ 2>/dev/null | tr "\\0" "\\n"; cat <&40'
    const stdio: (number | 'ignore' | 'pipe')[] = [
      'ignore',
      'pipe',
      'pipe',
      ...Array<'ignore'>(37).fill('ignore'),
      openSync(canary, 'r'),
    ]
    const kernel = startKernel(boxesDir, script, stdio)
    let out = ''
    kernel.stdout?.on('data', (chunk) => (out += chunk))
    await new Promise((resolve) => kernel.once('close', resolve))
    // `ls` itself opens the folder as 3.
    expect(out.split('\n').filter((line) => /^\d+$/.test(line))).toEqual(['0', '1', '2', '3'])
    expect(out).not.toMatch(/secret|CANARY/)
  })

  it.runIf(isRoot)('freezes by a v2 group where that is what there is', async () => {
    const groups = openCgroups('exodesk-look', 'v2')
    if (groups === null) {
      process.stderr.write('kernel/sandbox/local.test.ts: v2 freezer skipped, no cgroup v2 hierarchy here\n')
      return
    }
    const { provider, boxesDir } = await make({ cgroups: 'v2' })
    const box = await provider.start({
      profile: 'task',
      label: 'f',
      mounts: {},
      argv: ['sh', '-c', 'while :; do :; done'],
    })
    const frozen = await provider.freeze('f')
    const cpuTime = () => markersOf(boxesDir).map((pid) => processTree(pid).map((stat) => stat.cpuTicks))
    const before = cpuTime()
    await provider.run({ profile: 'task', label: 'g', mounts: {}, argv: ['sleep', '0.5'] })
    expect(cpuTime()).toEqual(before)
    await frozen.thaw()
    await box.kill()
    expect((await box.exited).signal).toBe('SIGKILL')
    await provider.close()
  })
})

/** What vitest's JSON reporter says, as far as it is looked at. */
interface UserReport {
  numPassedTests: number
  testResults: { assertionResults: { status: string; fullName: string; failureMessages: string[] }[] }[]
}

/** A kernel in a process of its own: opens a provider, runs one script in a task box, prints what it wrote. */
function startKernel(boxesDir: string, script: string, stdio?: (number | 'ignore' | 'pipe')[]): ChildProcess {
  const program = `
import { localProvider } from ${JSON.stringify(new URL('./local.ts', import.meta.url).href)}
import { systemClock as clock } from ${JSON.stringify(new URL('../clock.ts', import.meta.url).href)}
const provider = localProvider({ boxesDir: ${JSON.stringify(boxesDir)}, nodePath: process.execPath, checkerMounts: [], clock })
const output = await provider.run({ profile: 'task', label: 'k', mounts: {}, argv: ['bash', '-c', ${JSON.stringify(script)}] })
process.stdout.write(output.stdout)
`
  return spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: stdio ?? ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, EXODESK_CANARY: 'secret' },
  })
}
